//! The engine asks, somebody answers once, or it is withdrawn. Permission questions, dialogs and calls of a
//! controller's own tools are the same mechanism. An open ask is in the log and is shown again after a restart.

use std::sync::Arc;

use crate::{AskId, CallId, Json, Mode, Part, Required, TurnId};

#[derive(Clone, PartialEq, Debug)]
pub struct Ask {
    pub id: AskId,
    pub turn: Option<TurnId>,
    pub kind: AskKind,
    /// How long an answer is waited for, where there is a limit; then it counts as dismissed.
    pub timeout_ms: Option<u64>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AskKind {
    /// May this call run?
    Permission(PermissionAsk),
    /// Run this call for us: the tool lives with the controller.
    HostCall {
        call: CallId,
        tool: Arc<str>,
        input: Json,
    },
    Select {
        title: Arc<str>,
        options: Vec<Arc<str>>,
    },
    Confirm {
        title: Arc<str>,
        message: Arc<str>,
    },
    Input {
        title: Arc<str>,
        placeholder: Option<Arc<str>>,
    },
    Editor {
        title: Arc<str>,
        prefill: Option<Arc<str>>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct PermissionAsk {
    pub call: CallId,
    /// Canonical name.
    pub tool: Arc<str>,
    pub input: Json,
    pub active: Mode,
    pub required: Required,
    /// Why the mode does not cover it; `None` when it does or when the mode is `prompt`.
    pub reason: Option<Arc<str>>,
    /// One line for a person: `write src/main.rs (+3 -1)`.
    pub summary: Arc<str>,
    /// What would change, where it can be known beforehand.
    pub preview: Option<Arc<str>>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    Allow(Scope),
    /// The reason goes to the model; without one a fixed text does.
    Deny(Option<Arc<str>>),
    Text(Arc<str>),
    Confirmed(bool),
    /// The result of a controller's tool.
    Result {
        parts: Vec<Part>,
        is_error: bool,
        details: Option<Json>,
    },
    /// The dialog was closed.
    Dismissed,
}

/// How far an allow reaches. It never outlives the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    Once,
    /// The same tool with the same requirement; for commands, the same command.
    Session,
}

/// How an ask ended.
#[derive(Clone, PartialEq, Debug)]
pub enum AskEnd {
    Answered {
        answer: Answer,
        /// The controller, in its own word ([`Open::controller`](crate::Open)); `None`: nobody, or one that gave none.
        by: Option<Arc<str>>,
    },
    /// The turn was interrupted, or nobody can answer any more.
    Withdrawn,
}
