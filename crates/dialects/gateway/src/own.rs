//! What the gateway's dialect asks of the services beside the engine, and how they refuse. The services' news come as the
//! answer to a call that waits for them.

use std::sync::Arc;

use vocab::{Entry, Json, Secret, SessionId};
use wire::OwnCall;

#[derive(Debug)]
pub enum GatewayOwn {
    /// Who holds this token? Known from then on where it is good.
    Login { token: Secret },
    /// Is there such a session, in memory or saved?
    Exists { session: SessionId },
    /// Saved entries after this one; `branch`: only those that the conversation goes through now.
    Read { session: SessionId, after: u64, limit: usize, branch: bool },
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
    /// `more`: there are others behind them.
    Entries {
        entries: Vec<Arc<Entry>>,
        more: bool,
    },
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
    /// Whether everything that `needed` names is here.
    pub const fn has(self, needed: Scopes) -> bool {
        self.0 & needed.0 == needed.0
    }
}
