//! Talks `rpc` to the binary as a host does.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};
use testkit::faults::{Asking, Driver, End, Heard, Limits, PATIENCE, Process, World, brief, running, within};

/// A running `rpc`.
pub(crate) struct Rpc {
    process: Process,
    pub(crate) session: String,
    pub(crate) file: Option<PathBuf>,
    requests: u64,
    /// Why the last message ended.
    stop: String,
}

impl Deref for Rpc {
    type Target = Process;
    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for Rpc {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// As much of an update as a flood needs; the message that it repeats is passed over.
#[derive(Deserialize)]
struct Update {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "assistantMessageEvent")]
    event: Option<Growth>,
}

#[derive(Deserialize)]
struct Growth {
    delta: Option<String>,
}

impl Rpc {
    /// Started and `ready`.
    pub(crate) fn new(world: &World, args: &[&str]) -> Self {
        Self::begin(world, args)
    }

    /// Sends a command under a fresh id, which is returned.
    pub(crate) fn request(&mut self, mut command: Value) -> String {
        self.requests += 1;
        let id = format!("req_{}", self.requests);
        command["id"] = id.as_str().into();
        self.send(&command);
        id
    }

    /// A command and its response; what is said in between is passed over.
    pub(crate) fn ask(&mut self, command: Value) -> Value {
        let id = self.request(command);
        let answered = |_: &mut Process, value: &Value| value["type"] == "response" && value["id"] == id.as_str();
        self.process.until_one("response", answered).pop().expect("it was waited for")
    }

    /// As [`Rpc::ask`], of a session where something may be asked of us before the answer comes.
    fn ask_first(&mut self, command: Value) -> Value {
        let id = self.request(command);
        let answered = |_: &mut Process, value: &Value| value["type"] == "response" && value["id"] == id.as_str();
        let mut seen = self.process.until_one("response", answered);
        let answer = seen.pop().expect("it was waited for");
        seen.retain(|value| value["type"] == "extension_ui_request");
        self.process.put_back(&seen);
        answer
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.request(json!({ "type": "prompt", "message": text }));
    }

    /// Everything up to and with the first message of this type.
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Value> {
        self.process.until_one(kind, |_, value| value["type"] == kind)
    }

    /// A whole run and what comes of it by itself.
    pub(crate) fn run(&mut self, text: &str) -> Vec<Value> {
        self.prompt(text);
        self.until("agent_settled")
    }

    /// A whole run that goes well.
    pub(crate) fn good_run(&mut self, text: &str) -> Vec<Value> {
        let seen = self.run(text);
        let end = seen.iter().rev().find(|value| value["type"] == "message_end").expect("something was said");
        assert_eq!(end["message"]["stopReason"], "stop", "{text}: {}", brief(&seen));
        seen
    }
}

impl Driver for Rpc {
    const NAME: &'static str = "rpc";
    /// Updates repeat the whole message, and at the end of a flood three frames have it.
    const LIMITS: Limits = Limits { flood: 20, flood_peak: 256, ..Limits::DEFAULT };
    const REQUESTS: &'static [&'static str] = &[
        r#"{"id":"a","type":"prompt","message":"say 1 word"}"#,
        r#"{"id":7,"type":"get_state"}"#,
        r#"{"type":"abort"}"#,
        r#"{"type":"extension_ui_response","id":"x","confirmed":true}"#,
        "{\"type\":\"steer\",\"message\":\"\u{1f600} \u{2028} é\"}",
    ];

    fn start(command: &mut Command, _: &World) -> Self {
        let process = Process::start(command);
        let mut rpc = Self { process, session: String::new(), file: None, requests: 0, stop: String::new() };
        let ready = rpc.next(PATIENCE).expect("it starts");
        assert_eq!(ready["type"], "ready", "{ready}");
        let state = rpc.ask_first(json!({ "type": "get_state" }));
        rpc.session = state["data"]["sessionId"].as_str().expect("a session has an id").to_owned();
        rpc.file = state["data"]["sessionFile"].as_str().map(PathBuf::from);
        rpc
    }
    /// A path that nothing was said at begins a new session there, so the messages tell whether it was found.
    fn resume(world: &World, handle: &str) -> Option<Self> {
        let mut rpc = Self::new(world, &["--session", handle]);
        let messages = rpc.ask_first(json!({ "type": "get_messages" }));
        let is_there = messages["data"]["messages"].as_array().is_some_and(|messages| !messages.is_empty());
        is_there.then_some(rpc)
    }
    /// The path that `get_state` named: whoever asked for it may come back with it, whether or not there is a file yet.
    fn handle(&self) -> &str {
        self.file.as_deref().and_then(|file| file.to_str()).expect("a session has a file")
    }
    /// The session's own file, which follows its log.
    fn written(&mut self, _: &World) -> String {
        let file = self.file.clone().expect("a session has a file");
        fs::read_to_string(&file).unwrap_or_else(|why| panic!("{}: {why}", file.display()))
    }

    fn prompt_line(&mut self, text: &str) -> String {
        self.requests += 1;
        format!(r#"{{"id":"req_{}","type":"prompt","message":{text}}}"#, self.requests)
    }
    fn interrupt(&mut self) {
        self.request(json!({ "type": "abort" }));
    }
    fn decide(&mut self, asked: &Value, allow: bool) {
        self.send(&json!({ "type": "extension_ui_response", "id": asked["id"], "confirmed": allow }));
    }
    fn hear(&mut self, line: &[u8]) -> Heard {
        let update: Update = serde_json::from_slice(line).expect("every line is JSON and has a type");
        if update.kind == "message_update" {
            let delta = update.event.and_then(|event| event.delta);
            return delta.map_or(Heard::Other, Heard::Text);
        }
        let value = self.read(line);
        match update.kind.as_str() {
            "response" if value["success"] == true => Heard::Taken,
            "response" => Heard::Refused(value),
            "extension_ui_request" if value["method"] == "confirm" => Heard::Asked(value),
            "tool_execution_end" => Heard::Result { failed: value["isError"] == true },
            "message_end" => {
                self.stop = value["message"]["stopReason"].as_str().unwrap_or_default().to_owned();
                Heard::Other
            }
            "agent_settled" => Heard::Ended(match self.stop.as_str() {
                "stop" => End::Done,
                "error" => End::Failed,
                _ => End::Interrupted,
            }),
            _ => Heard::Other,
        }
    }

    fn ping(&mut self) -> Value {
        self.requests += 1;
        json!({ "type": "get_subagents", "id": format!("req_{}", self.requests) })
    }
    fn is_pong(&self, value: &Value, ping: &Value) -> bool {
        value["id"] == ping["id"]
    }
    fn long_ping() -> [&'static str; 2] {
        [r#"{"type":"get_subagents","id":"long","x":""#, r#""}"#]
    }
    fn is_refusal(value: &Value) -> bool {
        value["type"] == "response" && value["success"] == false
    }
    fn is_too_long(refusal: &Value) -> bool {
        let error = refusal["error"].as_str().unwrap_or_default();
        refusal["command"] == "parse" && error.contains("the line is longer than")
    }
    fn is_refused(request: &Value) -> bool {
        super::serve::has_no_type(request)
    }

    /// A command of the user's own.
    fn busy_in_its_way(&mut self, _: &World, mark: &str) {
        self.request(json!({ "type": "bash", "command": format!("sleep {mark}") }));
        assert!(within(PATIENCE, || !running(mark).is_empty()).is_some(), "it never came up");
    }
    fn check_idle(&mut self) {
        let state = self.ask(json!({ "type": "get_state" }));
        assert_eq!(state["data"]["isStreaming"], false, "{state}");
    }
}

impl Asking for Rpc {
    const TELLS_LATE_ANSWERS: bool = false;

    fn id_of(asked: &Value) -> Value {
        asked["id"].clone()
    }
    fn strange_ids() -> Vec<Value> {
        ["", "ask1", "../x", "\u{0}", "null", "*"].map(Value::from).into()
    }
    /// Answers that nobody waits for are passed over without a word.
    fn stray(&mut self, id: &Value) {
        self.send(&Self::yes(id));
        let seen = self.answered();
        assert_eq!(seen.len(), 1, "{id}: {}", brief(&seen));
    }
    fn yes(id: &Value) -> Value {
        json!({ "type": "extension_ui_response", "id": id, "confirmed": true })
    }
    fn no_answers(id: &Value) -> Vec<Value> {
        vec![json!({ "type": "extension_ui_response", "id": id })]
    }
}
