//! What a peer is told. Durable things are log entries; the rest lives only as long as it is news.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{
    AccountList, AccountName, Answer, CallId, CallResult, CallSpec, CommandInfo, CompactReason, CompactionPolicy,
    DeltaText, EditorRequest, EncodedOnce, Entry, Exported, Fault, HookCall, Item, ItemEnd, ItemId, LanePolicy, Mode,
    ModelInfo, Notice, Part, Position, Recalled, RetryPolicy, SavedPage, SessionId, SettleReason, Shell, SignInStep,
    SignedIn, SlashReply, Tag, TodoPhase, ToolSpec, TurnEnd, TurnId, WatchEvent,
};

/// An event, the session it belongs to, and how far its peer is on that session with it.
#[derive(Clone, PartialEq, Debug)]
pub struct Told {
    pub session: SessionId,
    pub event: Event,
    /// Nothing where no session said it (a list of models, a refusal).
    pub at: Position,
    /// Where several peers are told this: its bytes, made once ([`Told::encoded`]).
    pub shared: Option<EncodedOnce>,
}

impl Told {
    /// What no session has said.
    pub fn new(session: SessionId, event: Event) -> Self {
        Self { session, event, at: Position::default(), shared: None }
    }
}

/// What a peer is told. Grouped by subject, as entries are.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A log entry, in `seq` order, without gap or repeat from the attach point on.
    Logged(Arc<Entry>),
    /// More of what is just being made.
    Delta(Delta),
    /// The session's state, whole. Sent whenever something in it may have changed; dialects tell the difference.
    State(Arc<State>),
    Compaction(CompactionEvent),
    Retry(RetryEvent),
    /// A turn ended and nothing else starts by itself.
    Settled,
    /// Output so far of a command that this peer started (the tail of it).
    ShellProgress {
        tag: Tag,
        text: String,
    },
    Extension(ExtensionEvent),
    Editor(EditorEvent),
    /// A step of a sign-in that this peer started.
    SignIn {
        tag: Tag,
        account: AccountName,
        step: SignInStep,
    },
    Queue(QueueEvent),
    /// For a peer that watches the session and need not be on it.
    Watch(WatchEvent),
    /// The replay asked for with `after` is complete; from here on it is live.
    Live {
        seq: u64,
    },
    Reply {
        tag: Tag,
        result: Result<Reply, Fault>,
    },
    /// A turn ended and its end could not be written (disk full). It is told, but it is not in the log.
    TurnLost(TurnEnd),
    /// The session is gone (deleted, or its lease was lost); nothing follows.
    Gone {
        fault: Fault,
    },
}

/// More of what a running turn is making. Not in the log: the entry that follows has all of it.
#[derive(Clone, PartialEq, Debug)]
pub enum Delta {
    /// The model is called: what it says comes next. Once per try; everything that precedes a round is told before.
    ModelCalled {
        turn: TurnId,
        /// Which of this turn it is ([`crate::next_reply`]): a try that is made again has the same number.
        reply: u32,
    },
    /// Text of the running model call. Unsent neighbours may be merged; concatenation loses nothing.
    Text {
        turn: TurnId,
        delta: DeltaText,
    },
    Thinking {
        turn: TurnId,
        delta: DeltaText,
    },
    /// A seal came behind the block that the deltas before it made: more of the same kind is another block.
    Sealed {
        turn: TurnId,
        what: Sealed,
    },
    /// Argument text of a call that the model is still writing.
    CallInput {
        turn: TurnId,
        index: u32,
        id: Option<CallId>,
        name: Option<Arc<str>>,
        delta: DeltaText,
    },
    /// Output of a running tool so far (the tail of it).
    CallProgress {
        turn: TurnId,
        call: CallId,
        parts: Vec<Part>,
    },
    /// A call was allowed and runs now.
    CallBegan {
        turn: TurnId,
        call: CallId,
    },
}

impl Delta {
    /// From now on copies of it have the same text.
    pub fn share(&mut self) {
        match self {
            Delta::Text { delta, .. } | Delta::Thinking { delta, .. } | Delta::CallInput { delta, .. } => delta.share(),
            Delta::ModelCalled { .. } | Delta::Sealed { .. } | Delta::CallProgress { .. } | Delta::CallBegan { .. } => {
            }
        }
    }
}

/// How a compaction goes; one that came about is a log entry.
#[derive(Clone, PartialEq, Debug)]
pub enum CompactionEvent {
    Started { reason: CompactReason },
    Failed { reason: CompactReason, fault: Fault },
}

/// How the next try of a model call goes; that there will be one is a log entry.
#[derive(Clone, PartialEq, Debug)]
pub enum RetryEvent {
    /// The wait is over; the model is called again.
    Started {
        turn: TurnId,
        attempt: u32,
    },
    Ended {
        turn: TurnId,
        attempt: u32,
        ok: bool,
    },
}

/// Of and for extensions.
#[derive(Clone, PartialEq, Debug)]
pub enum ExtensionEvent {
    /// An extension shows something.
    Notice(Notice),
    /// An extension made trouble; the session goes on without its verdict.
    Trouble {
        source: Arc<str>,
        /// What it was doing.
        during: Arc<str>,
        text: Arc<str>,
    },
    /// For an extension: its verdict is wanted.
    Hook(HookCall),
}

/// For a peer that offers an editor's services.
#[derive(Clone, PartialEq, Debug)]
pub enum EditorEvent {
    /// Do this.
    Request(EditorRequest),
    /// The session does not wait for it any more.
    Dropped { editor_request: u64 },
}

/// What waits.
#[derive(Clone, PartialEq, Debug)]
pub enum QueueEvent {
    /// All items, in order.
    Waiting(Vec<Item>),
    /// An item of this peer ended.
    Ended {
        tag: Tag,
        item: ItemId,
        end: ItemEnd,
        why: SettleReason,
        /// The turn that took it.
        turn: Option<TurnId>,
        /// Where the queue dropped it: by which rules.
        lane: Option<Box<LaneNote>>,
    },
    /// A message of this peer was not taken in; its reply, which follows, is the fault.
    Refused { tag: Tag, lane: Box<LaneNote> },
}

/// A queue that had no room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneNote {
    pub policy: LanePolicy,
    /// Messages that it had no room for since it was last idle.
    pub dropped: u64,
    /// The beginnings of those that no turn was told of yet, where the policy summarises.
    pub texts: Vec<Arc<str>>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    Done,
    Opened(Box<Opened>),
    /// The prompt starts this turn, or waits as this item.
    Started {
        turn: TurnId,
    },
    Waiting {
        item: ItemId,
        position: usize,
    },
    Interrupted {
        was_running: bool,
    },
    Slash(Box<SlashReply>),
    Queue(Vec<Item>),
    Compacted(Box<crate::Compaction>),
    /// The session that was meant.
    Found(SessionId),
    Forked {
        session: SessionId,
        text: String,
    },
    Shell(Box<Shell>),
    Entries(Vec<Arc<Entry>>),
    Inspected(Box<Inspection>),
    Models(Vec<ModelInfo>),
    Exported(Exported),
    Answered(Answer),
    Tools(Vec<ToolSpec>),
    Sessions(SavedPage),
    Recalled(Box<Recalled>),
    Accounts(Box<AccountList>),
    SignedIn(Box<SignedIn>),
    /// What came of a call that was made by hand.
    Called(Box<CallResult>),
    /// The command was carried out before; this was its answer then.
    Again(Box<Reply>),
    Recounted(Box<Recounted>),
}

/// A run, as far as it is in the log.
#[derive(Clone, PartialEq, Debug)]
pub struct Recounted {
    /// `None`: nothing has taken its message yet.
    pub turn: Option<TurnId>,
    /// The message that waits, or waited.
    pub item: Option<ItemId>,
    /// Why that waits no more.
    pub settled: Option<SettleReason>,
    /// Nothing will be added to it any more.
    pub ended: bool,
    /// From its start to its end.
    pub entries: Vec<Arc<Entry>>,
}

/// A session as it stands, beyond its log.
#[derive(Clone, PartialEq, Debug)]
pub struct Inspection {
    pub state: State,
    /// What the next model call sends besides the messages.
    pub spec: CallSpec,
    pub waiting: Vec<Item>,
    pub compacting: bool,
    pub lane: LanePolicy,
    pub retry: RetryPolicy,
    pub compaction: CompactionPolicy,
    pub commands: Vec<CommandInfo>,
}

/// What a peer needs to know about the session it is on.
#[derive(Clone, PartialEq, Debug)]
pub struct Opened {
    pub session: SessionId,
    pub resumed: bool,
    pub state: State,
    /// Canonical names of the tools offered.
    pub tools: Vec<Arc<str>>,
    /// One line to show: what was repaired, which model was chosen and why.
    pub notices: Vec<String>,
    pub present: Present,
}

/// What goes on in a session when a peer comes in, as far as it was told to those who are there.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Present {
    /// Where those are who hear everything. What lies between it and the peer's own position is told next.
    pub at: Position,
    pub attached: Attached,
    /// The entries of open questions.
    pub asks: Vec<Arc<Entry>>,
    pub waiting: Vec<Item>,
    pub running: Vec<RunningNow>,
    /// The reply whose calls have not all ended, and what was told of these calls: entries that lie before the peer's
    /// position, and without which it could not follow what comes.
    pub round: Vec<Arc<Entry>>,
}

/// How what a peer is told next joins what it has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Attached {
    /// It asked for nothing that was before: open questions and the running reply, and then what comes.
    #[default]
    Live,
    /// Everything after the position that it named, once. Its offset is 0 where the reply that the peer has a part of will never
    /// be whole: the part is to be forgotten, and the reply that takes its place is told from its beginning.
    After(Position),
    /// What it has is not how things are any more: it is told everything from the beginning, and why.
    Anew { why: Arc<str> },
}

/// A call that has begun and not ended.
#[derive(Clone, PartialEq, Debug)]
pub struct RunningNow {
    pub call: CallId,
    /// The canonical name.
    pub tool: Arc<str>,
    /// Its output so far (the tail of it).
    pub output: Vec<Part>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct State {
    pub session: SessionId,
    pub workspace: PathBuf,
    pub model: Arc<str>,
    pub mode: Mode,
    pub thinking: Option<Arc<str>>,
    pub context_window: u64,
    pub max_tokens: u64,
    /// Tokens of the last model call, or an estimate of what the next one would send.
    pub context_tokens: u64,
    /// Names of the gadgets that are switched on.
    pub gadgets: Vec<Arc<str>>,
    pub title: Option<Arc<str>>,
    pub turn: Option<TurnId>,
    /// User and assistant messages the model sees.
    pub messages: u64,
    /// Tool results the model sees.
    pub results: u64,
    pub last_seq: u64,
    /// What is known of the model.
    pub model_info: Arc<ModelInfo>,
    pub todos: Arc<[TodoPhase]>,
    /// The session's own file, where the store keeps one.
    pub file: Option<PathBuf>,
    /// The rules of its queue, and whether they are the session's own.
    pub lane: LanePolicy,
    pub lane_is_own: bool,
    /// Until then what would be asked is allowed.
    pub elevated_until_ms: Option<i64>,
    /// What the model was chosen by, where that is not its own name.
    pub model_called: Option<Arc<str>>,
    /// The session for whose call this one works, and does nothing else ([`State::refuses`]). As long as it is open.
    pub works_for: Option<SessionId>,
}

impl State {
    /// What a session that works for another one answers to whoever wants something else of it, however it is wanted. For who
    /// would stop something first, or get something ready.
    pub fn refuses(&self) -> Option<Fault> {
        self.works_for.as_ref().map(Fault::works_for)
    }

    /// 0..100 with one decimal.
    pub fn context_pct(&self) -> f64 {
        if self.context_window == 0 {
            return 0.0;
        }
        let pct = self.context_tokens as f64 * 100.0 / self.context_window as f64;
        (pct.min(100.0) * 10.0).round() / 10.0
    }
}

/// Which block a seal ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sealed {
    /// The thinking that its deltas told.
    Thinking,
    /// One of its own, without words. Directly behind a text it is that text's signature.
    Alone,
    /// One of its own, whose words are in the seal.
    Redacted,
}
