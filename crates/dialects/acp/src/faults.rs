//! Fault kind -> JSON-RPC error, in two tables: one for requests, one for turns. And the errors that need no engine.

use acp_types::error::{AUTH_REQUIRED, ErrorData, NOT_FOUND, REQUEST_CANCELLED};
use acp_types::sorted;
use vocab::{Fault, FaultKind};
use wire::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};

pub(crate) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(INVALID_PARAMS, message)
}
pub(crate) fn unknown_method(method: &str) -> RpcError {
    let data = ErrorData { method: Some(method.to_owned()), ..ErrorData::default() };
    RpcError { data: Some(sorted(data)), ..RpcError::new(METHOD_NOT_FOUND, format!("method not found: {method}")) }
}
pub(crate) fn unknown_session(id: &str) -> RpcError {
    let data = ErrorData { session_id: Some(id.to_owned()), ..ErrorData::default() };
    RpcError { data: Some(sorted(data)), ..RpcError::new(NOT_FOUND, format!("session not found: {id}")) }
}
pub(crate) fn cancelled() -> RpcError {
    RpcError::new(REQUEST_CANCELLED, "request cancelled")
}
/// A reply of the engine's that does not belong to what it was asked.
pub(crate) fn odd_reply() -> RpcError {
    RpcError::new(INTERNAL_ERROR, "the engine answered something else")
}

/// No model can be used.
pub(crate) fn no_model() -> RpcError {
    RpcError::new(
        AUTH_REQUIRED,
        "no model can be used: set the key of a vendor (OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, \
         OPENROUTER_API_KEY, ...) or OPENAI_BASE_URL in the environment of the agent, start a model server on this \
         machine, or sign in with `tillerman login`",
    )
}

/// A fault of the engine; `session` is what it was about.
pub(crate) fn from_fault(fault: &Fault, session: Option<&str>) -> RpcError {
    match (fault.kind, session) {
        (FaultKind::NotFound | FaultKind::UnknownSession, Some(id)) => unknown_session(id),
        (kind, _) => RpcError::new(code(kind), text(fault)),
    }
}

/// A turn has failed.
pub(crate) fn turn_failed(fault: Option<&Fault>) -> RpcError {
    match fault {
        Some(fault) => RpcError::new(turn_code(fault.kind), text(fault)),
        None => RpcError::new(INTERNAL_ERROR, "the turn failed"),
    }
}

/// Of a request that was refused.
fn code(kind: FaultKind) -> i64 {
    match kind {
        FaultKind::Auth => AUTH_REQUIRED,
        FaultKind::Cancelled => REQUEST_CANCELLED,
        // It was sent to the wrong session, and that says which one is right.
        FaultKind::WorksForCall
        | FaultKind::Invalid
        | FaultKind::KeyTaken
        | FaultKind::EmptyPrompt
        | FaultKind::UnknownModel => INVALID_PARAMS,
        FaultKind::TurnInProgress
        | FaultKind::QueueFull
        | FaultKind::NotFound
        | FaultKind::UnknownSession
        | FaultKind::UnknownAsk
        | FaultKind::UnknownCommand
        | FaultKind::SessionBusy
        | FaultKind::ShuttingDown
        | FaultKind::NothingToDo
        | FaultKind::Unsupported
        | FaultKind::Budget
        | FaultKind::Store
        | FaultKind::Internal
        | FaultKind::RateLimited
        | FaultKind::ContextOverflow
        | FaultKind::BadRequest
        | FaultKind::Provider
        | FaultKind::StreamCut
        | FaultKind::Network => INTERNAL_ERROR,
    }
}

/// Of a turn that failed. Where the server does not take the key, or the request itself, trying the same again does not help.
fn turn_code(kind: FaultKind) -> i64 {
    match kind {
        FaultKind::Auth => AUTH_REQUIRED,
        FaultKind::BadRequest | FaultKind::ContextOverflow | FaultKind::Invalid | FaultKind::UnknownModel => {
            INVALID_PARAMS
        }
        FaultKind::EmptyPrompt
        | FaultKind::KeyTaken
        | FaultKind::TurnInProgress
        | FaultKind::WorksForCall
        | FaultKind::QueueFull
        | FaultKind::NotFound
        | FaultKind::UnknownSession
        | FaultKind::UnknownAsk
        | FaultKind::UnknownCommand
        | FaultKind::SessionBusy
        | FaultKind::ShuttingDown
        | FaultKind::NothingToDo
        | FaultKind::Unsupported
        | FaultKind::Budget
        | FaultKind::Store
        | FaultKind::Cancelled
        | FaultKind::Internal
        | FaultKind::RateLimited
        | FaultKind::Provider
        | FaultKind::StreamCut
        | FaultKind::Network => INTERNAL_ERROR,
    }
}

/// What went wrong and what can be done about it, in one text.
pub(crate) fn text(fault: &Fault) -> String {
    fault.explained()
}
