//! `tillerman acp` and clients that leave the published protocol, as Scarf does: empty capabilities, numbers from 1, a ping
//! without params, a cancel with an id, answers by `kind`. Raw lines, because no SDK writes such things.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mock_model::{MockModel, Reply, Step};

use crate::cli::Place;

/// Longer than anything here should take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Clients give up on an agent that takes longer to end.
const EOF_PATIENCE: Duration = Duration::from_secs(1);

/// The client: lines in, frames out.
pub(crate) struct Scarf {
    child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Value>,
    /// Read and not wanted yet.
    pub(crate) kept: VecDeque<Value>,
    asked: u64,
}

impl Scarf {
    fn start(place: &Place) -> Self {
        Self::able(place, json!({}))
    }

    /// A client that can do more.
    fn able(place: &Place, capabilities: Value) -> Self {
        let mut scarf = Self::unheard(place);
        let client = json!({ "name": "Scarf", "version": "2.5.1" });
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": client });
        let answer = scarf.ask("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], 1);
        scarf
    }

    /// One that has said nothing yet.
    pub(crate) fn unheard(place: &Place) -> Self {
        let mut child = place.command(&["acp"]).spawn().unwrap();
        let (frame, frames) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let read = serde_json::from_str(&line).unwrap_or_else(|_| panic!("stdout is protocol only: {line}"));
                let _ = frame.send(read);
            }
        });
        Self { stdin: child.stdin.take(), child, frames, kept: VecDeque::new(), asked: 0 }
    }

    pub(crate) fn say(&mut self, frame: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{frame}").unwrap();
    }

    /// Sends a request; the number is the id of its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The first frame that fits; the others stay for later.
    pub(crate) fn wait(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at).unwrap();
        }
        loop {
            let frame = self.frames.recv_timeout(PATIENCE);
            let frame = frame.unwrap_or_else(|why| panic!("{why}; there was {:#?}", self.kept));
            if fits(&frame) {
                return frame;
            }
            self.kept.push_back(frame);
        }
    }
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.wait(|frame| frame.get("method").is_none() && frame["id"] == id)
    }
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }
    pub(crate) fn update(&mut self, tag: &str) -> Value {
        self.wait(|frame| frame["params"]["update"]["sessionUpdate"] == tag)["params"]["update"].take()
    }
    pub(crate) fn question(&mut self) -> Value {
        self.wait(|frame| frame["method"] == "session/request_permission")
    }

    pub(crate) fn new_session(&mut self, place: &Place) -> String {
        let answer = self.ask("session/new", json!({ "cwd": place.work(), "mcpServers": [] }));
        answer["result"]["sessionId"].as_str().expect("a session id").to_owned()
    }
    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let params = json!({
            "sessionId": session,
            "messageId": "5F1B4C1E-7A54-4B0B-A8B5-0F1E2D3C4B5A",
            "prompt": [{ "type": "text", "text": text }],
        });
        self.request("session/prompt", params)
    }
    pub(crate) fn stop_reason(&mut self, id: u64) -> String {
        let answer = self.answer(id);
        answer["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("no reason: {answer}")).to_owned()
    }

    /// The input ends; so does the agent, soon and well.
    pub(crate) fn end(mut self) {
        drop(self.stdin.take());
        let begun = Instant::now();
        let status = self.child.wait().unwrap();
        assert!(status.success() && begun.elapsed() < EOF_PATIENCE, "{status} after {:?}", begun.elapsed());
    }
}

impl Drop for Scarf {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const WRITE: &str = r#"call write_file {"path":"scarf.txt","content":"x"} then say done"#;

#[test]
fn a_client_without_capabilities_is_asked_for_nothing_but_permission() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let turn = scarf.prompt(&session, WRITE);
    let question = scarf.question();
    assert!(question["id"].is_u64(), "Scarf reads numbers alone: {question}");
    let id = &question["id"];
    scarf.say(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": { "kind": "allowed", "optionId": "allow_once" } } }));
    assert_eq!(scarf.stop_reason(turn), "end_turn");
    let ours = scarf.kept.iter().filter(|frame| frame.get("id").is_some() && frame.get("method").is_some()).count();
    assert_eq!(ours, 0, "{:#?}", scarf.kept);
    assert_eq!(std::fs::read_to_string(place.file("scarf.txt")).unwrap(), "x");
    scarf.end();
}

#[test]
fn a_ping_without_params_is_heard_in_silence() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    scarf.say(&json!({ "jsonrpc": "2.0", "method": "$/ping" }));
    let turn = scarf.prompt(&session, "say hi");
    scarf.say(&json!({ "jsonrpc": "2.0", "method": "$/ping" }));
    assert_eq!(scarf.stop_reason(turn), "end_turn");
    assert!(scarf.kept.iter().all(|frame| frame["method"] == "session/update"), "{:#?}", scarf.kept);
    for method in ["$/ping", "ping", "health"] {
        assert_eq!(scarf.ask(method, json!({}))["result"], json!({}));
    }
}

#[test]
fn a_cancel_that_is_a_request_is_answered_and_really_cancels() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let turn = scarf.prompt(&session, "say wait hold");
    scarf.update("agent_message_chunk");
    assert_eq!(scarf.ask("session/cancel", json!({ "sessionId": session }))["result"], json!({}));
    assert_eq!(scarf.stop_reason(turn), "cancelled");
    assert_eq!(scarf.ask("session/cancel", json!({ "sessionId": session }))["result"], json!({}), "without a turn");
    let turn = scarf.prompt(&session, "say on");
    assert_eq!(scarf.stop_reason(turn), "end_turn");
}

#[test]
fn a_cancel_that_is_a_request_closes_an_open_question() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let turn = scarf.prompt(&session, WRITE);
    let question = scarf.question();
    assert_eq!(scarf.ask("session/cancel", json!({ "sessionId": session }))["result"], json!({}));
    assert_eq!(scarf.stop_reason(turn), "cancelled");
    let withdrawn = scarf.wait(|frame| frame["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // Its answer comes late, and counts for nothing.
    let outcome = json!({ "kind": "allowed", "optionId": "allow_session" });
    scarf.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "outcome": outcome } }));
    let turn = scarf.prompt(&session, "say on");
    assert_eq!(scarf.stop_reason(turn), "end_turn");
    assert!(!place.file("scarf.txt").exists());
}

#[test]
fn permission_is_given_by_option_id_whatever_the_kind_says() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let answers = [
        (json!({ "kind": "rejected", "optionId": "deny" }), false),
        // Scarf says so for every option whose id is not `deny`.
        (json!({ "kind": "allowed", "optionId": "reject_once" }), false),
        (json!({ "kind": "allowed", "optionId": "deny" }), false),
        (json!({ "kind": "allowed", "optionId": "allow_once" }), true),
    ];
    for (outcome, written) in answers {
        let turn = scarf.prompt(&session, WRITE);
        let question = scarf.question();
        let offered: Vec<&str> = question["params"]["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["optionId"].as_str().unwrap())
            .collect();
        assert_eq!(offered, ["allow_once", "allow_session", "deny"]);
        scarf.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "outcome": outcome } }));
        assert_eq!(scarf.stop_reason(turn), "end_turn");
        assert_eq!(place.file("scarf.txt").exists(), written, "{outcome}");
    }
}

#[test]
fn every_way_into_a_session_tells_its_id() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let turn = scarf.prompt(&session, "say kept");
    scarf.stop_reason(turn);
    scarf.ask("session/close", json!({ "sessionId": session }));
    scarf.end();
    let mut scarf = Scarf::start(&place);
    let params = json!({ "sessionId": session, "cwd": place.work(), "mcpServers": [] });
    for method in ["session/resume", "session/load"] {
        let answer = scarf.ask(method, params.clone());
        assert_eq!(answer["result"]["sessionId"], session, "{method}: {answer}");
    }
    let turn = scarf.prompt(&session, "say more");
    assert_eq!(scarf.stop_reason(turn), "end_turn");
    scarf.end();
}

#[test]
fn calls_are_told_as_scarf_shows_them() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let script = r#"call read_file {"path":"one.rs"} then call bash {"command":"printf 'a: b'"} then say done"#;
    let turn = scarf.prompt(&session, script);
    assert_eq!(scarf.stop_reason(turn), "end_turn");
    let (read, run) = (scarf.update("tool_call"), scarf.update("tool_call"));
    for (call, name, rest) in [(&read, "read_file", "one.rs"), (&run, "bash", "printf 'a: b'")] {
        let split = call["title"].as_str().unwrap().split_once(": ");
        assert_eq!(split, Some((name, rest)), "split at the first colon");
    }
    let updates: Vec<Value> = scarf.kept.iter().map(|frame| frame["params"]["update"].clone()).collect();
    let updates = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call_update");
    let mut ended = 0;
    for update in updates {
        assert!(update["status"].is_string(), "one without a status is taken for the end: {update}");
        if update["status"] == "completed" {
            ended += 1;
            assert!(update["rawOutput"].is_string(), "objects are shown as nothing: {update}");
            assert!(update["content"][0]["content"]["text"].is_string(), "{update}");
        }
    }
    assert_eq!(ended, 2);
}

#[test]
fn usage_is_whole_numbers() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let turn = scarf.prompt(&session, "say hi usage 820 34");
    let answer = scarf.answer(turn);
    let usage = &answer["result"]["usage"];
    for (name, want) in [("inputTokens", 820), ("outputTokens", 34), ("totalTokens", 854), ("cachedReadTokens", 0)] {
        assert_eq!(usage[name].as_u64(), Some(want), "{name}: {usage}");
    }
    assert!(usage.as_object().unwrap().values().all(Value::is_u64), "{usage}");
}

#[test]
fn a_model_over_http_is_counted_without_its_cache_and_fails_in_its_own_words() {
    let model = MockModel::start_blocking();
    let place = Place::new()
        .env("OPENAI_BASE_URL", &model.base_url)
        .env("OPENAI_API_KEY", "sk-canary-acp")
        .env("TILLERMAN_MODEL", "mock/alpha");
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    model.push(Reply::stream([Step::text("hi"), Step::usage(120, 20, 7), Step::finish("stop")]));
    let turn = scarf.prompt(&session, "hello");
    let answer = scarf.answer(turn);
    let usage = &answer["result"]["usage"];
    for (name, want) in [("inputTokens", 100), ("cachedReadTokens", 20), ("outputTokens", 7), ("totalTokens", 127)] {
        assert_eq!(usage[name].as_u64(), Some(want), "{name}: {usage}");
    }
    model.push(Reply::error(400, "the mock says no to sk-canary-acp"));
    let turn = scarf.prompt(&session, "hello");
    let error = scarf.answer(turn)["error"].take();
    assert_eq!(error["code"], -32602);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("the mock says no") && !message.contains("canary"), "{message}");
}

#[test]
fn a_compaction_has_its_summary_as_content() {
    let place = Place::new();
    let mut client = Scarf::able(&place, json!({ "session": { "compaction": {} } }));
    let session = client.new_session(&place);
    for _ in 0..2 {
        let turn = client.prompt(&session, &format!("delta \"{}\"", "x".repeat(120_000)));
        client.stop_reason(turn);
    }
    let turn = client.prompt(&session, "/compact");
    assert_eq!(client.stop_reason(turn), "end_turn");
    let (begun, done) = (client.update("compaction_update"), client.update("compaction_update"));
    assert_eq!((&begun["status"], &done["status"]), (&json!("in_progress"), &json!("completed")));
    assert_eq!(begun["compactionId"], done["compactionId"]);
    assert_eq!(done["summary"][0]["type"], "text", "{done}");
}

#[test]
fn a_directory_that_is_gone_is_not_a_session_that_is_gone() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let turn = scarf.prompt(&session, "say kept");
    scarf.stop_reason(turn);
    scarf.ask("session/close", json!({ "sessionId": session }));
    for method in ["session/new", "session/load", "session/resume", "session/fork"] {
        let error = scarf.ask(method, json!({ "sessionId": session, "cwd": place.file("gone"), "mcpServers": [] }));
        let (code, message) = (&error["error"]["code"], error["error"]["message"].as_str().unwrap_or_default());
        assert!(*code == -32602 && message.contains("gone"), "{method}: {error}");
    }
}

// ---- clients in a hurry -----------------------------------------------------------------------------------------

#[test]
fn a_close_in_the_same_breath_as_a_prompt_answers_both() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let turn = scarf.prompt(&session, "say wait hold");
    let set = scarf.request("session/set_mode", json!({ "sessionId": session, "modeId": "plan" }));
    let closes = [(); 2].map(|()| scarf.request("session/close", json!({ "sessionId": session })));
    let delete = scarf.request("session/delete", json!({ "sessionId": session }));
    assert_eq!(scarf.stop_reason(turn), "cancelled");
    assert_eq!(scarf.answer(set)["result"], json!({}));
    for close in closes {
        assert_eq!(scarf.answer(close)["result"], json!({}));
    }
    assert_eq!(scarf.answer(delete)["result"], json!({}));
    assert_eq!(scarf.ask("session/list", json!({}))["result"]["sessions"], json!([]));
    scarf.end();
}

#[test]
fn a_closed_session_can_be_forked() {
    let place = Place::new();
    let mut scarf = Scarf::start(&place);
    let session = scarf.new_session(&place);
    let turn = scarf.prompt(&session, "say root");
    scarf.stop_reason(turn);
    scarf.ask("session/close", json!({ "sessionId": session }));
    let answer = scarf.ask("session/fork", json!({ "sessionId": session, "cwd": place.work() }));
    let fork = answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("no fork: {answer}"));
    assert_ne!(fork, session);
}
