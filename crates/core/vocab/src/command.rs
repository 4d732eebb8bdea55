//! What a peer can want. Commands are data: they can be logged, replayed, compared and fuzzed; the answer comes as
//! an event that carries the same tag.

use std::path::PathBuf;
use std::sync::Arc;

use crate::names::ToolNames;
use crate::{
    Abilities, AccountName, Answer, AskId, AskKind, CompactionPolicy, Cursor, EditorOffer, EditorReply, Gate,
    HookVerdict, ItemId, Json, LaneWish, Level, McpServer, Mode, Notice, OnRestart, Part, PeerId, Principal, Query,
    Required, RetryPolicy, SessionId, Settings, SignInMode, Tag, TodoPhase, TurnId, Watched,
};

#[derive(Clone, PartialEq, Debug)]
pub struct Command {
    pub tag: Tag,
    pub target: Target,
    pub verb: Verb,
    /// Who wants it, where that is not who the peer is: a bridge speaks for many.
    pub by: Option<Principal>,
    /// Chosen by who wants it: a command that comes twice with the same key is carried out once, and answered twice.
    pub key: Option<Arc<str>>,
    /// Where it belongs in a trace of its sender's ([`crate::TracePlace`]). What it leads to says it on.
    pub trace: Option<Arc<str>>,
    /// A message: the session's model from when it is taken. One that is refused chooses none.
    pub model: Option<Arc<str>>,
    /// A message: its turn, or its waiting for one, ends after this long at the latest, whatever becomes of its sender.
    pub limit_ms: Option<u64>,
}

impl Command {
    pub fn of(tag: Tag, target: Target, verb: Verb) -> Self {
        Self { tag, target, verb, by: None, key: None, trace: None, model: None, limit_ms: None }
    }
}

/// Which session a command is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// The one the peer is on when the command is carried out. A one-session dialect needs this: after `/clear` it
    /// may hear a prompt before it has learned the new id.
    Current,
    Session(SessionId),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Verb {
    /// Start, resume or join a session and be on it.
    Open(Open),
    /// Stop being told; the session lives on. It is answered at once: until the session comes to it, which is behind what the
    /// peer asked for before, that may still be told, the answer to its opening included.
    Leave,
    /// A new session with everything before the user message `at`, or with everything.
    Fork {
        at: Option<u64>,
    },
    /// Be told of sessions without being on them, instead of those watched before.
    Watch {
        sessions: Watched,
        level: Level,
    },
    Unwatch,
    /// For the session that the command is for.
    Session(SessionVerb),
    /// For no session; the target does not matter.
    Directory(DirectoryVerb),
}

impl Verb {
    /// Stops, answers or feeds something that runs. It never waits behind another command: whoever waits for it may be what
    /// the other one waits for.
    pub fn is_urgent(&self) -> bool {
        match self {
            Verb::Session(verb) => verb.is_urgent(),
            Verb::Directory(verb) => matches!(verb, DirectoryVerb::CancelSignIns),
            Verb::Open(_) | Verb::Leave | Verb::Fork { .. } | Verb::Watch { .. } | Verb::Unwatch => false,
        }
    }
}

/// What a peer wants of a session that it is on.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionVerb {
    Prompt {
        parts: Vec<Part>,
        delivery: Delivery,
    },
    Answer {
        ask: AskId,
        answer: Answer,
    },
    /// News from a controller's tool that is still running.
    Progress {
        ask: AskId,
        parts: Vec<Part>,
    },
    /// Stops what runs; with `turn`, only if it is that one.
    Interrupt {
        turn: Option<TurnId>,
    },
    /// Stops what runs unless another peer is here: this one goes, and nobody would be left.
    InterruptIfAlone,
    /// This peer does not want the turn any more: it stops, unless other peers are here that began it and have not said the
    /// same. For who came into it later, or began it together with others.
    InterruptUnlessWanted {
        turn: TurnId,
    },
    /// End a retry wait at once; the turn fails with the error it was waiting on.
    AbortRetry,
    /// Some of them move the peer to another session.
    Slash {
        name: String,
        args: String,
    },
    Queue(QueueVerb),
    Set(Change),
    /// All of these, or none: whatever is wrong with one of them is found before anything is changed.
    SetAll(Vec<Change>),
    Compact {
        instructions: Option<Arc<str>>,
        /// After the running turn and before the next one, instead of being refused meanwhile.
        wait: bool,
    },
    /// What this peer can do from now on.
    Able(Abilities),
    /// Replaces the controller's own tools in this session.
    OfferTools {
        tools: Vec<HostTool>,
    },
    /// What this peer does for the tools of this session, instead of what it offered before.
    OfferEditor(EditorOffer),
    /// What came of an editor request.
    EditorReplied {
        editor_request: u64,
        result: EditorReply,
    },
    /// A command of the user's own, beside whatever runs. The model reads it and its output with its next call,
    /// unless it is `aside`.
    Shell {
        command: Arc<str>,
        aside: bool,
    },
    AbortShell,
    /// Log entries after this seq, as far as they are written.
    Read {
        after: u64,
    },
    /// Everything about the session that is not in its log.
    Inspect,
    /// Writes the session to a file whose name says the format.
    Export {
        file: Option<PathBuf>,
    },
    /// Types an extension's slash command.
    Command {
        name: Arc<str>,
        args: Arc<str>,
    },
    Extension(ExtensionVerb),
    /// Runs a tool by hand, beside whatever runs. The model does not read it; whoever calls by hand has said yes, so nobody is
    /// asked, but what the session's rules deny is denied.
    Call {
        tool: Arc<str>,
        input: Json,
        limit_ms: Option<u64>,
    },
    /// Stops a call that was made by hand, or a compaction that was asked for, with this tag by the same peer.
    AbortCall {
        of: Tag,
    },
    /// A run of this session once more: what is in the log of it, and whether it has ended.
    Recount {
        of: RunRef,
    },
    /// From here on the conversation is empty; the log keeps what was. Files stay as they are.
    StartOver,
}

/// Which run is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunRef {
    Turn(TurnId),
    /// The one that the command with this key has started, or will start when its message is taken.
    Key(Arc<str>),
}

/// What an extension alone may want of a session.
#[derive(Clone, PartialEq, Debug)]
pub enum ExtensionVerb {
    /// It asks the people who are here; the reply is their answer.
    Ask { kind: AskKind, timeout_ms: Option<u64> },
    /// It shows something.
    Show(Notice),
    /// Its verdict on a hook call.
    HookDone { hook: u64, verdict: HookVerdict },
}

/// See [`Verb::is_urgent`].
impl SessionVerb {
    pub fn is_urgent(&self) -> bool {
        matches!(
            self,
            SessionVerb::Interrupt { .. }
                | SessionVerb::InterruptIfAlone
                | SessionVerb::InterruptUnlessWanted { .. }
                | SessionVerb::Answer { .. }
                | SessionVerb::Progress { .. }
                | SessionVerb::AbortRetry
                | SessionVerb::AbortShell
                | SessionVerb::AbortCall { .. }
                | SessionVerb::EditorReplied { .. }
                | SessionVerb::Extension(ExtensionVerb::HookDone { .. })
        )
    }
}

/// What a peer wants that no session can answer.
#[derive(Clone, PartialEq, Debug)]
pub enum DirectoryVerb {
    /// Everything that can be offered as a model.
    Models,
    /// The same for a client that waits: what takes longer is a fault.
    ModelsWithin {
        limit_ms: u64,
    },
    /// Tools as every session has them, without being on one.
    Tools,
    /// Saved sessions, newest first.
    Sessions(Query),
    /// A saved session's summary and active branch, without opening it. A path must be one that a list has shown.
    Recall(Which),
    /// Which session is meant. A file is taken in; nothing is opened.
    Find(Which),
    /// Removes a saved session for good. One that is open in another process is `SessionBusy`; one that is open here, too,
    /// unless `open_too`: then what runs in it is cut, what waits is settled, and its peers are told that it is gone.
    Delete {
        session: SessionId,
        open_too: bool,
    },
    Accounts,
    /// Runs a sign-in; its steps come as events with this tag.
    SignIn {
        account: AccountName,
        mode: SignInMode,
        originator: Option<Arc<str>>,
    },
    /// Ends all sign-ins that run.
    CancelSignIns,
    /// Signs out everywhere and forgets every key.
    Forget,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Open {
    pub which: Which,
    /// `None` = what the engine's defaults or the resumed session say.
    pub workspace: Option<PathBuf>,
    pub model: Option<Arc<str>>,
    pub mode: Option<Mode>,
    /// See [`crate::thinking`].
    pub thinking: Option<Arc<str>>,
    /// Who decides about calls while this peer is here; of several peers' the strictest counts. `None`: the engine's default.
    pub gate: Option<Gate>,
    /// How this peer spells the tools. The model reads them as the peer spells them that started the session.
    pub tool_names: Option<ToolNames>,
    /// What the log calls this controller: a word that means something to who reads it later.
    pub controller: Option<Arc<str>>,
    /// What a new session is said to come from, in its opener's words.
    pub parent: Option<Arc<str>>,
    /// What this peer can do.
    pub abilities: Abilities,
    /// Servers of tools for this session, as long as it is open.
    pub servers: Vec<McpServer>,
    /// Where the peer is already: everything after it is told before it goes live. `None` = live only.
    pub after: Option<Cursor>,
    /// Counts where this peer is the one that loads the session.
    pub on_restart: Option<OnRestart>,
    /// What a session that this peer loads or makes starts with, instead of the engine's defaults. What the session has of its
    /// own wins over it.
    pub usual: Option<Arc<Settings>>,
    /// A new session is saved at once, and not with its first message; the answer comes when it is.
    pub keep: bool,
    /// A session that was left with a model that is not here any more opens all the same, and refuses whatever needs a model
    /// until another one is chosen: for peers that have no other way to choose one.
    pub without_model: bool,
}

impl Open {
    pub fn new(which: Which) -> Self {
        Self {
            which,
            workspace: None,
            model: None,
            mode: None,
            thinking: None,
            gate: None,
            tool_names: None,
            controller: None,
            parent: None,
            abilities: Abilities::default(),
            servers: Vec::new(),
            after: None,
            on_restart: None,
            usual: None,
            keep: false,
            without_model: false,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Which {
    New,
    /// Create under a chosen id, or join it when it exists.
    Named(SessionId),
    /// An id or a unique prefix of one.
    Id(String),
    /// The newest non-empty session of the workspace.
    Latest,
    /// A session file.
    Path(PathBuf),
}

impl Which {
    /// A user's word for a saved session: `latest` (or `last`, `recent`), a path (anything with a separator or an
    /// extension), else an id or the beginning of one.
    pub fn parse(text: &str) -> Which {
        match text {
            "latest" | "last" | "recent" => Which::Latest,
            path if path.contains(['/', '\\', '.']) => Which::Path(path.into()),
            id => Which::Id(id.into()),
        }
    }
}

/// How a message wants to be treated when a turn is running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    RejectIfBusy,
    /// Into the running turn at its next safe point; waits for the next turn when none runs.
    Steer,
    /// After everything else the running turn wants to do.
    FollowUp,
    /// A turn of its own, first in first out, also after an interrupt.
    Enqueue,
    /// As `Enqueue`, but an interrupt cancels it.
    Queue,
    /// As the lane's policy says.
    Policy,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueueVerb {
    List,
    TakeBack(ItemId),
    /// The same, unless another peer sent it that is here; then nothing is taken back.
    TakeBackUnlessWanted(ItemId),
    Clear,
    /// Only what waits for a turn of its own.
    ClearTurns,
}

/// One message in a lane.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub id: ItemId,
    pub parts: Vec<Part>,
    pub delivery: Delivery,
    pub at_ms: i64,
    /// Who sent it and with which tag, so that its end can be told. Does not survive a restart.
    pub sender: Option<(PeerId, Tag)>,
    /// Who wants it.
    pub by: Option<Principal>,
    /// The end of the time that it has ([`Command::limit_ms`]).
    pub until_ms: Option<i64>,
}

/// Each item ends in exactly one of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemEnd {
    Consumed,
    Superseded,
    Dropped,
    Cancelled,
}

/// Why an item ended as it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettleReason {
    /// A turn took it.
    Ran,
    /// Somebody took it back, alone or with others.
    TakenBack,
    /// The queue was full and the oldest had to go.
    Overflow,
    /// A newer message took its place (undelivered steering, or an interrupting message).
    Newer,
    /// Somebody interrupted, and its delivery says that this cancels it.
    Interrupted,
    /// Steering whose turn ended before the model was called again, and the policy keeps none for the next turn.
    TooLate,
    /// More waited when the process ended than a queue holds.
    NoRoom,
    /// Its session is deleted.
    Deleted,
    /// It waited when the process ended, and this session does not take up what waited then.
    Restarted,
    /// Its time was over ([`Command::limit_ms`]).
    TimedOut,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    Model(Arc<str>),
    Mode(Mode),
    Thinking(Option<Arc<str>>),
    Title(Arc<str>),
    /// The language that people want to be answered in, as they write it.
    Locale(Option<Arc<str>>),
    Todos(Vec<TodoPhase>),
    /// Rules of its own for its queue, beside those that it has of its own already.
    Lane(LaneWish),
    /// The session has no rules of its own for its queue any more: those that are usual hold.
    LaneUsual,
    /// Until then what would be asked is allowed; `None`: no more.
    Elevate {
        until_ms: Option<i64>,
    },
    Retry(RetryPolicy),
    Compaction(CompactionPolicy),
    Gadget {
        name: Arc<str>,
        on: bool,
    },
}

/// What a change is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChangeOf {
    Model,
    Mode,
    Thinking,
    Title,
    Locale,
    Todos,
    Lane,
    Elevation,
    Retry,
    Compaction,
    Gadget,
}

impl Change {
    pub fn of(&self) -> ChangeOf {
        match self {
            Change::Model(_) => ChangeOf::Model,
            Change::Mode(_) => ChangeOf::Mode,
            Change::Thinking(_) => ChangeOf::Thinking,
            Change::Title(_) => ChangeOf::Title,
            Change::Locale(_) => ChangeOf::Locale,
            Change::Todos(_) => ChangeOf::Todos,
            Change::Lane(_) | Change::LaneUsual => ChangeOf::Lane,
            Change::Elevate { .. } => ChangeOf::Elevation,
            Change::Retry(_) => ChangeOf::Retry,
            Change::Compaction(_) => ChangeOf::Compaction,
            Change::Gadget { .. } => ChangeOf::Gadget,
        }
    }
}

/// A tool that lives with the controller, or with an extension.
#[derive(Clone, PartialEq, Debug)]
pub struct HostTool {
    pub name: Arc<str>,
    pub description: Arc<str>,
    pub schema: Json,
    /// What an extension's tool needs; its calls are judged like those of our own. A controller runs its tools itself and
    /// answers for them: there it does not count.
    pub required: Required,
}
