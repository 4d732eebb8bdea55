//! Talks `acp` to the binary as a client does.

use std::ops::{Deref, DerefMut};
use std::process::Command;

use serde_json::{Value, json};
use testkit::faults::{Asking, Driver, End, Heard, Limits, Process, World, brief};

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
    /// Started and initialized, without a session.
    fn greeted(command: &mut Command) -> Self {
        let process = Process::speaking(command, is_message);
        let mut acp = Self { process, session: String::new(), requests: 0, prompt: 0 };
        acp.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        acp
    }

    /// Started, with a session.
    pub(crate) fn new(world: &World, args: &[&str]) -> Self {
        Self::begin(world, args)
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
}

impl Driver for Acp {
    const NAME: &'static str = "acp";
    /// Clients of the official kit send up to 32 MiB, and that is heard.
    const LIMITS: Limits = Limits { line: 48, line_growth: 256, ..Limits::DEFAULT };
    const REQUESTS: &'static [&'static str] = &[
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"x","prompt":[{"type":"text","text":"say 1 word"}]}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"session/list","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"session/cancel","params":{"sessionId":"x"}}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":\"\u{1f600}\",\"method\":\"session/new\",\"params\":{\"cwd\":\"\u{2028} é\"}}",
    ];

    fn start(command: &mut Command, world: &World) -> Self {
        let mut acp = Self::greeted(command);
        acp.create(world);
        acp
    }
    fn resume(world: &World, handle: &str) -> Option<Self> {
        let mut command = world.dialect_command(Self::NAME, &[], &[]);
        let mut acp = Self::greeted(command.stderr(world.stderr_log()));
        let params = json!({ "sessionId": handle, "cwd": world.workspace, "mcpServers": [] });
        let id = acp.request("session/load", params);
        let mut seen = acp.answer(id);
        let loaded = seen.pop().expect("it was waited for");
        // What was open is asked again.
        seen.retain(|value| value["method"] == "session/request_permission");
        acp.put_back(&seen);
        if loaded["error"]["code"] == -32002 {
            return None;
        }
        assert!(loaded["result"].is_object(), "{loaded}");
        acp.session = handle.to_owned();
        Some(acp)
    }
    fn handle(&self) -> &str {
        &self.session
    }
    fn written(&mut self, world: &World) -> String {
        world.exported(&self.session)
    }

    fn prompt_line(&mut self, text: &str) -> String {
        self.requests += 1;
        self.prompt = self.requests;
        let (id, session) = (self.requests, &self.session);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/prompt","params":{{"sessionId":"{session}","prompt":[{{"type":"text","text":{text}}}]}}}}"#
        )
    }
    fn interrupt(&mut self) {
        let params = json!({ "sessionId": self.session });
        self.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
    }
    fn decide(&mut self, asked: &Value, allow: bool) {
        self.send(&decision(&asked["id"], if allow { "allow_once" } else { "deny" }));
    }
    /// A prompt has no acknowledgement of its own: what is told of its turn says that it was taken.
    fn hear(&mut self, line: &[u8]) -> Heard {
        let mut value = self.read(line);
        if value.get("method").is_none() {
            return match value["id"] == self.prompt {
                true => Heard::Ended(match value["result"]["stopReason"].as_str() {
                    Some("end_turn") => End::Done,
                    Some("cancelled") => End::Interrupted,
                    _ => End::Failed,
                }),
                false if Self::is_refusal(&value) => Heard::Refused(value),
                false => Heard::Other,
            };
        }
        if asks(&value) {
            return Heard::Asked(value);
        }
        match tag(&value) {
            "agent_message_chunk" => match value["params"]["update"]["content"]["text"].take() {
                Value::String(text) => Heard::Text(text),
                _ => Heard::Taken,
            },
            "agent_thought_chunk" | "tool_call" => Heard::Taken,
            "tool_call_update" => match value["params"]["update"]["status"].as_str() {
                Some("completed") => Heard::Result { failed: false },
                Some("failed") => Heard::Result { failed: true },
                _ => Heard::Other,
            },
            _ => Heard::Other,
        }
    }

    fn ping(&mut self) -> Value {
        self.requests += 1;
        json!({ "jsonrpc": "2.0", "id": self.requests, "method": "ping", "params": {} })
    }
    fn is_pong(&self, value: &Value, ping: &Value) -> bool {
        value["id"] == ping["id"] && value.get("method").is_none()
    }
    fn long_ping() -> [&'static str; 2] {
        [r#"{"jsonrpc":"2.0","id":null,"method":"ping","params":""#, r#""}"#]
    }
    fn is_refusal(value: &Value) -> bool {
        value["error"].is_object()
    }
    fn is_too_long(refusal: &Value) -> bool {
        let message = refusal["error"]["message"].as_str().unwrap_or_default();
        refusal["error"]["code"] == -32600 && message.contains("the line is longer than")
    }
    /// The version may be missing, but not another.
    fn is_refused(request: &Value) -> bool {
        request.get("jsonrpc").is_some_and(|version| version != "2.0")
    }

    /// Another session of the same process has the command.
    fn busy_in_its_way(&mut self, world: &World, mark: &str) {
        self.create(world);
        crate::flow::busy(self, "sleep MARK", mark);
    }
    fn settle(&mut self) {
        self.until("usage_update");
    }
}

/// The agent asks whether a call may run.
pub(crate) fn asks(value: &Value) -> bool {
    value["method"] == "session/request_permission"
}

fn decision(id: &Value, option: &str) -> Value {
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
    json!({ "jsonrpc": "2.0", "id": id, "result": outcome })
}

impl Asking for Acp {
    const TELLS_LATE_ANSWERS: bool = false;

    fn id_of(asked: &Value) -> Value {
        asked["id"].clone()
    }
    /// The number that comes first is among them.
    fn strange_ids() -> Vec<Value> {
        vec![json!(0), json!(1), json!("0"), json!(-1), json!(null), json!("")]
    }
    fn near_ids(id: &Value) -> Vec<Value> {
        vec![json!(id.to_string()), json!(id.as_u64().expect("ids are numbers") + 1), json!([id]), json!(0.5)]
    }
    /// Passed over; what a yes of that kind would do is seen in the workspace.
    fn stray(&mut self, id: &Value) {
        self.send(&Self::yes(id));
    }
    fn yes(id: &Value) -> Value {
        decision(id, "allow_once")
    }
    fn no_answers(_: &Value) -> Vec<Value> {
        Vec::new()
    }
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
