//! Talks `loaf` to the binary as a client does.

use std::fs;
use std::ops::{Deref, DerefMut};

use serde_json::{Value, json};

use crate::driver::{World, brief};
use crate::log::{Controller, Meaning};
use crate::process::Process;

/// There is one saved chat in a world, so the newest is the one.
const LAST: &str = "last";

/// A running `loaf` with one session.
pub(crate) struct Loaf {
    process: Process,
    pub(crate) session: String,
    requests: u64,
}

impl Deref for Loaf {
    type Target = Process;
    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for Loaf {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// A response with an id and one of result and error, or an event.
fn is_message(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    let response = has("id") && (has("result") != has("error")) && !has("method");
    let event = value["method"] == "event" && value["params"]["type"].is_string() && !has("id");
    value["jsonrpc"] == "2.0" && (response || event)
}

/// The type of an event.
pub(crate) fn kind(value: &Value) -> &str {
    value["params"]["type"].as_str().unwrap_or_default()
}

pub(crate) fn payload(value: &Value) -> &Value {
    &value["params"]["payload"]
}

/// Nothing runs any more: the last word of a turn.
pub(crate) fn is_ready(value: &Value) -> bool {
    kind(value) == "session.status" && payload(value)["pending"] == false
}

impl Loaf {
    pub(crate) fn new(world: &World, args: &[&str]) -> Self {
        let mut command = world.dialect_command("loaf", &[], args);
        let process = Process::speaking(command.stderr(world.stderr_log()), is_message);
        let mut loaf = Self { process, session: String::new(), requests: 0 };
        let created = loaf.ask("session.create", json!({}));
        loaf.session = created["result"]["session_id"].as_str().expect("a session has an id").to_owned();
        loaf
    }

    /// Sends a request under a fresh id, which is returned.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.requests += 1;
        if !self.session.is_empty() && params.is_object() {
            params["session_id"] = self.session.as_str().into();
        }
        let request = json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params });
        self.send(&request);
        self.requests
    }

    /// Everything up to and with the response to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Vec<Value> {
        self.process.until_one("response", |_, value| value["id"] == id)
    }

    /// A request and its response; what is said in between is passed over.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id).pop().expect("it was waited for")
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.request("session.send", json!({ "text": text }));
    }

    /// Everything up to and with the first event of this type.
    pub(crate) fn until(&mut self, wanted: &str) -> Vec<Value> {
        self.process.until_one(wanted, |_, value| kind(value) == wanted)
    }

    /// A whole turn.
    pub(crate) fn turn(&mut self, text: &str) -> Vec<Value> {
        self.prompt(text);
        self.process.until_one("the end of a turn", |_, value| is_ready(value))
    }

    /// A whole turn that goes well.
    pub(crate) fn good_turn(&mut self, text: &str) -> Vec<Value> {
        let seen = self.turn(text);
        assert!(seen.iter().any(|value| kind(value) == "session.completed"), "{text}: {}", brief(&seen));
        seen
    }

    /// Leaves in order.
    pub(crate) fn shutdown(mut self) {
        self.leave();
    }
}

/// All text of a turn's chunks.
pub(crate) fn said(seen: &[Value]) -> String {
    seen.iter().filter_map(|value| payload(value)["chunk"]["answerText"].as_str()).collect()
}

impl Controller for Loaf {
    fn begin(world: &World, session: Option<&str>) -> Option<Self> {
        let mut loaf = Self::new(world, &[]);
        if session.is_some() {
            let resumed = loaf.ask("command.execute", json!({ "raw_command": "/history last" }));
            if resumed["error"]["data"]["reason"] == "history_not_found" {
                return None;
            }
            assert!(resumed["result"]["output"]["resumed"].is_string(), "{resumed}");
        }
        Some(loaf)
    }
    fn session(&self) -> &str {
        LAST
    }
    fn process(&mut self) -> &mut Process {
        &mut self.process
    }
    fn say(&mut self, prompt: &str) {
        self.prompt(prompt);
    }
    fn meaning(&mut self, message: &Value) -> Meaning {
        if message["result"]["accepted"] == true {
            return Meaning::Acknowledged;
        }
        if is_ready(message) { Meaning::Ended } else { Meaning::Nothing }
    }
    fn whole_turn(&mut self, prompt: &str) {
        self.good_turn(prompt);
    }
    /// What the store has. `history.get` would leave out prompts that nothing came of.
    fn written(&mut self, world: &World) -> String {
        let state = self.ask("session.get", json!({}));
        let chat = state["result"]["activeSessionId"].as_str().expect("a chat is active").to_owned();
        let export = world.root().join("out.jsonl");
        let mut command = world.command(&[]);
        command.args(["sessions", "export", &chat]).arg(&export);
        let ran = command.output().expect("the binary starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        fs::read_to_string(&export).unwrap()
    }
}

#[test]
fn d1_what_loaf_acknowledged_survives_a_kill_at_any_moment() {
    crate::log::survives_kills::<Loaf>("loaf");
}

#[test]
fn what_is_a_message_of_this_dialect_is_told_from_what_is_none() {
    let read = |text: &str| is_message(&serde_json::from_str(text).unwrap());
    assert!(read(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#));
    assert!(read(r#"{"jsonrpc":"2.0","method":"event","params":{"type":"x"}}"#));
    assert!(!read(r#"{"jsonrpc":"2.0","result":1}"#));
    assert!(!read(r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#));
    assert!(!read(r#"{"id":1,"result":1}"#));
}
