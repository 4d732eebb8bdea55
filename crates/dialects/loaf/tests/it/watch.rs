//! What holds for every conversation, whatever is said in it. Each line that the dialect writes is looked at here.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

const TERMINAL: [&str; 3] = ["session.completed", "session.interrupted", "session.error"];

#[derive(Default)]
pub(crate) struct Watch {
    asked: HashMap<String, usize>,
    /// Responses without an id that was asked for.
    pub(crate) unasked: usize,
    message: u64,
    /// Turns that were prepared, by session.
    pub(crate) running: HashMap<String, String>,
    ended: HashSet<String>,
    /// Sessions that a terminal event was told for, and no `ready` yet.
    owes_ready: HashSet<String>,
}

impl Watch {
    pub(crate) fn asks(&mut self, id: &Value) {
        *self.asked.entry(id.to_string()).or_default() += 1;
    }

    pub(crate) fn see(&mut self, line: &Value) {
        assert_eq!(line["jsonrpc"], "2.0", "{line}");
        let Some(params) = line.get("params") else { return self.response(line) };
        assert_eq!(line["method"], "event", "{line}");
        assert_eq!(line.as_object().unwrap().len(), 3, "{line}");
        assert_eq!(params.as_object().unwrap().len(), 3, "{line}");
        let stamp = params["timestamp"].as_str().unwrap();
        assert!(stamp.len() == 24 && stamp.ends_with('Z'), "{line}");
        self.event(params["type"].as_str().unwrap(), &params["payload"], line);
    }

    fn response(&mut self, line: &Value) {
        let members = line.as_object().unwrap();
        assert_eq!(members.len(), 3, "{line}");
        assert_ne!(members.contains_key("result"), members.contains_key("error"), "{line}");
        if let Some(error) = members.get("error") {
            assert!(error["code"].is_i64() && error["message"].is_string(), "{line}");
            assert!(error["data"]["reason"].is_string(), "{line}");
        }
        match self.asked.get_mut(&line["id"].to_string()) {
            Some(open) if *open > 0 => *open -= 1,
            _ if line["id"].is_null() => self.unasked += 1,
            _ => panic!("answered twice or never asked: {line}"),
        }
    }

    fn event(&mut self, kind: &str, payload: &Value, line: &Value) {
        let session = payload["session_id"].as_str().unwrap_or_default().to_owned();
        let turn = payload["turn_id"].as_str().unwrap_or_default().to_owned();
        match kind {
            "session.message.appended" => {
                let id = payload["message"]["id"].as_u64().unwrap();
                assert!(id > self.message, "numbers never repeat: {line}");
                self.message = id;
            }
            "session.status" => self.status(session, turn, payload, line),
            "session.context.estimate" => {
                let parts: u64 =
                    payload["breakdown"].as_object().unwrap().values().map(|it| it.as_u64().unwrap()).sum();
                assert_eq!(payload["total_tokens_estimate"], parts, "{line}");
            }
            "session.stream.chunk"
            | "session.tool.call.started"
            | "session.tool.call.completed"
            | "session.tool.results" => {
                assert_eq!(self.running.get(&session), Some(&turn), "not of the running turn: {line}");
            }
            kind if TERMINAL.contains(&kind) => {
                assert!(self.ended.insert(turn.clone()), "a second end: {line}");
                if self.running.get(&session) == Some(&turn) {
                    self.running.remove(&session);
                }
                self.owes_ready.insert(session);
            }
            _ => {}
        }
    }

    fn status(&mut self, session: String, turn: String, payload: &Value, line: &Value) {
        let label = payload["status_label"].as_str().unwrap();
        assert_eq!(payload["pending"], label != "ready", "{line}");
        match label {
            "ready" => {
                assert!(!self.running.contains_key(&session), "ready in a turn: {line}");
                self.owes_ready.remove(&session);
                assert!(payload.get("turn_id").is_none(), "{line}");
            }
            "preparing..." => {
                assert!(!self.owes_ready.contains(&session), "no ready before the next turn: {line}");
                assert!(!self.ended.contains(&turn), "it has ended: {line}");
                let before = self.running.insert(session, turn);
                assert_eq!(before, None, "two turns at once: {line}");
            }
            _ => {}
        }
    }

    pub(crate) fn answered(&self) {
        let open: Vec<_> = self.asked.iter().filter(|(_, open)| **open > 0).collect();
        assert!(open.is_empty(), "never answered: {open:?}");
    }

    /// Everybody was answered and everything has come to its end.
    pub(crate) fn at_rest(&self) {
        self.answered();
        assert!(self.running.is_empty(), "still running: {:?}", self.running);
        assert!(self.owes_ready.is_empty(), "no ready for {:?}", self.owes_ready);
    }
}
