//! Fault kind -> code of an `error` line: one table. A slash command that fails outright uses the same words in
//! `data.error`.

use vocab::{Fault, FaultKind, Origin};
use wire::CloseCode;

// Codes for what never reaches the engine.
pub(crate) const MALFORMED_JSON: &str = "malformed_json";
pub(crate) const INVALID_MESSAGE: &str = "invalid_message";
pub(crate) const LINE_TOO_LONG: &str = "line_too_long";
const SESSION_BUSY: &str = "session_busy";
pub(crate) const TOO_MANY_SESSIONS: &str = "too_many_sessions";

pub(crate) fn code(kind: FaultKind) -> &'static str {
    match kind {
        // This wire has no keys.
        FaultKind::Invalid | FaultKind::KeyTaken => INVALID_MESSAGE,
        FaultKind::EmptyPrompt => "empty_prompt",
        FaultKind::TurnInProgress => "turn_in_progress",
        FaultKind::WorksForCall => "works_for_call",
        FaultKind::QueueFull => "queue_full",
        FaultKind::NotFound => "not_found",
        FaultKind::UnknownSession => "session_not_found",
        FaultKind::UnknownAsk => "unknown_request_id",
        FaultKind::UnknownModel => "unknown_model",
        FaultKind::UnknownCommand => "unknown_command",
        FaultKind::SessionBusy => SESSION_BUSY,
        FaultKind::ShuttingDown => "shutting_down",
        FaultKind::NothingToDo => "nothing_to_do",
        FaultKind::Unsupported => "unsupported",
        FaultKind::Budget => "budget_spent",
        FaultKind::Store => "store_error",
        FaultKind::Cancelled => "cancelled",
        FaultKind::Internal => "internal_error",
        FaultKind::Auth => "auth_failed",
        FaultKind::RateLimited => "rate_limited",
        FaultKind::ContextOverflow => "context_overflow",
        FaultKind::BadRequest => "invalid_request",
        FaultKind::Provider => "provider_error",
        FaultKind::StreamCut => "stream_interrupted",
        FaultKind::Network => "network_error",
    }
}

/// The code when a session cannot be opened: a controller wants to tell "no such session" and "somebody else has it"
/// from everything that only a person can mend.
pub(crate) fn opening_code(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::NotFound | FaultKind::UnknownSession => "session_not_found",
        FaultKind::SessionBusy => SESSION_BUSY,
        FaultKind::Invalid
        | FaultKind::KeyTaken
        | FaultKind::EmptyPrompt
        | FaultKind::TurnInProgress
        | FaultKind::WorksForCall
        | FaultKind::QueueFull
        | FaultKind::UnknownAsk
        | FaultKind::UnknownModel
        | FaultKind::UnknownCommand
        | FaultKind::ShuttingDown
        | FaultKind::NothingToDo
        | FaultKind::Unsupported
        | FaultKind::Budget
        | FaultKind::Store
        | FaultKind::Cancelled
        | FaultKind::Internal
        | FaultKind::Auth
        | FaultKind::RateLimited
        | FaultKind::ContextOverflow
        | FaultKind::BadRequest
        | FaultKind::Provider
        | FaultKind::StreamCut
        | FaultKind::Network => "bootstrap_failed",
    }
}

/// How a pipe is closed whose one session could not be opened: it may be free another time, or asking again is no use.
pub(crate) fn close_code(kind: FaultKind) -> CloseCode {
    match opening_code(kind) {
        SESSION_BUSY => CloseCode::TryAgainLater,
        _ => CloseCode::PolicyViolation,
    }
}

pub(crate) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Local => "local",
        Origin::Remote => "remote",
        Origin::Unknown => "unknown",
    }
}

/// The message for people, with the hints in parentheses behind it.
pub(crate) fn message(fault: &Fault) -> String {
    fault.explained()
}
