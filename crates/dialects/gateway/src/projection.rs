//! Entries of the log as events: what a subscriber is told, live or in a replay, from the same function. Every entry makes at
//! least one, so that `seq` has no gap on the wire.

use serde::Serialize;
use serde_json::{Value, json};
use vocab::{
    Answer, AskEnd, AskEntry, AskKind, AssistantMessage, Body, BranchEntry, CallEntry, Entry, ItemEnd, ModelEntry,
    NoteEntry, Part, Principal, QueueEntry, Scope, SettingEntry, SettleReason, ShellEntry, TurnEntry, TurnId, UserFrom,
    parts_text,
};

use crate::cursor::EventCursor;
use crate::events::{
    self, AskEndWord, ChangeKind, ContentData, DoneData, ErrorData, QueuedData, RetractData, RunStateData,
    RunStateWord, SessionChangedData, ThinkingData, ToolConfirmDoneData,
};
use crate::faults::{self, RunEnd};
use crate::ledger::refusal_data;
use crate::log_context::{LogContext, ModelPrices};
use crate::results::UsageSum;
use crate::run::{tool_end, tool_start};
use crate::shape::AnyJson;
use crate::{confirm, written};

/// Characters of a message that waits, where it is shown.
pub(crate) const QUEUED_CHARS_MAX: usize = 2_000;

/// One event: its name and its data as JSON.
pub(crate) type Projected = (&'static str, Vec<u8>);

/// The turn that an entry is of.
pub(crate) fn turn_of(body: &Body) -> Option<&TurnId> {
    match body {
        Body::User { turn, .. } | Body::Assistant { turn, .. } => turn.as_ref(),
        Body::Turn(TurnEntry::Started { turn } | TurnEntry::Taken { turn, .. } | TurnEntry::Cut { turn, .. }) => {
            Some(turn)
        }
        Body::Turn(TurnEntry::Ended(end)) => Some(&end.turn),
        Body::Call(CallEntry::Started { turn, .. } | CallEntry::Ended { turn, .. }) => Some(turn),
        Body::Ask(AskEntry::Opened(ask)) => ask.turn.as_ref(),
        Body::Model(ModelEntry::Requested(requested)) => requested.turn.as_ref(),
        Body::Model(ModelEntry::Retrying { turn, .. }) => Some(turn),
        Body::Model(ModelEntry::FellBack(fell_back)) => Some(&fell_back.turn),
        Body::Model(ModelEntry::Spent { turn, .. }) => turn.as_ref(),
        Body::Opened { .. }
        | Body::Ask(AskEntry::Closed { .. })
        | Body::Queue(_)
        | Body::Branch(_)
        | Body::Setting(_)
        | Body::Shell(_)
        | Body::Note(_) => None,
    }
}

/// Whether this entry shows that the reply streamed before it was never logged.
fn ends_reply_unsaid(body: &Body) -> bool {
    matches!(body, Body::Turn(TurnEntry::Started { .. } | TurnEntry::Ended(_)) | Body::Model(ModelEntry::Requested(_)))
}

/// What was told of the running reply before the entry that ends it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ToldBytes {
    pub(crate) text: u64,
    /// `None`: thinking is not told at all.
    pub(crate) thinking: Option<u64>,
}

impl ToldBytes {
    /// What a cursor says of it. `thinking`: it is told.
    pub(crate) fn at(cursor: EventCursor, thinking: bool) -> Self {
        Self { text: cursor.owed_bytes(), thinking: thinking.then(|| cursor.owed_thinking()) }
    }
    /// Nothing of the next one, with the same wish.
    pub(crate) fn nothing(self) -> Self {
        Self { text: 0, thinking: self.thinking.map(|_| 0) }
    }
    pub(crate) fn cursor(self, seq: u64) -> EventCursor {
        EventCursor::reply(seq, self.text, self.thinking.unwrap_or(0))
    }
    /// Whether it is more than a reply has: then it is of another one, or of none.
    pub(crate) fn is_beyond(self, text: usize, thinking: usize) -> bool {
        self.text > text as u64 || self.thinking.is_some_and(|told| told > thinking as u64)
    }
    /// Whether this entry shows that what was told before it is not in the log.
    pub(crate) fn is_void_at(self, body: &Body) -> bool {
        match body {
            Body::Assistant { message, .. } => self.is_beyond(message.text().len(), message.thinking().len()),
            body => ends_reply_unsaid(body),
        }
    }
    /// Takes it back.
    pub(crate) fn retracted(self, run: Option<&TurnId>) -> RetractData {
        let thinking_bytes = self.thinking.filter(|bytes| *bytes > 0);
        RetractData { run_id: run.map(ToString::to_string), bytes: self.text, thinking_bytes }
    }
}

/// The events of an entry. `context`: what was before it.
pub(crate) fn events_of(
    entry: &Entry,
    told: ToldBytes,
    context: &mut LogContext,
    prices: &ModelPrices,
) -> Vec<Projected> {
    context.follow(entry);
    match &entry.body {
        Body::Opened { workspace, model, child_of, .. } => {
            let mut detail = json!({"cwd": workspace.display().to_string(), "model": model});
            if let Some((session, call)) = child_of {
                detail["parent"] = json!({"sessionId": session.as_str(), "callId": call.as_str()});
            }
            changed(ChangeKind::Opened, detail)
        }
        Body::User { parts, from, .. } => {
            let (role, text) = (Some("user"), Some(parts_text(parts)));
            let mut detail = json!({ "from": user_from(*from) });
            if let Some(by) = &entry.by {
                detail["by"] = json!(by.as_str());
            }
            let detail = Some(any(&detail));
            let mut list =
                one("session_changed", &SessionChangedData { kind: ChangeKind::Message, role, text, detail });
            list.extend(events::attachments(parts).map(|it| ("attachment", written(&it))));
            list
        }
        Body::Assistant { message, .. } => reply_events(message, told),
        Body::Turn(turn) => turn_events(entry.at_ms, turn, context, prices),
        Body::Call(CallEntry::Started { call, tool, .. }) => {
            one("tool_start", &tool_start(tool, &call.input.json(), &call.id))
        }
        Body::Call(CallEntry::Ended { result, .. }) => {
            // Each end has its start, and what it was to do is said there.
            let start =
                |call: vocab::Call| ("tool_start", written(&tool_start(&result.tool, &call.input.json(), &call.id)));
            let mut list: Vec<Projected> = context.unstarted(&result.call).map(start).into_iter().collect();
            list.extend(one("tool_end", &tool_end(result)));
            list.extend(events::attachments(&result.parts).map(|it| ("attachment", written(&it))));
            list
        }
        Body::Ask(ask) => ask_events(entry, ask, context),
        Body::Queue(QueueEntry::Queued(item)) => {
            let text = (!item.parts.is_empty()).then(|| queued_text(&item.parts));
            let by = item.by.as_ref().map(ToString::to_string);
            one("queued", &QueuedData { item_id: item.id.to_string(), position: None, text, by })
        }
        Body::Queue(QueueEntry::Settled { item, end, why }) => {
            let (end, why) = (item_end(*end), why.map(settled_why));
            changed(ChangeKind::Settled, json!({"itemId": item.as_str(), "end": end, "why": why}))
        }
        Body::Model(model) => model_events(model),
        Body::Branch(branch) => branch_events(branch),
        Body::Setting(setting) => changed(ChangeKind::Setting, json!({ "name": setting_name(setting) })),
        Body::Shell(ShellEntry::Started { command, .. }) => changed(ChangeKind::Shell, json!({ "command": command })),
        Body::Shell(ShellEntry::Ended(shell)) => {
            changed(ChangeKind::ShellDone, json!({"command": shell.command, "exitCode": shell.exit_code}))
        }
        Body::Shell(ShellEntry::Called { call, tool }) => {
            let tool = crate::tool_names::TOOL_NAMES.show(tool);
            changed(ChangeKind::Call, json!({"tool": tool, "callId": call.id.as_str()}))
        }
        Body::Shell(ShellEntry::Returned(result)) => {
            changed(ChangeKind::CallDone, json!({"callId": result.call.as_str(), "success": !result.is_error}))
        }
        Body::Note(note) => changed(ChangeKind::Note, json!({ "text": note_text(note) })),
    }
}

/// A reply: its thinking where that is told and there is some, then its text.
fn reply_events(message: &AssistantMessage, told: ToldBytes) -> Vec<Projected> {
    let text = rest_of(&message.text(), told.text).to_owned();
    let content = ("content", written(&ContentData { text, transient: None, is_final: Some(true) }));
    let thinking = told.thinking.map(|told| (message.thinking(), told)).filter(|(all, _)| !all.is_empty());
    let thinking = thinking.map(|(all, told)| {
        let text = rest_of(&all, told).to_owned();
        ("thinking", written(&ThinkingData { text, is_final: Some(true) }))
    });
    thinking.into_iter().chain([content]).collect()
}

/// How a message that waits begins.
pub(crate) fn queued_text(parts: &[Part]) -> String {
    let text = parts_text(parts);
    match text.char_indices().nth(QUEUED_CHARS_MAX) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

/// What was not told of a text. A place in the middle of a character is behind it.
pub(crate) fn rest_of(text: &str, told: u64) -> &str {
    let told = usize::try_from(told).unwrap_or(usize::MAX).min(text.len());
    &text[text.ceil_char_boundary(told)..]
}

/// With their cursors, and without those that were told up to `after`. `told`: as [`events_of`] had it.
pub(crate) fn placed(
    entry: &Entry,
    list: Vec<Projected>,
    after: EventCursor,
    told: ToldBytes,
) -> impl Iterator<Item = (Projected, EventCursor)> {
    let (seq, last) = (entry.seq, list.len().saturating_sub(1));
    let is_reply = matches!(entry.body, Body::Assistant { .. });
    // Part 0 of a reply is its thinking; a subscriber without thinking was never sent it, so nothing is skipped.
    let skip = if is_reply && told.thinking.is_none() { 0 } else { after.told_of(seq) };
    let cursor = move |at: usize| match at == last {
        true => EventCursor::at(seq),
        false if is_reply => EventCursor::thought(seq, told.text),
        false => EventCursor::part(seq, at),
    };
    list.into_iter().enumerate().skip(skip).map(move |(at, event)| (event, cursor(at)))
}

fn one(event: &'static str, data: &impl Serialize) -> Vec<Projected> {
    vec![(event, written(data))]
}

fn any(value: &Value) -> AnyJson {
    AnyJson(vocab::Json::trusted(value.to_string()))
}

fn changed(kind: ChangeKind, detail: Value) -> Vec<Projected> {
    one("session_changed", &SessionChangedData { kind, role: None, text: None, detail: Some(any(&detail)) })
}

fn item_end(end: ItemEnd) -> &'static str {
    match end {
        ItemEnd::Consumed => "consumed",
        ItemEnd::Superseded => "superseded",
        ItemEnd::Dropped => "dropped",
        ItemEnd::Cancelled => "cancelled",
    }
}

fn settled_why(why: SettleReason) -> &'static str {
    match why {
        SettleReason::Ran => "ran",
        SettleReason::TakenBack => "takenback",
        SettleReason::Overflow => "overflow",
        SettleReason::Newer => "newer",
        SettleReason::Interrupted => "interrupted",
        SettleReason::TooLate => "toolate",
        SettleReason::NoRoom => "noroom",
        SettleReason::Deleted => "deleted",
        SettleReason::Restarted => "restarted",
        SettleReason::TimedOut => "timedout",
    }
}

fn user_from(from: UserFrom) -> &'static str {
    match from {
        UserFrom::Prompt => "prompt",
        UserFrom::Steer => "steer",
        UserFrom::FollowUp => "followup",
        UserFrom::Reminder => "reminder",
        UserFrom::Extension => "extension",
    }
}

fn turn_events(at_ms: i64, turn: &TurnEntry, context: &mut LogContext, prices: &ModelPrices) -> Vec<Projected> {
    let state = |state| ("run_state", written(&RunStateData { state, timestamp: at_ms }));
    match turn {
        TurnEntry::Started { .. } => vec![state(RunStateWord::Start)],
        TurnEntry::Taken { items, .. } => changed(ChangeKind::Taken, json!({ "count": items.len() })),
        TurnEntry::Cut { .. } => vec![state(RunStateWord::CancelRequested)],
        TurnEntry::Ended(end) => match faults::run_end(end, context.cut(end), None) {
            RunEnd::Complete => {
                let facts = context.ended(end, at_ms, prices);
                let done = DoneData {
                    content: None,
                    usage: UsageSum::of(&end.usage, facts.cost_usd),
                    run_id: Some(end.turn.to_string()),
                    model: facts.model,
                    duration_ms: facts.duration_ms,
                };
                vec![state(RunStateWord::Complete), ("done", written(&done))]
            }
            RunEnd::Cancelled(reason) => {
                vec![state(RunStateWord::Cancelled), ("error", written(&error_data(&faults::cancelled(reason))))]
            }
            RunEnd::Failed(refusal) => vec![state(RunStateWord::Error), ("error", written(&error_data(&refusal)))],
        },
    }
}

/// The event before an error frame.
pub(crate) fn error_data(refusal: &crate::own::GatewayRefusal) -> ErrorData {
    ErrorData {
        code: i64::from(refusal.code.number()),
        message: refusal.message.clone(),
        queue: None,
        data: refusal_data(refusal).map(AnyJson),
    }
}

fn ask_events(entry: &Entry, ask: &AskEntry, context: &mut LogContext) -> Vec<Projected> {
    let at_ms = entry.at_ms;
    match ask {
        AskEntry::Opened(ask) => match &ask.kind {
            AskKind::Permission(_) | AskKind::Budget(_) => {
                let Some(shown) = confirm::asked(ask) else { return Vec::new() };
                one("tool_confirm", &confirm::data(ask, &shown, at_ms))
            }
            AskKind::HostCall { .. } => changed(ChangeKind::Ask, json!({"askId": ask.id.as_str(), "about": "call"})),
            AskKind::Select { title, .. }
            | AskKind::Confirm { title, .. }
            | AskKind::Input { title, .. }
            | AskKind::Editor { title, .. } => {
                changed(ChangeKind::Ask, json!({"askId": ask.id.as_str(), "about": title}))
            }
        },
        AskEntry::Closed { ask, end } => {
            let (decision, by) = decision(end, entry.by.as_ref());
            match context.closed(ask) {
                Some(call) => {
                    let (ask_id, call_id) = (ask.to_string(), call.to_string());
                    one("tool_confirm_done", &ToolConfirmDoneData { call_id, decision, by, ask_id })
                }
                // Of another kind, or opened before what was asked for.
                None => changed(ChangeKind::AskDone, json!({"askId": ask.as_str(), "decision": decision, "by": by})),
            }
        }
    }
}

/// How a question ended, and who answered it: `by` of its entry, or what the controller calls itself.
pub(crate) fn decision(end: &AskEnd, by: Option<&Principal>) -> (AskEndWord, Option<String>) {
    match end {
        AskEnd::Answered { answer, by: controller } => {
            let word = match answer {
                Answer::Allow(Scope::Once) | Answer::Confirmed(true) => AskEndWord::Allow,
                Answer::Allow(Scope::Session) => AskEndWord::AllowSession,
                Answer::Deny(_) | Answer::Confirmed(false) | Answer::Dismissed => AskEndWord::Deny,
                Answer::Text(_) | Answer::Result { .. } => AskEndWord::Answered,
            };
            (word, by.map(Principal::to_string).or_else(|| controller.as_ref().map(ToString::to_string)))
        }
        AskEnd::Withdrawn => (AskEndWord::Withdrawn, by.map(Principal::to_string)),
    }
}

fn model_events(model: &ModelEntry) -> Vec<Projected> {
    match model {
        ModelEntry::Requested(requested) => {
            changed(ChangeKind::Requested, json!({"model": requested.model, "summary": requested.summary.is_some()}))
        }
        ModelEntry::Retrying { attempt, attempts_max, wait_ms, fault, .. } => {
            let why = faults::message(&fault.message);
            changed(
                ChangeKind::Retrying,
                json!({"attempt": attempt, "of": attempts_max, "waitMs": wait_ms, "message": why}),
            )
        }
        ModelEntry::FellBack(it) => changed(ChangeKind::FellBack, json!({"from": it.from, "to": it.to})),
        ModelEntry::Spent { model, usage, .. } => {
            changed(ChangeKind::Spent, json!({"model": model, "usage": UsageSum::of(usage, None)}))
        }
    }
}

fn branch_events(branch: &BranchEntry) -> Vec<Projected> {
    match branch {
        BranchEntry::Compacted(it) => {
            changed(ChangeKind::Compacted, json!({"tokensBefore": it.tokens_before, "tokensAfter": it.tokens_after}))
        }
        BranchEntry::Moved { to } => changed(ChangeKind::Moved, json!({ "to": to })),
        BranchEntry::Restored { files } => changed(ChangeKind::Restored, json!({ "files": files.len() })),
        BranchEntry::Summary { summary, .. } => changed(ChangeKind::Summary, json!({ "bytes": summary.len() })),
    }
}

fn setting_name(setting: &SettingEntry) -> &'static str {
    match setting {
        SettingEntry::Model { .. } => "model",
        SettingEntry::Mode { .. } => "mode",
        SettingEntry::Thinking { .. } => "thinking",
        SettingEntry::Gadgets { .. } => "gadgets",
        SettingEntry::Title { .. } => "title",
        SettingEntry::Lane { .. } => "queue",
        SettingEntry::Todos { .. } => "todos",
        SettingEntry::Elevated { .. } => "elevation",
    }
}

fn note_text(note: &NoteEntry) -> String {
    match note {
        NoteEntry::Imported { .. } => "imported".to_owned(),
        NoteEntry::Label { label, .. } => label.as_deref().unwrap_or_default().to_owned(),
        NoteEntry::Keyed(_) => "keyed".to_owned(),
        NoteEntry::Recovered { text } => faults::message(text),
        NoteEntry::Waived { tool, .. } => faults::message(&format!("{tool} runs without a question")),
    }
}
