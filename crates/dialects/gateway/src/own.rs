//! What the gateway's dialect asks of the services beside the engine, and how they refuse. The services' news come as the
//! answer to a call that waits for them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use vocab::{Entry, Json, Secret, SessionId, TurnId};
use wire::OwnCall;

use crate::services::{ServiceAnswer, ServiceCall};

/// What this dialect wants done.
pub(crate) type Out = wire::Out<GatewayOwn>;

#[derive(Debug)]
pub enum GatewayOwn {
    /// Who holds this token? Known from then on where it is good.
    Login { token: Secret },
    /// Is there such a session, in memory or saved?
    Exists { session: SessionId },
    /// Answered with [`GatewayAnswer::Exists`] when the session is there no more. Only a connection's newest such call waits; an
    /// older one is answered `Exists(true)` at once.
    WhenDeleted { session: SessionId },
    /// The session of a run that is under way, or was lately.
    FindRun { turn: TurnId },
    /// Saved entries after this one.
    Read { session: SessionId, after: u64, limit: usize },
    /// The newest saved entries before this one, and so many before those.
    ReadBefore { session: SessionId, before: u64, limit: usize, behind: u64 },
    /// News of these topics since this mark; answered when there are some. A newer call of the same connection has the one
    /// before it answered at once, with what there is.
    /// `answers`: who hears them may answer the questions of every session.
    News { topics: Vec<Topic>, after: Option<NewsMark>, answers: bool },
    /// Whether somebody wants to be told when a run of this session ends.
    Notify { session: SessionId, on: bool },
    /// Writes down what the session is about, behind this run, unless that was done of late.
    Checkpoint { session: SessionId, turn: TurnId },
    /// What the methods of the services take.
    Service(Box<ServiceCall>),
}

/// What can be subscribed to beside sessions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Topic {
    Sessions,
    Asks,
    Lanes,
    Nodes,
    Metrics,
    Logs,
}

impl Topic {
    pub const ALL: [Topic; 6] = [Topic::Sessions, Topic::Asks, Topic::Lanes, Topic::Nodes, Topic::Metrics, Topic::Logs];

    pub fn as_str(self) -> &'static str {
        match self {
            Topic::Sessions => "sessions",
            Topic::Asks => "asks",
            Topic::Lanes => "lanes",
            Topic::Nodes => "nodes",
            Topic::Metrics => "metrics",
            Topic::Logs => "logs",
        }
    }
    pub fn parse(text: &str) -> Option<Self> {
        Topic::ALL.into_iter().find(|topic| topic.as_str() == text)
    }
}

/// How far a connection was told the news. The service alone knows what it means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct NewsMark(pub u64);

/// One event of a topic.
#[derive(Clone, PartialEq, Debug)]
pub struct NewsItem {
    pub topic: Topic,
    pub event: &'static str,
    /// An object.
    pub data: Json,
}

impl OwnCall for GatewayOwn {
    type Answer = Result<GatewayAnswer, GatewayRefusal>;
}

#[derive(Debug)]
pub enum GatewayAnswer {
    /// The name of the token or of the user.
    LoggedIn {
        name: Arc<str>,
        scopes: Scopes,
    },
    Exists(bool),
    /// The session of a run, where that is known.
    RunIn(Option<SessionId>),
    /// `more`: there are others behind them.
    Entries {
        entries: Vec<Arc<Entry>>,
        more: bool,
    },
    /// `first`: where the page begins that was asked for.
    EntriesBefore {
        entries: Vec<Arc<Entry>>,
        first: u64,
    },
    /// Perhaps none, where a newer call took its place.
    News {
        items: Vec<NewsItem>,
        mark: NewsMark,
    },
    /// Where it is, on the disk; `None`: there is none of this run.
    Checkpointed {
        namespace: Option<Arc<str>>,
    },
    Done,
    Service(Box<ServiceAnswer>),
    /// As `Service`, where this call revoked the caller's own credential: the connection closes behind the answer.
    Last(Box<ServiceAnswer>),
}

/// Why something cannot be had, in the wire's own numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct GatewayRefusal {
    pub code: Code,
    /// A word for programs, in `data.reason`.
    pub reason: Option<&'static str>,
    /// A sentence for people.
    pub message: String,
    /// More members of `data`.
    pub data: Option<Json>,
}

impl GatewayRefusal {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, reason: None, message: message.into(), data: None }
    }
    /// The word for programs.
    pub fn because(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }
    /// One more member of `data`.
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        let known = self.data.as_ref().and_then(|data| serde_json::from_str(data.as_str()).ok());
        let mut members: Map<String, Value> = known.unwrap_or_default();
        members.insert(name.to_owned(), serde_json::to_value(value).unwrap_or(Value::Null));
        self.data = Some(Json::trusted(Value::Object(members).to_string()));
        self
    }

    pub fn invalid(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, message).because(reason)
    }
    pub fn wrong_param(param: &str, message: impl Into<String>) -> Self {
        Self::invalid("invalid_params", message).with("param", param)
    }
    pub fn no_session(session: &SessionId) -> Self {
        Self::new(Code::SessionNotFound, format!("there is no session {session}")).with("sessionId", session.as_str())
    }
    pub fn internal(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message).because(reason)
    }
    /// A service gave an answer to something else.
    pub fn mixed_up() -> Self {
        Self::internal("internal", "an answer came that belongs to another question")
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    Parse,
    InvalidRequest,
    MethodNotFound,
    AuthRequired,
    AuthFailed,
    SessionNotFound,
    ToolNotFound,
    Busy,
    Cancelled,
    Internal,
}

impl Code {
    pub fn number(self) -> i32 {
        match self {
            Code::Parse => -1,
            Code::InvalidRequest => -2,
            Code::MethodNotFound => -3,
            Code::AuthRequired => -4,
            Code::AuthFailed => -5,
            Code::SessionNotFound => 1,
            Code::ToolNotFound => 2,
            Code::Busy => 3,
            Code::Cancelled => 4,
            Code::Internal => 5,
        }
    }
}

/// What a caller may do.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Scopes(u8);

impl Scopes {
    pub const NONE: Scopes = Scopes(0);
    pub const READ: Scopes = Scopes(1);
    pub const CHAT: Scopes = Scopes(2);
    pub const TOOLS: Scopes = Scopes(4);
    pub const ADMIN: Scopes = Scopes(8);
    pub const ALL: Scopes = Scopes(15);

    pub const fn and(self, other: Scopes) -> Scopes {
        Scopes(self.0 | other.0)
    }
    /// Each and its name.
    pub const WORDS: [(Scopes, &str); 4] =
        [(Self::READ, "read"), (Self::CHAT, "chat"), (Self::TOOLS, "tools"), (Self::ADMIN, "admin")];

    /// Each by its name.
    pub fn words(self) -> Vec<&'static str> {
        Self::WORDS.into_iter().filter(|(scope, _)| self.has(*scope)).map(|(_, word)| word).collect()
    }
    /// Whether everything that `needed` names is here.
    pub const fn has(self, needed: Scopes) -> bool {
        self.0 & needed.0 == needed.0
    }
}
