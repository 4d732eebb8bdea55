//! Errors as this wire has them: a code, a text, and `data` with a reason that programs can switch on.

use serde_json::{Map, Value};
use vocab::{Fault, FaultKind};
use wire::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError, SERVER_ERROR};

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RpcFault {
    code: i64,
    pub(crate) message: String,
    reason: &'static str,
    /// More members of `data`.
    more: Option<(&'static str, String)>,
}

impl RpcFault {
    fn new(code: i64, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), reason, more: None }
    }

    pub(crate) fn parse(detail: &str) -> Self {
        Self::new(wire::jsonrpc::PARSE_ERROR, "parse_error", format!("parse error: {detail}"))
    }
    pub(crate) fn batch() -> Self {
        Self::new(INVALID_REQUEST, "batch_not_supported", "batch requests are not supported")
    }
    pub(crate) fn request() -> Self {
        Self::new(INVALID_REQUEST, "invalid_request", "invalid request")
    }
    pub(crate) fn line_too_long(limit: usize) -> Self {
        let message = format!("the line is longer than {limit} bytes; it was skipped");
        Self::new(INVALID_REQUEST, "line_too_long", message)
    }
    pub(crate) fn method(name: &str) -> Self {
        let more = Some(("method", name.to_owned()));
        Self { more, ..Self::new(METHOD_NOT_FOUND, "method_not_found", format!("method not found: {name}")) }
    }
    pub(crate) fn no_object(method: &str) -> Self {
        Self::new(INVALID_PARAMS, "invalid_params", format!("invalid params for {method}: expected object"))
    }
    pub(crate) fn field(method: &str, field: &'static str, must: &str) -> Self {
        let message = format!("invalid params for {method}: `{field}` must be {must}");
        Self::bad_field(field, message)
    }
    /// As [`RpcFault::field`], in words of its own.
    pub(crate) fn bad_field(field: &'static str, message: impl Into<String>) -> Self {
        let more = Some(("field", field.to_owned()));
        Self { more, ..Self::new(INVALID_PARAMS, "invalid_params", message) }
    }
    pub(crate) fn version(asked: &str, supported: &str) -> Self {
        let message = format!("unsupported protocol_version: {asked}");
        let more = Some(("supported", supported.to_owned()));
        Self { more, ..Self::new(INVALID_PARAMS, "unsupported_protocol_version", message) }
    }
    /// Something that cannot be done now, or at all.
    pub(crate) fn domain(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(SERVER_ERROR, reason, message)
    }
    pub(crate) fn shutting_down() -> Self {
        Self::domain("shutting_down", "the server is shutting down")
    }
    pub(crate) fn unknown_session(id: &str) -> Self {
        Self::domain("unknown_session", format!("unknown session: {id}"))
    }
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, "internal_error", message)
    }

    /// The engine's refusal under another reason than its kind's.
    pub(crate) fn because(reason: &'static str, fault: &Fault) -> Self {
        Self::domain(reason, text(fault))
    }

    pub(crate) fn to_wire(&self) -> RpcError {
        let mut data = Map::new();
        data.insert("reason".into(), self.reason.into());
        if let Some((name, value)) = &self.more {
            data.insert((*name).into(), value.as_str().into());
        }
        RpcError { code: self.code, message: self.message.clone(), data: Some(Value::Object(data)) }
    }
}

impl From<&Fault> for RpcFault {
    fn from(fault: &Fault) -> Self {
        match fault.kind {
            FaultKind::Internal => Self::internal(text(fault)),
            kind => Self::domain(reason(kind), text(fault)),
        }
    }
}

fn reason(kind: FaultKind) -> &'static str {
    match kind {
        // This wire has no keys.
        FaultKind::Invalid | FaultKind::KeyTaken => "invalid",
        FaultKind::EmptyPrompt => "empty_prompt",
        FaultKind::TurnInProgress | FaultKind::WorksForCall | FaultKind::SessionBusy => "session_busy",
        FaultKind::QueueFull => "queue_full",
        FaultKind::NotFound => "not_found",
        FaultKind::UnknownSession => "unknown_session",
        FaultKind::UnknownAsk => "unknown_ask",
        FaultKind::UnknownModel => "unknown_model",
        FaultKind::UnknownCommand => "unknown_command",
        FaultKind::ShuttingDown => "shutting_down",
        FaultKind::NothingToDo => "nothing_to_do",
        FaultKind::Unsupported => "unsupported",
        FaultKind::Budget => "budget_spent",
        FaultKind::Store => "store_error",
        FaultKind::Cancelled => "cancelled",
        FaultKind::Internal => "internal_error",
        FaultKind::Auth => "auth_failed",
        FaultKind::RateLimited
        | FaultKind::ContextOverflow
        | FaultKind::BadRequest
        | FaultKind::Provider
        | FaultKind::StreamCut
        | FaultKind::Network => "upstream_error",
    }
}

/// What went wrong and what can be done about it, in one text.
pub(crate) fn text(fault: &Fault) -> String {
    fault.explained()
}
