//! What holds for every conversation, whatever is said in it. Each line that goes over the wire is looked at here, and the
//! client's side of it is kept: what it was asked, and which terminals it has.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

/// Updates that belong to a turn.
const OF_A_TURN: [&str; 4] = ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"];

#[derive(Default)]
pub(crate) struct Watch {
    /// Requests of the client without a response: method and session.
    open: BTreeMap<u64, (String, String)>,
    known: HashSet<String>,
    /// Calls that were announced and have not ended, by session.
    calls: HashMap<String, BTreeSet<String>>,
    /// What the client was asked and has neither answered nor been told to forget.
    pub(crate) asked: BTreeMap<u64, Value>,
    asked_before: HashSet<u64>,
    pub(crate) terminals: BTreeSet<String>,
    released: HashSet<String>,
    /// Whether the client has said that it does editor_requests.
    pub(crate) helps: bool,
    /// The store does not fail. Where it does, a turn of a prompt that was told as lost may begin and is stopped at once.
    pub(crate) sound: bool,
}

impl Watch {
    pub(crate) fn new(helps: bool, sound: bool) -> Self {
        Self { helps, sound, ..Self::default() }
    }

    pub(crate) fn asks(&mut self, id: u64, method: &str, session: &str) {
        self.open.insert(id, (method.to_owned(), session.to_owned()));
    }

    pub(crate) fn see(&mut self, line: &Value) {
        assert_eq!(line["jsonrpc"], "2.0", "{line}");
        match (line.get("method").and_then(Value::as_str), line.get("id")) {
            (None, _) => self.response(line),
            (Some("session/update"), None) => self.update(line),
            (Some("$/cancel_request"), None) => {
                let id = line["params"]["requestId"].as_u64().unwrap();
                self.asked.remove(&id).unwrap_or_else(|| panic!("nobody asked or it is over: {line}"));
            }
            (Some(method), Some(id)) => self.asked_for(method, id.as_u64().unwrap(), line),
            _ => panic!("no notification of ours: {line}"),
        }
    }

    fn response(&mut self, line: &Value) {
        let id = line["id"].as_u64().unwrap_or_else(|| panic!("no id of ours: {line}"));
        let (method, session) =
            self.open.remove(&id).unwrap_or_else(|| panic!("answered twice or never asked: {line}"));
        assert_ne!(line.get("result").is_some(), line.get("error").is_some(), "{line}");
        if let Some(session) = line["result"]["sessionId"].as_str() {
            self.known.insert(session.to_owned());
        }
        if method == "session/prompt" && line["result"]["usage"].is_object() && !self.prompting(&session) {
            let left = self.calls.remove(&session).unwrap_or_default();
            assert!(left.is_empty(), "calls that have not ended: {left:?} at {line}");
            let asked =
                |it: &&Value| it["method"] == "session/request_permission" && it["params"]["sessionId"] == *session;
            assert_eq!(self.asked.values().find(asked), None, "a question outlives its turn: {line}");
        }
    }

    fn prompting(&self, session: &str) -> bool {
        self.open.values().any(|(method, on)| method == "session/prompt" && on == session)
    }

    fn update(&mut self, line: &Value) {
        let session = line["params"]["sessionId"].as_str().unwrap();
        let update = &line["params"]["update"];
        let tag = update["sessionUpdate"].as_str().unwrap();
        let loading = self.open.values().any(|(method, on)| method == "session/load" && on == session);
        assert!(self.known.contains(session) || loading, "its client does not know the session: {line}");
        if self.sound && OF_A_TURN.contains(&tag) {
            assert!(loading || self.prompting(session), "behind the answer to its prompt: {line}");
        }
        if loading && !self.prompting(session) {
            return;
        }
        let calls = self.calls.entry(session.to_owned()).or_default();
        let call = update["toolCallId"].as_str().unwrap_or_default();
        match (tag, update["status"].as_str()) {
            ("tool_call", _) => drop(calls.insert(call.to_owned())),
            ("tool_call_update", Some("completed" | "failed")) => {
                assert!(calls.remove(call) || loading || !self.sound, "it was not announced, or has ended: {line}");
            }
            ("tool_call_update", status) => {
                assert_eq!(status, Some("in_progress"), "{line}");
                assert!(calls.contains(call) || loading || !self.sound, "it was not announced, or has ended: {line}");
            }
            _ => {}
        }
    }

    fn asked_for(&mut self, method: &str, id: u64, line: &Value) {
        assert!(self.asked_before.insert(id), "a number twice: {line}");
        assert!(self.helps || method == "session/request_permission", "it was not offered: {line}");
        if method == "terminal/release" {
            let terminal = line["params"]["terminalId"].as_str().unwrap();
            assert!(self.terminals.remove(terminal), "no such terminal: {line}");
            self.released.insert(terminal.to_owned());
        }
        self.asked.insert(id, line.clone());
    }

    /// Nothing is left open on either side.
    pub(crate) fn at_rest(&self) {
        assert_eq!(self.open, BTreeMap::new(), "requests without an answer");
        assert_eq!(self.terminals, BTreeSet::new(), "terminals that were not released");
        let open: Vec<&Value> = self.asked.values().filter(|it| it["method"] == "session/request_permission").collect();
        assert_eq!(open, Vec::<&Value>::new(), "questions that were not closed");
    }
}
