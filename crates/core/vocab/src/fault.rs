//! What crosses a boundary when something goes wrong.

use std::fmt;

use crate::{ChangeOf, SessionId};

/// Who is to blame, as far as we can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Local,
    Remote,
    Unknown,
}

/// The closed list of kinds. Each dialect maps it in one exhaustive table (`faults.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// The frame was understood but makes no sense.
    Invalid,
    EmptyPrompt,
    /// A turn is running and the delivery said not to wait.
    TurnInProgress,
    /// The session works for a call of another one and takes nothing else meanwhile, however it is delivered.
    WorksForCall,
    QueueFull,
    /// Nothing of that name: session, model, command, mode, item, entry.
    NotFound,
    UnknownSession,
    UnknownAsk,
    UnknownModel,
    UnknownCommand,
    /// Another process owns the session.
    SessionBusy,
    ShuttingDown,
    /// There is nothing to do, and saying so is the answer (nothing to compact).
    NothingToDo,
    Unsupported,
    /// The key of this command stands for another command already.
    KeyTaken,
    /// A budget is spent.
    Budget,
    /// The session log could not be read or written.
    Store,
    Cancelled,
    Internal,
    // The model's side.
    Auth,
    RateLimited,
    ContextOverflow,
    /// The provider refused the request itself (4xx).
    BadRequest,
    /// The provider failed (5xx, an error object in the stream, a chunk we cannot read).
    Provider,
    /// The stream ended without a finish.
    StreamCut,
    /// No connection, no name, or no model event for too long.
    Network,
}

impl FaultKind {
    pub fn origin(self) -> Origin {
        use FaultKind::*;
        match self {
            Auth | RateLimited | ContextOverflow | BadRequest | Provider | StreamCut => Origin::Remote,
            Network => Origin::Unknown,
            Invalid | EmptyPrompt | TurnInProgress | WorksForCall | QueueFull | NotFound | UnknownSession
            | UnknownAsk | UnknownModel | UnknownCommand | SessionBusy | ShuttingDown | NothingToDo | Unsupported
            | KeyTaken | Budget | Store | Cancelled | Internal => Origin::Local,
        }
    }
}

const GOES_ON: &str = "what is not finished goes on with its next start";
const RUNS_ON: &str = "what runs goes on with its next start, and what waits is dropped";
const TOO_SLOW: &str = "this connection reads too slowly; attach again where it stopped";
const LEFT_WITH: &str = "the session was left with the model";

/// Kind for machines, message for people, hints for whoever can fix it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
    pub hints: Vec<String>,
    /// What a server answered with, in HTTP's numbers, where one answered.
    pub status: Option<u16>,
    /// The change that was refused, where several things were wanted at once. No log keeps it.
    pub refused: Option<ChangeOf>,
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), status: None, refused: None }
    }
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
    /// Why a peer that does not read is let go of, whole: all that it is on, and whatever it has asked for.
    pub fn too_slow() -> Self {
        Self::new(FaultKind::Unsupported, TOO_SLOW)
    }
    pub fn is_too_slow(&self) -> bool {
        self.kind == FaultKind::Unsupported && self.message == TOO_SLOW
    }
    /// Of a model that nobody has named now: the session was left with it. Other faults stay as they are.
    pub fn of_left_model(mut self, model: &str) -> Self {
        if self.kind == FaultKind::UnknownModel {
            self.message = format!("{LEFT_WITH} {model}, which is not here now: {}", self.message);
        }
        self
    }
    /// The session's own model is not here any more.
    pub fn is_model_gone(&self) -> bool {
        self.kind == FaultKind::UnknownModel && self.message.starts_with(LEFT_WITH)
    }
    /// The session works for a call of this one, and does nothing else meanwhile.
    pub fn works_for(parent: &SessionId) -> Self {
        let text = format!("this session works for a call of the session `{parent}`, and does nothing else meanwhile");
        let hint =
            format!("send it to `{parent}`, or wait until that call has ended: then this is a session like any other");
        Self::new(FaultKind::WorksForCall, text).hint(hint)
    }
    /// The process ends and leaves what runs as it is: whoever starts it again finds it going on.
    pub fn suspended() -> Self {
        Self::new(FaultKind::ShuttingDown, "the process that holds this session is ending").hint(GOES_ON)
    }
    /// The same where messages that wait do not outlive the process.
    pub fn suspended_without_waiting() -> Self {
        Self::new(FaultKind::ShuttingDown, "the process that holds this session is ending").hint(RUNS_ON)
    }
    pub fn is_suspended(&self) -> bool {
        self.is_ending_with(GOES_ON) || self.is_ending_with(RUNS_ON)
    }
    /// A message that waits goes on with the next start, too.
    pub fn keeps_waiting(&self) -> bool {
        self.is_ending_with(GOES_ON)
    }
    fn is_ending_with(&self, words: &str) -> bool {
        self.kind == FaultKind::ShuttingDown && self.hints.iter().any(|hint| hint == words)
    }
    pub fn of_change(mut self, change: ChangeOf) -> Self {
        self.refused = Some(change);
        self
    }
    pub fn answered(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
    pub fn origin(&self) -> Origin {
        self.kind.origin()
    }
    /// What went wrong and, in parentheses, what can be done about it: one text for people.
    pub fn explained(&self) -> String {
        match self.hints.as_slice() {
            [] => self.message.clone(),
            hints => format!("{} ({})", self.message, hints.join("; ")),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Fault {}
