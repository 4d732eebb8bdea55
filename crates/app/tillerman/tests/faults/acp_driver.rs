//! Talks `acp` to the binary as a client does.

use std::fs;
use std::ops::{Deref, DerefMut};

use serde_json::{Value, json};

use crate::driver::{World, brief};
use crate::log::{Controller, Meaning};
use crate::process::Process;

/// A running `acp` with one session.
pub(crate) struct Acp {
    process: Process,
    pub(crate) session: String,
    requests: u64,
    /// The prompt that was sent last.
    prompt: u64,
}

impl Deref for Acp {
    type Target = Process;
    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for Acp {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// A response with an id and one of result and error; a request of the agent; a notification.
fn is_message(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    let response = has("id") && (has("result") != has("error")) && !has("method");
    let call = value["method"].is_string() && value["params"].is_object() && !has("result") && !has("error");
    value["jsonrpc"] == "2.0" && (response || call)
}

/// The tag of an update.
pub(crate) fn tag(value: &Value) -> &str {
    value["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default()
}

impl Acp {
    pub(crate) fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.dialect_command("acp", &[], args);
        let process = Process::speaking(command.stderr(world.stderr_log()), is_message);
        let mut acp = Self { process, session: String::new(), requests: 0, prompt: 0 };
        acp.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        acp
    }

    pub(crate) fn new(world: &World, args: &[&str]) -> Self {
        let mut acp = Self::start(world, args);
        acp.create(world);
        acp
    }

    pub(crate) fn create(&mut self, world: &World) {
        let created = self.ask("session/new", json!({ "cwd": world.workspace, "mcpServers": [] }));
        self.session = created["result"]["sessionId"].as_str().expect("a session has an id").to_owned();
    }

    /// Sends a request under a fresh id, which is returned.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params });
        self.send(&request);
        self.requests
    }

    pub(crate) fn cancel(&mut self) {
        let params = json!({ "sessionId": self.session });
        self.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
    }

    /// Everything up to and with the response to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Vec<Value> {
        self.process.until_one("response", |_, value| value["id"] == id && value.get("method").is_none())
    }

    /// A request and its response; what is said in between is passed over.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id).pop().expect("it was waited for")
    }

    pub(crate) fn prompt(&mut self, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.prompt = self.request("session/prompt", json!({ "sessionId": self.session, "prompt": prompt }));
        self.prompt
    }

    /// Everything up to and with the first update of this kind.
    pub(crate) fn until(&mut self, wanted: &str) -> Vec<Value> {
        self.process.until_one(wanted, |_, value| tag(value) == wanted)
    }

    /// A whole turn that goes well.
    pub(crate) fn good_turn(&mut self, text: &str) -> Vec<Value> {
        let id = self.prompt(text);
        let seen = self.answer(id);
        let end = seen.last().expect("it was waited for");
        assert_eq!(end["result"]["stopReason"], "end_turn", "{text}: {}", brief(&seen));
        seen
    }

    /// Leaves in order.
    pub(crate) fn shutdown(mut self) {
        self.leave();
    }
}

/// All text of a turn's chunks.
pub(crate) fn said(seen: &[Value]) -> String {
    let chunks = seen.iter().filter(|value| tag(value) == "agent_message_chunk");
    chunks.filter_map(|value| value["params"]["update"]["content"]["text"].as_str()).collect()
}

impl Controller for Acp {
    fn begin(world: &World, session: Option<&str>) -> Option<Self> {
        let mut acp = Self::start(world, &[]);
        match session {
            None => acp.create(world),
            Some(session) => {
                let params = json!({ "sessionId": session, "cwd": world.workspace, "mcpServers": [] });
                let loaded = acp.ask("session/load", params);
                if loaded["error"]["code"] == -32002 {
                    return None;
                }
                assert!(loaded["result"].is_object(), "{loaded}");
                acp.session = session.to_owned();
            }
        }
        Some(acp)
    }
    fn session(&self) -> &str {
        &self.session
    }
    fn process(&mut self) -> &mut Process {
        &mut self.process
    }
    fn say(&mut self, prompt: &str) {
        self.prompt(prompt);
    }
    /// A prompt has no acknowledgement of its own: what is told of its turn says that it was taken.
    fn meaning(&mut self, message: &Value) -> Meaning {
        if message["id"] == self.prompt && message.get("method").is_none() {
            return Meaning::Ended;
        }
        if message["method"] == "session/request_permission" {
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
            self.process.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": outcome }));
        }
        match tag(message) {
            "agent_message_chunk" | "agent_thought_chunk" | "tool_call" => Meaning::Acknowledged,
            _ => Meaning::Nothing,
        }
    }
    fn whole_turn(&mut self, prompt: &str) {
        self.good_turn(prompt);
    }
    fn written(&mut self, world: &World) -> String {
        let export = world.root().join("out.jsonl");
        let mut command = world.command(&[]);
        command.args(["sessions", "export", &self.session]).arg(&export);
        let ran = command.output().expect("the binary starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        fs::read_to_string(&export).unwrap()
    }
}

#[test]
fn d1_what_acp_acknowledged_survives_a_kill_at_any_moment() {
    crate::log::survives_kills::<Acp>("acp");
}

#[test]
fn what_is_a_message_of_this_dialect_is_told_from_what_is_none() {
    let read = |text: &str| is_message(&serde_json::from_str(text).unwrap());
    assert!(read(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#));
    assert!(read(r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{}}"#));
    assert!(read(r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#));
    assert!(!read(r#"{"jsonrpc":"2.0","result":1}"#));
    assert!(!read(r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#));
    assert!(!read(r#"{"id":1,"result":1}"#));
}
