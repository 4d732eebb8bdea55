//! Talks `rpc` to the binary as a host does.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::driver::{PATIENCE, World, brief};
use crate::log::{Controller, Meaning};
use crate::process::Process;

/// A running `rpc`.
pub(crate) struct Rpc {
    process: Process,
    pub(crate) session: String,
    pub(crate) file: Option<PathBuf>,
    requests: u64,
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

impl Rpc {
    /// Started and `ready`.
    pub(crate) fn new(world: &World, args: &[&str]) -> Self {
        let mut command = world.dialect_command("rpc", &[], args);
        let process = Process::start(command.stderr(world.stderr_log()));
        let mut rpc = Self { process, session: String::new(), file: None, requests: 0 };
        let ready = rpc.next(PATIENCE).expect("it starts");
        assert_eq!(ready["type"], "ready", "{ready}");
        let state = rpc.ask(json!({ "type": "get_state" }));
        rpc.session = state["data"]["sessionId"].as_str().expect("a session has an id").to_owned();
        rpc.file = state["data"]["sessionFile"].as_str().map(PathBuf::from);
        rpc
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

    /// Leaves in order.
    pub(crate) fn shutdown(mut self) {
        self.leave();
    }
}

impl Controller for Rpc {
    /// A path that nothing was said at begins a new session there, so the messages tell whether it was found.
    fn begin(world: &World, session: Option<&str>) -> Option<Self> {
        let Some(session) = session else { return Some(Self::new(world, &[])) };
        let mut rpc = Self::new(world, &["--session", session]);
        let messages = rpc.ask(json!({ "type": "get_messages" }));
        let is_there = messages["data"]["messages"].as_array().is_some_and(|messages| !messages.is_empty());
        is_there.then_some(rpc)
    }
    /// The path that `get_state` named: whoever asked for it may come back with it, whether or not there is a file yet.
    fn session(&self) -> &str {
        self.file.as_deref().and_then(|file| file.to_str()).expect("a session has a file")
    }
    fn process(&mut self) -> &mut Process {
        &mut self.process
    }
    fn say(&mut self, prompt: &str) {
        self.prompt(prompt);
    }
    fn meaning(&mut self, message: &Value) -> Meaning {
        match message["type"].as_str() {
            Some("response") if message["success"] == true => Meaning::Acknowledged,
            Some("agent_settled") => Meaning::Ended,
            _ => Meaning::Nothing,
        }
    }
    fn whole_turn(&mut self, prompt: &str) {
        self.good_run(prompt);
    }
    /// The session's own file, which follows its log.
    fn written(&mut self, _: &World) -> String {
        let file = self.file.clone().expect("a session has a file");
        fs::read_to_string(&file).unwrap_or_else(|why| panic!("{}: {why}", file.display()))
    }
}

#[test]
fn d1_what_rpc_acknowledged_survives_a_kill_at_any_moment() {
    crate::log::survives_kills::<Rpc>("rpc");
}
