//! What a line says of its way: which session it belongs to, and who waits for an answer to it. Pure.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use wire::jsonrpc::{self, Frame, RpcError, Version};

/// Questions of the agent's whose session is remembered. The answer to one more goes without that word.
const ASKED_MAX: usize = 1024;

/// A line of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OurLine {
    pub(super) kind: LineKind,
    pub(super) session: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum LineKind {
    Initialize {
        id: String,
    },
    Request {
        id: String,
    },
    /// The agent waits for it.
    Answer,
    /// Nobody waits for anything.
    Notification,
}

impl OurLine {
    /// The answer of a server that did not take it, where one is waited for. `code`: whoever reads it would take one that
    /// asks for a sign-in at its word.
    pub(super) fn refused(&self, code: i64, why: &str) -> Option<Vec<u8>> {
        let (LineKind::Initialize { id } | LineKind::Request { id }) = &self.kind else { return None };
        let id: &RawValue = serde_json::from_str(id).ok()?;
        let mut line = Vec::new();
        jsonrpc::error(&mut line, Some(id), &RpcError::new(code, why));
        Some(line)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    session_id: Option<String>,
}

/// The session that is named among the params, or in a result.
fn named(params: Option<&RawValue>) -> Option<String> {
    serde_json::from_str::<Named>(params?.get()).ok()?.session_id
}

/// Which session each question of the agent's belongs to.
#[derive(Default, Debug)]
pub(super) struct Routes {
    asked: HashMap<String, String>,
}

impl Routes {
    /// Reads a line of ours.
    pub(super) fn says(&mut self, line: &[u8]) -> OurLine {
        let text = String::from_utf8_lossy(line);
        match jsonrpc::read(&text, Version::Optional) {
            Frame::Request { id, method, params } => {
                let id = id.get().to_owned();
                let kind = if method == "initialize" { LineKind::Initialize { id } } else { LineKind::Request { id } };
                OurLine { kind, session: named(params) }
            }
            Frame::Notification { params, .. } => OurLine { kind: LineKind::Notification, session: named(params) },
            Frame::Response { id, .. } => OurLine { kind: LineKind::Answer, session: self.asked.remove(id.get()) },
            Frame::Batch | Frame::Invalid => OurLine { kind: LineKind::Notification, session: None },
        }
    }

    /// Reads a line of the agent's, which came on the stream of this session. A session that it has made is news: it has a
    /// stream from now on.
    pub(super) fn hears(&mut self, line: &[u8], on: Option<&str>) -> Option<String> {
        let text = String::from_utf8_lossy(line);
        match jsonrpc::read(&text, Version::Optional) {
            Frame::Request { id, params, .. } => {
                let session = named(params).or_else(|| on.map(str::to_owned));
                if let Some(session) = session.filter(|_| self.asked.len() < ASKED_MAX) {
                    self.asked.insert(id.get().to_owned(), session);
                }
                None
            }
            Frame::Response { outcome: Ok(result), .. } => named(Some(result)),
            Frame::Response { .. } | Frame::Notification { .. } | Frame::Batch | Frame::Invalid => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_session() {
        let mut routes = Routes::default();
        let says = |routes: &mut Routes, line: &str| {
            let OurLine { kind, session } = routes.says(line.as_bytes());
            let kind = match kind {
                LineKind::Initialize { id } => format!("initialize {id}"),
                LineKind::Request { id } => format!("request {id}"),
                LineKind::Answer => "answer".to_owned(),
                LineKind::Notification => "notification".to_owned(),
            };
            format!("{kind} of {}", session.as_deref().unwrap_or("nobody"))
        };
        for (line, meant) in [
            (r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#, "initialize 0 of nobody"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"session/new","params":{"cwd":"/"}}"#, "request \"a\" of nobody"),
            (r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}"#, "request 2 of s"),
            (r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#, "notification of s"),
            (r#"{"jsonrpc":"2.0","method":"$/x"}"#, "notification of nobody"),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "answer of nobody"),
            ("half a line", "notification of nobody"),
        ] {
            assert_eq!(says(&mut routes, line), meant, "{line}");
        }
        let asks = r#"{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"t"}}"#;
        assert_eq!(routes.hears(asks.as_bytes(), Some("s")), None);
        assert_eq!(routes.hears(br#"{"jsonrpc":"2.0","id":"8","method":"odd"}"#, Some("s")), None);
        assert_eq!(says(&mut routes, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), "answer of t");
        assert_eq!(says(&mut routes, r#"{"jsonrpc":"2.0","id":"8","error":{"code":1,"message":"no"}}"#), "answer of s");
        assert_eq!(says(&mut routes, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), "answer of nobody", "it was answered");
        let made = br#"{"jsonrpc":"2.0","id":"a","result":{"sessionId":"new"}}"#;
        assert_eq!(routes.hears(made, None).as_deref(), Some("new"));
        assert_eq!(routes.hears(br#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#, Some("s")), None);
    }

    #[test]
    fn who_waits_is_told_that_nothing_was_taken() {
        let mut routes = Routes::default();
        let refused = routes.says(br#"{"jsonrpc":"2.0","id":"a","method":"x"}"#).refused(-32603, "no");
        let refused = String::from_utf8(refused.unwrap()).unwrap();
        assert_eq!(refused, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32603,\"message\":\"no\"}}\n");
        assert_eq!(routes.says(br#"{"jsonrpc":"2.0","method":"x"}"#).refused(-32603, "no"), None);
    }
}
