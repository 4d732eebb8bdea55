//! The lines that we write: responses, updates, and requests of our own. The flow of a running answer is written by hand,
//! because there is one line for every delta; everything else goes through serde.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use vocab::{Fault, FaultKind, SessionId};
use wire::jsonrpc::{self, INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use wire::{FrameBuf, escape_plain_into};

/// Nobody is signed in.
const AUTH_REQUIRED: i64 = -32000;
/// No such session or file.
pub(crate) const NOT_FOUND: i64 = -32002;
/// Somebody took the request back.
pub(crate) const CANCELLED: i64 = -32800;

/// The id of a request, as it came: it is echoed byte for byte.
pub(crate) type CallId = Box<RawValue>;

#[derive(Serialize)]
struct Update<'a, U> {
    #[serde(rename = "sessionId")]
    session: &'a str,
    update: U,
}

pub(crate) struct Pen<'a> {
    pub(crate) frames: &'a mut FrameBuf,
}

impl Pen<'_> {
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut line = Vec::new();
        write(&mut line);
        self.frames.raw(&line);
    }

    pub(crate) fn result(&mut self, call: &RawValue, result: impl Serialize) {
        self.write(|out| jsonrpc::result(out, call, result));
    }
    /// `None` where no `id` could be read.
    pub(crate) fn refuse(&mut self, call: Option<&RawValue>, error: &RpcError) {
        self.write(|out| jsonrpc::error(out, call, &detailed(error)));
    }
    pub(crate) fn answer(&mut self, call: &RawValue, answer: Result<impl Serialize, RpcError>) {
        match answer {
            Ok(result) => self.result(call, result),
            Err(error) => self.refuse(Some(call), &error),
        }
    }
    pub(crate) fn update(&mut self, session: &SessionId, update: impl Serialize) {
        let params = Update { session: session.as_str(), update };
        self.write(|out| jsonrpc::notification(out, "session/update", params));
    }
    pub(crate) fn notify(&mut self, method: &str, params: impl Serialize) {
        self.write(|out| jsonrpc::notification(out, method, params));
    }
    pub(crate) fn request(&mut self, id: u64, method: &str, params: impl Serialize) {
        self.write(|out| jsonrpc::request(out, id, method, params));
    }
}

/// The constant parts of one message's chunks.
pub(crate) struct Chunks {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Chunks {
    pub(crate) fn new(session: &SessionId, tag: &str, message: &str) -> Self {
        let mut head = br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":""#.to_vec();
        escape_plain_into(session.as_str(), &mut head);
        head.extend_from_slice(br#"","update":{"sessionUpdate":""#);
        head.extend_from_slice(tag.as_bytes());
        head.extend_from_slice(br#"","content":{"type":"text","text":""#);
        let mut tail = br#""},"messageId":""#.to_vec();
        escape_plain_into(message, &mut tail);
        tail.extend_from_slice(br#""}}}"#);
        Self { head, tail }
    }

    pub(crate) fn write(&self, pen: &mut Pen<'_>, text: &str) {
        pen.frames.line(|out| {
            out.extend_from_slice(&self.head);
            escape_plain_into(text, out);
            out.extend_from_slice(&self.tail);
        });
    }
}

// ---- errors -----------------------------------------------------------------------------------------------------

fn error(code: i64, message: impl Into<String>, data: Value) -> RpcError {
    RpcError { data: Some(data), ..RpcError::new(code, message) }
}

pub(crate) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(INVALID_PARAMS, message)
}
pub(crate) fn unknown_method(method: &str) -> RpcError {
    error(jsonrpc::METHOD_NOT_FOUND, format!("method not found: {method}"), json!({ "method": method }))
}
pub(crate) fn unknown_session(id: &str) -> RpcError {
    error(NOT_FOUND, format!("session not found: {id}"), json!({ "sessionId": id }))
}

/// Some clients show `data.details` and not the message.
fn detailed(error: &RpcError) -> RpcError {
    let mut data = error.data.clone().unwrap_or_else(|| json!({}));
    data["details"] = json!(error.message);
    RpcError { data: Some(data), ..error.clone() }
}

/// A turn has failed. Where the server does not take the key, or the request itself, trying the same again does not help.
pub(crate) fn turn_failed(fault: Option<&Fault>) -> RpcError {
    let message = fault.map_or_else(|| "the turn failed".to_owned(), text);
    let code = match fault.map(|fault| fault.kind) {
        Some(FaultKind::Auth) => AUTH_REQUIRED,
        Some(FaultKind::BadRequest | FaultKind::ContextOverflow | FaultKind::Invalid | FaultKind::UnknownModel) => {
            INVALID_PARAMS
        }
        _ => INTERNAL_ERROR,
    };
    RpcError::new(code, message)
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
    let message = text(fault);
    match (fault.kind, session) {
        (FaultKind::NotFound | FaultKind::UnknownSession, Some(id)) => unknown_session(id),
        (FaultKind::Auth, _) => RpcError::new(AUTH_REQUIRED, message),
        (FaultKind::Cancelled, _) => RpcError::new(CANCELLED, message),
        (FaultKind::Invalid | FaultKind::EmptyPrompt | FaultKind::UnknownModel, _) => invalid(message),
        _ => RpcError::new(INTERNAL_ERROR, message),
    }
}

/// What went wrong and what can be done about it, in one text.
pub(crate) fn text(fault: &Fault) -> String {
    fault.explained()
}
