//! Talks `serve` to the binary as a controller does.

use std::ops::{Deref, DerefMut};
use std::process::Command;

use serde_json::{Value, json};
use testkit::faults::{Asking, Driver, End, Heard, PATIENCE, Process, World, brief};

/// A running `serve`.
pub(crate) struct Serve {
    process: Process,
    pub(crate) session: String,
}

impl Deref for Serve {
    type Target = Process;
    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for Serve {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

impl Serve {
    /// Started and `ready`.
    pub(crate) fn new(world: &World, args: &[&str]) -> Self {
        Self::begin(world, args)
    }

    /// Started, not yet greeted; stderr goes to a file.
    pub(crate) fn spawn(world: &World, args: &[&str]) -> Self {
        Self::spawn_in(world, &[], args)
    }

    pub(crate) fn spawn_in(world: &World, wrapper: &[&str], args: &[&str]) -> Self {
        Self::of(world.dialect_command("serve", wrapper, args).stderr(world.stderr_log()))
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        Self { process: Process::start(command), session: String::new() }
    }

    pub(crate) fn ready(&mut self) -> Value {
        let ready = self.next(PATIENCE).expect("the first line");
        assert_eq!(ready["type"], "ready", "{ready}");
        self.session = ready["session_id"].as_str().unwrap().to_owned();
        ready
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.send(&json!({ "type": "prompt", "text": text }));
    }

    pub(crate) fn answer(&mut self, request: &Value, decision: &str) {
        self.send(&json!({ "type": "permission_response", "request_id": request["request_id"], "decision": decision }));
    }

    /// Everything up to and with the first message of this type; permission is given to all who ask.
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Value> {
        self.process.until_one(kind, |process, value| {
            let found = value["type"] == kind;
            if value["type"] == "permission_request" && !found {
                process.send(&Self::yes(&value["request_id"]));
            }
            found
        })
    }

    /// A whole turn.
    pub(crate) fn turn(&mut self, text: &str) -> Vec<Value> {
        self.prompt(text);
        self.until("turn_complete")
    }

    /// A whole turn that goes well.
    pub(crate) fn good_turn(&mut self, text: &str) -> Vec<Value> {
        let seen = self.turn(text);
        assert_eq!(seen.last().unwrap()["stop_reason"], "end_turn", "{text}: {}", brief(&seen));
        seen
    }

    pub(crate) fn slash(&mut self, command: &str, args: &str) -> Value {
        self.send(&json!({ "type": "slash", "command": command, "args": args }));
        self.until("slash_result").pop().unwrap()
    }
}

/// All text a turn said.
pub(crate) fn said(seen: &[Value]) -> String {
    seen.iter().filter_map(|value| value["delta"].as_str()).collect()
}

/// The first message of a type.
pub(crate) fn first<'a>(seen: &'a [Value], kind: &str) -> &'a Value {
    seen.iter().find(|value| value["type"] == kind).unwrap_or_else(|| panic!("no {kind} in {}", brief(seen)))
}

pub(crate) fn all<'a>(seen: &'a [Value], kind: &str) -> Vec<&'a Value> {
    seen.iter().filter(|value| value["type"] == kind).collect()
}

/// What is still an object may be a command after all, unless its type says otherwise.
pub(super) fn has_no_type(value: &Value) -> bool {
    match value.get("type") {
        Some(kind) => kind.as_str().is_some_and(|kind| kind.starts_with('x')) || (!kind.is_string() && !kind.is_null()),
        None => true,
    }
}

impl Driver for Serve {
    const NAME: &'static str = "serve";
    const NOTES_WHAT_IS_NOT_KEPT: bool = false;
    const REQUESTS: &'static [&'static str] = &[
        r#"{"type":"prompt","text":"say 1 word"}"#,
        r#"{"type":"slash","command":"status","args":""}"#,
        r#"{"type":"interrupt"}"#,
        r#"{"type":"permission_response","request_id":"r-1","decision":"allow","reason":null}"#,
        r#"{"type":"shutdown"}"#,
        "{\"type\":\"prompt\",\"text\":\"\u{1f600} \u{2028} é\"}",
    ];

    fn start(command: &mut Command, _: &World) -> Self {
        let mut serve = Self::of(command);
        serve.ready();
        serve
    }
    fn resume(world: &World, handle: &str) -> Option<Self> {
        let mut serve = Self::spawn(world, &["--resume", handle]);
        let hello = serve.next(PATIENCE).unwrap_or(Value::Null);
        if hello["code"] == "session_not_found" {
            return None;
        }
        assert_eq!(hello["type"], "ready", "{hello}");
        serve.session = hello["session_id"].as_str().unwrap().to_owned();
        Some(serve)
    }
    fn handle(&self) -> &str {
        &self.session
    }
    fn written(&mut self, world: &World) -> String {
        let export = world.root().join("out.jsonl");
        let result = self.slash("export", export.to_str().unwrap());
        assert_eq!(result["data"]["ok"], true, "{result}");
        std::fs::read_to_string(&export).unwrap()
    }

    fn prompt_line(&mut self, text: &str) -> String {
        format!(r#"{{"type":"prompt","text":{text}}}"#)
    }
    fn interrupt(&mut self) {
        self.send(&json!({ "type": "interrupt" }));
    }
    fn decide(&mut self, asked: &Value, allow: bool) {
        self.answer(asked, if allow { "allow" } else { "deny" });
    }
    fn hear(&mut self, line: &[u8]) -> Heard {
        let mut value = self.read(line);
        match value["type"].as_str().unwrap_or_default() {
            "turn_started" => Heard::Taken,
            "text_delta" => match value["delta"].take() {
                Value::String(text) => Heard::Text(text),
                other => panic!("a delta that is no text: {other}"),
            },
            "permission_request" => Heard::Asked(value),
            "tool_result" => Heard::Result { failed: value["is_error"] == true },
            "error" if value["turn_id"].is_null() => Heard::Refused(value),
            "turn_complete" => Heard::Ended(match value["stop_reason"].as_str() {
                Some("end_turn") => End::Done,
                Some("interrupted") => End::Interrupted,
                _ => End::Failed,
            }),
            _ => Heard::Other,
        }
    }

    fn ping(&mut self) -> Value {
        json!({ "type": "slash", "command": "version" })
    }
    fn is_pong(&self, value: &Value, _: &Value) -> bool {
        value["type"] == "slash_result"
    }
    fn long_ping() -> [&'static str; 2] {
        [r#"{"type":"slash","command":"version","args":""#, r#""}"#]
    }
    fn is_refusal(value: &Value) -> bool {
        value["type"] == "error" && value["turn_id"].is_null()
    }
    fn is_too_long(refusal: &Value) -> bool {
        refusal["code"] == "line_too_long"
    }
    fn is_refused(request: &Value) -> bool {
        has_no_type(request)
    }

    /// A question is open.
    fn busy_in_its_way(&mut self, _: &World, mark: &str) {
        self.prompt(&format!(r#"call bash {{"command":"sleep {mark}"}} then say done"#));
        self.until("permission_request");
    }
}

impl Asking for Serve {
    const TELLS_LATE_ANSWERS: bool = true;

    fn id_of(asked: &Value) -> Value {
        asked["request_id"].clone()
    }
    fn strange_ids() -> Vec<Value> {
        ["", "r-1", "r-000000000000", "../x", "\u{0}", "null", "*"].map(Value::from).into()
    }
    fn stray(&mut self, id: &Value) {
        self.send(&Self::yes(id));
        let seen = self.until("error");
        assert_eq!(seen.last().unwrap()["code"], "unknown_request_id", "{id}: {}", brief(&seen));
        assert!(seen.last().unwrap()["turn_id"].is_null());
    }
    fn yes(id: &Value) -> Value {
        json!({ "type": "permission_response", "request_id": id, "decision": "allow" })
    }
    fn no_answers(id: &Value) -> Vec<Value> {
        let decisions = [json!("yes"), json!("ALLOW"), json!(true), Value::Null, json!(1)];
        let line = |decision| json!({ "type": "permission_response", "request_id": id, "decision": decision });
        decisions.into_iter().map(line).collect()
    }
}
