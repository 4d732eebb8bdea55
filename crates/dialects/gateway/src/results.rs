//! What methods give, in the order of the families.

use std::sync::Arc;

use vocab::{Coalesce, LaneMode, LaneNote, LanePolicy, LaneWish, Overflow, SessionId, State, Usage};

use crate::cursor::EventCursor;
use crate::params::{CoalesceWord, LaneModeWord, OverflowWord};
use crate::shape::{AnyJson, Nullable};
use crate::{shape, words};

shape! { result
    /// Who is there now.
    LoginResult {
        "authenticated" authenticated: bool,
        "connectionId" connection_id: Arc<str>,
        "scopes" scopes: Vec<&'static str>,
        /// The token's or the user's.
        "name" name: Arc<str>,
    }
}
shape! { result
    /// It was done.
    SuccessResult { "success" success: bool }
}

shape! { result
    /// What was used. Prompt tokens that came out of a cache, or went into one, are counted apart.
    UsageSum {
        "inputTokens" input_tokens: u64,
        "outputTokens" output_tokens: u64,
        "cacheReadTokens" cache_read_tokens: Option<u64>,
        "cacheWriteTokens" cache_write_tokens: Option<u64>,
        "costUsd" cost_usd: Option<f64>,
    }
}
impl UsageSum {
    pub fn of(usage: &Usage, cost_usd: Option<f64>) -> Self {
        let some = |tokens: u64| (tokens > 0).then_some(tokens);
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: some(usage.cache_read),
            cache_write_tokens: some(usage.cache_write),
            cost_usd,
        }
    }
}
shape! { result
    /// How full the context is.
    Budget {
        "estimatedTokens" estimated_tokens: u64,
        "contextWindow" context_window: u64,
        "remainingTokens" remaining_tokens: u64,
        /// One decimal.
        "usagePct" usage_pct: f64,
        "thresholdPct" threshold_pct: u64,
        "thresholdTokens" threshold_tokens: u64,
        "shouldCompact" should_compact: bool,
    }
}
shape! { result
    /// The rules of a lane.
    QueuePolicy {
        "mode" mode: LaneModeWord,
        "cap" cap: u64,
        "overflow" overflow: OverflowWord,
        "debounceMs" debounce_ms: u64,
        "summarizeOverflow" summarize_overflow: bool,
        "coalesce" coalesce: CoalesceWord,
    }
}
impl From<&LanePolicy> for QueuePolicy {
    fn from(lane: &LanePolicy) -> Self {
        Self {
            mode: lane.mode.into(),
            cap: lane.cap as u64,
            overflow: lane.overflow.into(),
            debounce_ms: lane.debounce_ms,
            summarize_overflow: lane.summarise,
            coalesce: lane.coalesce.into(),
        }
    }
}
impl From<LaneMode> for LaneModeWord {
    fn from(mode: LaneMode) -> Self {
        match mode {
            LaneMode::Collect => LaneModeWord::Collect,
            LaneMode::Followup => LaneModeWord::Followup,
            LaneMode::Steer => LaneModeWord::Steer,
            LaneMode::SteerBacklog => LaneModeWord::SteerBacklog,
            LaneMode::Interrupt => LaneModeWord::Interrupt,
        }
    }
}
impl From<LaneModeWord> for LaneMode {
    fn from(word: LaneModeWord) -> Self {
        match word {
            LaneModeWord::Collect => LaneMode::Collect,
            LaneModeWord::Followup => LaneMode::Followup,
            LaneModeWord::Steer => LaneMode::Steer,
            LaneModeWord::SteerBacklog => LaneMode::SteerBacklog,
            LaneModeWord::Interrupt => LaneMode::Interrupt,
        }
    }
}
impl From<Overflow> for OverflowWord {
    fn from(overflow: Overflow) -> Self {
        match overflow {
            Overflow::DropOld => OverflowWord::DropOld,
            Overflow::DropNew => OverflowWord::DropNew,
        }
    }
}
impl From<OverflowWord> for Overflow {
    fn from(word: OverflowWord) -> Self {
        match word {
            OverflowWord::DropOld => Overflow::DropOld,
            OverflowWord::DropNew => Overflow::DropNew,
        }
    }
}
impl From<Coalesce> for CoalesceWord {
    fn from(coalesce: Coalesce) -> Self {
        match coalesce {
            Coalesce::Auto => CoalesceWord::Auto,
            Coalesce::Always => CoalesceWord::Always,
            Coalesce::Never => CoalesceWord::Never,
        }
    }
}
impl From<CoalesceWord> for Coalesce {
    fn from(word: CoalesceWord) -> Self {
        match word {
            CoalesceWord::Auto => Coalesce::Auto,
            CoalesceWord::Always => Coalesce::Always,
            CoalesceWord::Never => Coalesce::Never,
        }
    }
}
impl crate::params::QueuePart {
    /// What was said here; the rest stays as it is.
    pub fn wish(&self) -> LaneWish {
        LaneWish {
            mode: self.mode.map(Into::into),
            cap: self.cap.map(|cap| cap.size()),
            overflow: self.overflow.map(Into::into),
            debounce_ms: self.debounce_ms.map(|ms| ms.number()),
            summarise: self.summarize_overflow,
            coalesce: self.coalesce.map(Into::into),
            ..LaneWish::default()
        }
    }
}
shape! { result
    /// While it is active nobody is asked.
    Elevation { "active" active: bool, "untilMs" until_ms: Nullable<i64> }
}
shape! { result
    /// What holds for a session.
    SessionConfig { "modelTier" model_tier: Arc<str>, "queue" queue: QueuePolicy, "elevation" elevation: Elevation }
}
impl SessionConfig {
    pub fn of(state: &State, now_ms: i64) -> Self {
        let until_ms = state.elevated_until_ms.filter(|until| *until > now_ms);
        let elevation = Elevation { active: until_ms.is_some(), until_ms: Nullable(until_ms) };
        let model_tier = state.model_called.as_ref().unwrap_or(&state.model).clone();
        Self { model_tier, queue: (&state.lane).into(), elevation }
    }
}
words! { /// Why a lane did not take or keep a message.
    QueueCode { Overflow = "overflow", Superseded = "superseded" }
}
shape! { result
    /// A message that a lane did not take or keep.
    QueueNote {
        "code" code: QueueCode,
        "laneId" lane_id: String,
        "mode" mode: LaneModeWord,
        "overflow" overflow: OverflowWord,
        /// In this lane since it was last idle, this one and those that went together with it included.
        "droppedCount" dropped_count: u64,
        /// How what was dropped began, where the rules say so.
        "summary" summary: Option<Vec<Arc<str>>>,
    }
}
impl QueueNote {
    pub fn of(code: QueueCode, lane: &SessionId, note: &LaneNote) -> Self {
        Self {
            code,
            lane_id: lane.to_string(),
            mode: note.policy.mode.into(),
            overflow: note.policy.overflow.into(),
            dropped_count: note.dropped,
            summary: (!note.texts.is_empty()).then(|| note.texts.clone()),
        }
    }
}

shape! { result
    /// The session that this connection is attached to now.
    CreateResult { "sessionId" session_id: String, "created" created: bool }
}
shape! { result
    /// What holds now.
    PatchResult { "sessionId" session_id: String, "config" config: SessionConfig, "title" title: Option<Arc<str>> }
}
shape! { result
    /// Where a copy comes from.
    ForkedFrom { "sessionId" session_id: String, "seq" seq: Option<u64> }
}
shape! { result
    /// The copy.
    ForkResult { "sessionId" session_id: String, "forkedFrom" forked_from: ForkedFrom }
}

shape! { result
    /// Several messages became one run.
    Collected { "runId" run_id: String, "count" count: u64, "leader" leader: bool }
}
shape! { result
    /// What came of a slash command.
    CommandDone { "name" name: String, "ok" ok: bool, "data" data: AnyJson }
}
words! { /// Why a run stopped.
    StopWord {
        EndTurn = "end_turn", MaxTokens = "max_tokens", MaxIterations = "max_iterations", Refusal = "refusal",
        Interrupted = "interrupted", Error = "error", Budget = "budget",
    }
}
shape! { result
    /// All that the model said, its messages apart by an empty line.
    SendResult {
        "content" content: Arc<str>,
        "usage" usage: UsageSum,
        "sessionId" session_id: String,
        /// The same as `content`.
        "response" response: Arc<str>,
        "runId" run_id: Option<String>,
        "stopReason" stop_reason: Option<StopWord>,
        "model" model: Option<Arc<str>>,
        /// A repeat of a message that was answered before.
        "replayed" replayed: Option<bool>,
        /// It was handed to a run that was under way.
        "steered" steered: Option<bool>,
        "collected" collected: Option<Collected>,
        "command" command: Option<CommandDone>,
    }
}
shape! { result
    /// What was stopped.
    CancelResult { "cancelled" cancelled: bool, "active" active: bool, "queued" queued: u64 }
}
shape! { result
    /// A message that waits.
    QueuedItem {
        "itemId" item_id: String,
        /// How it begins.
        "text" text: String,
        /// Since when, in milliseconds since 1970.
        "at" at: Option<i64>,
        /// Whose it is.
        "by" by: Option<String>,
        /// Its place among those that wait, from 0.
        "position" position: u64,
        /// How many images it has.
        "attachments" attachments: u64,
    }
}
shape! { result
    /// What waits, in its order.
    QueueResult { "items" items: Vec<QueuedItem> }
}
shape! { result
    /// `false`: it does not wait any more.
    RemoveResult { "removed" removed: bool }
}
shape! { result
    /// A slash command.
    SlashRow { "name" name: &'static str, "args" args: &'static str, "summary" summary: &'static str }
}
shape! { result
    /// What a message can begin with instead of being for the model.
    CommandsResult { "commands" commands: Vec<SlashRow> }
}
shape! { result
    /// `false`: the question is not open any more.
    ConfirmResult { "accepted" accepted: bool }
}
words! { /// How a run stands.
    WaitState { Waiting = "waiting", Running = "running", Complete = "complete", Error = "error", Cancelled = "cancelled" }
}
shape! { result
    /// Why a run failed.
    WaitError { "code" code: i64, "message" message: String, "data" data: Option<AnyJson> }
}
shape! { result
    /// A run as it stands.
    WaitResult {
        "runId" run_id: Option<String>,
        "state" state: WaitState,
        "content" content: Option<Arc<str>>,
        "usage" usage: Option<UsageSum>,
        "error" error: Option<WaitError>,
    }
}
shape! { result
    /// A tool.
    ToolInfo { "name" name: String, "description" description: Arc<str>, "inputSchema" input_schema: AnyJson }
}
shape! { result
    /// The tools.
    ToolsResult { "tools" tools: Vec<ToolInfo> }
}
shape! { result
    /// What came of a call by hand.
    ExecuteResult {
        "success" success: bool,
        "output" output: String,
        "error" error: Option<String>,
        "truncated" truncated: Option<bool>,
        "fullBytes" full_bytes: Option<u64>,
    }
}
shape! { result
    /// Its events follow under the id of the request.
    SubscribeResult { "subscriptionId" subscription_id: u64, "seq" seq: u64, "cursor" cursor: EventCursor }
}
shape! { result
    /// Whether there was one.
    UnsubscribeResult { "unsubscribed" unsubscribed: bool }
}
shape! { result
    /// An event as it was stored.
    ReplayedEvent {
        "event" event: &'static str,
        "data" data: AnyJson,
        "seq" seq: u64,
        "cursor" cursor: EventCursor,
        "sessionId" session_id: String,
        "runId" run_id: Option<String>,
        /// When it was stored, in milliseconds since 1970.
        "at" at: i64,
    }
}
shape! { result
    /// A page.
    ReplayResult {
        "events" events: Vec<ReplayedEvent>,
        /// For the next page.
        "nextSeq" next_seq: EventCursor,
        /// For the page before it, as `beforeSeq`; only where that was asked for.
        "prevSeq" prev_seq: Option<u64>,
        /// Nothing more is stored, in the direction that was asked for.
        "complete" complete: bool,
    }
}
