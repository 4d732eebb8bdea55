//! Questions of all sessions, for whoever answers them from anywhere.

use std::sync::Arc;

use vocab::{Ask, AskEnd, Entry, Principal, SessionId};

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::events::{AskEndWord, ToolConfirmData};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::shape::*;
use crate::{Gateway, confirm, projection, shape};

/// Questions in one answer; of more the oldest are told.
pub const ASKS_LISTED_MAX: usize = 500;

shape! { params
    /// Of one session, or of all.
    AsksParams { "sessionId" session_id: Option<SessionName> }
}
shape! { result
    /// An open question. Answered by `agent.confirmTool`, from any connection.
    AskRow {
        "sessionId" session_id: String,
        /// The session's.
        "title" title: Option<Arc<str>>,
        /// Where the session works.
        "cwd" cwd: Option<String>,
        /// For whom the run works.
        "askedBy" asked_by: Option<String>,
        "openedAt" opened_at: i64,
        /// Its entry in the log.
        "seq" seq: Option<u64>,
        .. question: ToolConfirmData
    }
}
shape! { result
    /// Open questions, oldest first.
    AsksResult { "asks" asks: Vec<AskRow> }
}
shape! { result
    /// A question has ended, whoever answered it.
    AskDoneData {
        "sessionId" session_id: String,
        "askId" ask_id: String,
        "callId" call_id: String,
        "decision" decision: AskEndWord,
        /// Who answered.
        "by" by: Option<String>,
    }
}

/// What a service knows of the session that a question is of.
#[derive(Clone, Default, Debug)]
pub struct AskedIn {
    pub title: Option<Arc<str>>,
    pub cwd: Option<String>,
    /// Somebody is on it, so that the usual time counts.
    pub is_attended: bool,
}

/// Whether a question is one that this wire asks.
pub fn is_asked_here(ask: &Ask) -> bool {
    confirm::asked(ask).is_some()
}

impl AskRow {
    /// `entry`: the one that opened it. `None`: it is not for this wire.
    pub fn of(session: &SessionId, ask: &Ask, entry: &Entry, known: AskedIn) -> Option<Self> {
        let mut question = confirm::data(ask, &*confirm::asked(ask)?, entry.at_ms);
        question.expires_at = question.expires_at.filter(|_| known.is_attended);
        Some(Self {
            session_id: session.to_string(),
            title: known.title,
            cwd: known.cwd,
            asked_by: entry.by.as_ref().map(Principal::to_string),
            opened_at: entry.at_ms,
            seq: Some(entry.seq),
            question,
        })
    }
}

impl AskDoneData {
    /// `by`: who did what ended it.
    pub fn of(session: &SessionId, ask: &Ask, end: &AskEnd, by: Option<&Principal>) -> Option<Self> {
        let (decision, by) = projection::decision(end, by);
        Some(Self {
            session_id: session.to_string(),
            ask_id: ask.id.to_string(),
            call_id: confirm::asked(ask)?.call.to_string(),
            decision,
            by,
        })
    }
}

pub(crate) fn list(gateway: &Gateway, params: AsksParams) -> Result<OwnPlan, GatewayRefusal> {
    let session = params.session_id.map(|name| name.0);
    let is_own = session.as_ref().is_some_and(|session| gateway.is_attached_to(session));
    Ok(OwnPlan::Call(asks(ServiceCall::Asks { session, is_own })))
}

told!(list_told, ServiceAnswer::Asks(asks) => AsksResult { asks }, AsksResult);
