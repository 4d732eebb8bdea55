//! Talks `loaf` to the binary as a client does.

use std::ops::{Deref, DerefMut};
use std::process::Command;

use serde_json::{Value, json};
use testkit::faults::{Driver, End, Heard, Process, World, brief};

/// There is one saved chat in a world, so the newest is the one.
const LAST: &str = "last";

/// A running `loaf` with one session.
pub(crate) struct Loaf {
    process: Process,
    pub(crate) session: String,
    requests: u64,
    /// How the turn went, which is told before nothing runs any more.
    end: Option<End>,
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
    /// Started, with a session.
    pub(crate) fn new(world: &World, args: &[&str]) -> Self {
        Self::begin(world, args)
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

    /// A whole turn.
    pub(crate) fn turn(&mut self, text: &str) -> Vec<Value> {
        self.say(text);
        self.process.until_one("the end of a turn", |_, value| is_ready(value))
    }

    /// A whole turn that goes well.
    pub(crate) fn good_turn(&mut self, text: &str) -> Vec<Value> {
        let seen = self.turn(text);
        assert!(seen.iter().any(|value| kind(value) == "session.completed"), "{text}: {}", brief(&seen));
        seen
    }
}

impl Driver for Loaf {
    const NAME: &'static str = "loaf";
    const REQUESTS: &'static [&'static str] = &[
        r#"{"jsonrpc":"2.0","id":1,"method":"session.send","params":{"session_id":"x","text":"say 1 word"}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"system.ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"state.get","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"session.interrupt","params":{"session_id":"x"}}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":\"\u{1f600}\",\"method\":\"session.steer\",\"params\":{\"text\":\"\u{2028} é\"}}",
    ];

    fn start(command: &mut Command, _: &World) -> Self {
        let process = Process::speaking(command, is_message);
        let mut loaf = Self { process, session: String::new(), requests: 0, end: None };
        let created = loaf.ask("session.create", json!({}));
        loaf.session = created["result"]["session_id"].as_str().expect("a session has an id").to_owned();
        loaf
    }
    fn resume(world: &World, _: &str) -> Option<Self> {
        let mut loaf = Self::new(world, &[]);
        let resumed = loaf.ask("command.execute", json!({ "raw_command": "/history last" }));
        if resumed["error"]["data"]["reason"] == "history_not_found" {
            return None;
        }
        assert!(resumed["result"]["output"]["resumed"].is_string(), "{resumed}");
        Some(loaf)
    }
    fn handle(&self) -> &str {
        LAST
    }
    /// What the store has. `history.get` would leave out prompts that nothing came of.
    fn written(&mut self, world: &World) -> String {
        let state = self.ask("session.get", json!({}));
        world.exported(state["result"]["activeSessionId"].as_str().expect("a chat is active"))
    }

    fn prompt_line(&mut self, text: &str) -> String {
        self.requests += 1;
        let (id, session) = (self.requests, &self.session);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session.send","params":{{"session_id":"{session}","text":{text}}}}}"#
        )
    }
    fn interrupt(&mut self) {
        self.request("session.interrupt", json!({}));
    }
    fn decide(&mut self, asked: &Value, _: bool) {
        panic!("loaf asks nobody: {asked}");
    }
    fn hear(&mut self, line: &[u8]) -> Heard {
        let mut value = self.read(line);
        if value["result"]["accepted"] == true {
            return Heard::Taken;
        }
        if Self::is_refusal(&value) {
            return Heard::Refused(value);
        }
        if is_ready(&value) {
            return self.end.take().map_or(Heard::Other, Heard::Ended);
        }
        match kind(&value) {
            "session.stream.chunk" => {
                if let Value::String(text) = value["params"]["payload"]["chunk"]["answerText"].take() {
                    return Heard::Text(text);
                }
            }
            "session.completed" => self.end = Some(End::Done),
            "session.interrupted" => self.end = Some(End::Interrupted),
            "session.error" => self.end = Some(End::Failed),
            _ => {}
        }
        Heard::Other
    }

    fn ping(&mut self) -> Value {
        self.requests += 1;
        json!({ "jsonrpc": "2.0", "id": self.requests, "method": "system.ping", "params": [] })
    }
    fn is_pong(&self, value: &Value, ping: &Value) -> bool {
        value["id"] == ping["id"]
    }
    fn long_ping() -> [&'static str; 2] {
        [r#"{"jsonrpc":"2.0","id":null,"method":"system.ping","params":""#, r#""}"#]
    }
    fn is_refusal(value: &Value) -> bool {
        value["error"].is_object()
    }
    fn is_too_long(refusal: &Value) -> bool {
        refusal["error"]["code"] == -32600 && refusal["error"]["data"]["reason"] == "line_too_long"
    }
    /// An object without an id may be a notification, which is passed over; one of another version never is a request.
    fn is_refused(request: &Value) -> bool {
        request.get("id").is_some() && request["jsonrpc"] != "2.0"
    }

    /// Another session of the same process has the command.
    fn busy_in_its_way(&mut self, _: &World, mark: &str) {
        let created = self.ask("session.create", json!({}));
        self.session = created["result"]["session_id"].as_str().expect("a session has an id").to_owned();
        crate::flow::busy(self, "sleep MARK", mark);
    }
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
