//! Entries: everything that must survive is one; every dialect is a projection of entries plus live deltas.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{
    Ask, AskEnd, AskId, AssistantMessage, Call, CallId, CallResult, Fault, Item, ItemEnd, ItemId, Json, Keyed,
    LaneWish, Mode, Part, Principal, Sent, SessionId, SettleReason, TodoPhase, TurnId, Usage,
};

/// One record of a session's log. `seq` starts at 1 and has no gaps. `parent` is the entry before it on its branch
/// (0 for the first), so that a log is a tree whose active branch ends at the newest entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub seq: u64,
    pub parent: u64,
    pub at_ms: i64,
    pub body: Body,
    /// Whose doing it is; of what happens in a turn, who wanted the turn. `None`: nobody's, or not known any more, as in a
    /// copy of another log.
    pub by: Option<Principal>,
}

/// What an entry says. Grouped by what it is about, so that code that does not care for a subject passes it over whole,
/// and a new fact of one is answered where that one matters.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// Always the first entry.
    Opened {
        workspace: PathBuf,
        model: Arc<str>,
        mode: Mode,
        forked_from: Option<(SessionId, u64)>,
        /// The call that this session works for. It ends before that call does.
        child_of: Option<(SessionId, CallId)>,
    },
    User {
        turn: Option<TurnId>,
        parts: Vec<Part>,
        from: UserFrom,
    },
    Assistant {
        turn: Option<TurnId>,
        message: AssistantMessage,
    },
    Turn(TurnEntry),
    Call(CallEntry),
    Ask(AskEntry),
    Queue(QueueEntry),
    Model(ModelEntry),
    Branch(BranchEntry),
    Setting(SettingEntry),
    Shell(ShellEntry),
    Note(NoteEntry),
}

/// The borders of a turn.
#[derive(Clone, PartialEq, Debug)]
pub enum TurnEntry {
    Started {
        turn: TurnId,
    },
    /// Messages that the turn begins with, where there are several of them, or a trace or a limit came with one. Directly
    /// behind `Started`.
    Taken {
        turn: TurnId,
        items: Vec<ItemId>,
        trace: Option<Arc<str>>,
        /// When it ends at the latest: the limit of its messages, where each has one.
        until_ms: Option<i64>,
    },
    /// Why it does not come to its own end. Directly before `Ended`.
    Cut {
        turn: TurnId,
        why: CutBy,
        /// The message that took its place, where one did.
        item: Option<ItemId>,
    },
    Ended(TurnEnd),
}

/// What cut a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutBy {
    /// Somebody wanted it.
    Asked,
    /// A newer message took its place.
    Newer,
    /// The process ends.
    Ending,
    /// The session is deleted.
    Deleted,
    /// Nothing moved in it for too long.
    Stalled,
    /// The time that its messages had was over.
    TimedOut,
}

/// A tool call and its result.
#[derive(Clone, PartialEq, Debug)]
pub enum CallEntry {
    /// A call is about to be judged and run.
    Started {
        turn: TurnId,
        call: Call,
        tool: Arc<str>,
    },
    Ended {
        turn: TurnId,
        result: CallResult,
    },
}

/// A question and how it was closed.
#[derive(Clone, PartialEq, Debug)]
pub enum AskEntry {
    Opened(Ask),
    Closed { ask: AskId, end: AskEnd },
}

/// What waits in the queue, and what became of it.
#[derive(Clone, PartialEq, Debug)]
pub enum QueueEntry {
    Queued(Item),
    /// `why`: logs of older versions do not say it.
    Settled {
        item: ItemId,
        end: ItemEnd,
        why: Option<SettleReason>,
    },
}

/// What went on between the session and its models.
#[derive(Clone, PartialEq, Debug)]
pub enum ModelEntry {
    /// A request went to a model's server. What was said before it in the log is what it carried.
    Requested(Requested),
    /// A model call failed and will be tried again.
    Retrying { turn: TurnId, attempt: u32, attempts_max: u32, wait_ms: u64, fault: Fault },
    /// A model could not answer; another one is asked for the rest of the turn.
    FellBack(FellBack),
    /// What model calls cost of which nothing else is in this log. Within a turn it is part of what the turn used.
    Spent {
        turn: Option<TurnId>,
        /// The call whose own sessions spent it.
        call: Option<CallId>,
        model: Arc<str>,
        usage: Usage,
    },
}

/// Which entries the model sees, and where the active branch goes on.
#[derive(Clone, PartialEq, Debug)]
pub enum BranchEntry {
    /// Everything before `first_kept` is replaced by the summary in what the model sees.
    Compacted(Compaction),
    /// The active branch goes on from `to` (0 = from the beginning).
    Moved { to: u64 },
    /// The files that the branch left behind had changed are as they were before it. Follows its `Moved`; a move without
    /// it was cut short, and the files may be as that branch left them.
    Restored { files: Vec<Arc<str>> },
    /// What was left behind on another branch, in words; the model reads it here.
    Summary { from: Option<u64>, summary: Arc<str> },
}

/// A setting of the session, from here on.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingEntry {
    Model {
        model: Arc<str>,
        /// What it was chosen by, where that is not its own name: a tier, an alias.
        called: Option<Arc<str>>,
    },
    Mode {
        mode: Mode,
    },
    Thinking {
        level: Option<Arc<str>>,
    },
    Gadgets {
        off: Vec<Arc<str>>,
    },
    Title {
        title: Arc<str>,
    },
    /// All that the session wants of its own for its queue; empty: nothing any more.
    Lane {
        wish: LaneWish,
    },
    /// Until then what would be asked is allowed.
    Elevated {
        until_ms: Option<i64>,
    },
    Todos {
        phases: Vec<TodoPhase>,
    },
}

/// What the user ran beside the conversation: a command, or a tool by hand.
#[derive(Clone, PartialEq, Debug)]
pub enum ShellEntry {
    /// It is about to be run; `Ended` with the same words says what came of it.
    Started {
        command: Arc<str>,
        aside: bool,
    },
    Ended(Shell),
    /// A tool that was called by hand is about to run; `Returned` with the same id says what came of it.
    Called {
        call: Call,
        tool: Arc<str>,
    },
    Returned(CallResult),
}

/// What is said about the log itself.
#[derive(Clone, PartialEq, Debug)]
pub enum NoteEntry {
    /// Entries from here on were read from another program's file, where they have these names, `(seq, name)`. `raws` are
    /// messages as they stood there, for the dialect that reads that format: our words may not say everything.
    Imported {
        /// That file, where these are the first entries of a session.
        file: Option<PathBuf>,
        names: Vec<(u64, Arc<str>)>,
        raws: Vec<(u64, Json)>,
    },
    /// A word about an entry, for people; `None` takes it away.
    Label { target: u64, label: Option<Arc<str>> },
    /// The answer of a command, for a repeat of it.
    Keyed(Keyed),
    /// The log was found damaged and cut back, or a call was found open; said once, in words.
    Recovered { text: Arc<str> },
    /// A call runs that somebody would have been asked about, were questions not waived.
    Waived { turn: TurnId, call: CallId, tool: Arc<str> },
}

/// A request to a model, as it was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requested {
    pub turn: Option<TurnId>,
    pub model: Arc<str>,
    /// Set where a summary was asked for.
    pub summary: Option<SummaryOf>,
    /// `None`: the same as the one before it in this session.
    pub sent: Option<Arc<Sent>>,
    /// Size of the whole body.
    pub bytes: u64,
}

/// Which part of a log a summary was made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryOf {
    /// The newest entry it could know of.
    pub upto: u64,
    /// Messages from here on...
    pub from: u64,
    /// ...and before this.
    pub first_kept: u64,
    /// What was asked.
    pub request: Arc<str>,
}

/// From one model to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FellBack {
    pub turn: TurnId,
    pub from: Arc<str>,
    pub to: Arc<str>,
    /// Why `from` could not answer.
    pub fault: Fault,
    /// Slugs that stood before `to` and could not be asked, and why.
    pub skipped: Vec<(Arc<str>, Arc<str>)>,
}

/// Where a user message came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UserFrom {
    Prompt,
    Steer,
    FollowUp,
    /// Our own word, because tasks are left undone.
    Reminder,
    /// An extension's addition to the turn.
    Extension,
}

/// A command of the user's own and what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shell {
    pub command: Arc<str>,
    pub output: Arc<str>,
    /// `None` when it was stopped.
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    /// `output` is not everything.
    pub truncated: bool,
    /// Of everything.
    pub total_lines: u64,
    pub total_bytes: u64,
    /// Where everything is, when `output` is not.
    pub spilled: Option<Arc<str>>,
    /// Not for the model.
    pub aside: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TurnEnd {
    pub turn: TurnId,
    pub stop: Stop,
    /// Completed tool rounds.
    pub iterations: u32,
    pub usage: Usage,
    /// `(tool, target)` of each call that changed something, in order.
    pub mutations: Vec<(Arc<str>, Arc<str>)>,
    pub fault: Option<Fault>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stop {
    EndTurn,
    MaxTokens,
    MaxIterations,
    Refusal,
    Interrupted,
    Error,
    /// A budget is spent, and nobody gave more; the fault says which.
    Budget,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Compaction {
    pub reason: CompactReason,
    pub summary: Arc<str>,
    /// First entry that the model still sees word for word.
    pub first_kept: u64,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub messages_before: u64,
    pub messages_after: u64,
    pub usage: Usage,
    /// Who made the summary; empty where it is not known any more.
    pub model: Arc<str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompactReason {
    Manual,
    Threshold,
    Overflow,
    /// The model is another provider's from here on.
    Switch,
}
