//! `tillerman loaf` as a process against a real server on loopback: the handshake, a turn, what is kept for the next start,
//! and every way to its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::mock_model::MockModel;

use crate::cli::Place;

/// Longer than anything here should take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long an end may take that was asked for.
const END_TIME_MAX: Duration = Duration::from_secs(2);

/// A client: requests in, responses and events out.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    asked: u64,
}

impl Client {
    fn start(place: &Place, args: &[&str]) -> Self {
        let mut child = place.command(&[&["loaf"], args].concat()).spawn().unwrap();
        let (line, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for text in stdout.lines().map_while(Result::ok) {
                let read = serde_json::from_str(&text).unwrap_or_else(|_| panic!("stdout is protocol only: {text}"));
                let _ = line.send(read);
            }
        });
        Self { stdin: child.stdin.take(), child, lines, asked: 0 }
    }

    fn next(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("a line in time")
    }

    /// The payload of the next event of this type.
    fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = self.next();
            if line["params"]["type"] == kind {
                return line["params"]["payload"].take();
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let line = json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params});
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
        self.asked
    }

    /// A request and its response.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        loop {
            let line = self.next();
            if line["id"] == id {
                return line;
            }
        }
    }

    fn create(&mut self) -> String {
        self.ask("session.create", json!({}))["result"]["session_id"].as_str().expect("a session has an id").to_owned()
    }

    /// A whole turn; the text of its chunks.
    fn turn(&mut self, session: &str, text: &str) -> String {
        self.request("session.send", json!({"session_id": session, "text": text}));
        let mut said = String::new();
        loop {
            let line = self.next();
            let payload = &line["params"]["payload"];
            said.push_str(payload["chunk"]["answerText"].as_str().unwrap_or_default());
            if line["params"]["type"] == "session.status" && payload["pending"] == false {
                return said;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process has an id");
        kill_process(pid, signal).unwrap();
    }

    /// Everything that is still said, the exit code, and how long it took. stdin stays as it is.
    fn end(mut self) -> (Vec<Value>, Option<i32>, Duration) {
        let since = Instant::now();
        let mut said = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it goes on: {said:?}"),
            }
        }
        let code = self.child.wait().unwrap().code();
        (said, code, since.elapsed())
    }

    /// Ends it by closing stdin; exit code, stderr, and how long it took.
    fn close(mut self) -> (Option<i32>, String, Duration) {
        let since = Instant::now();
        drop(self.stdin.take());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, said, since.elapsed())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A place whose environment names the server.
fn place(model: &MockModel) -> Place {
    let place = Place::new().env("OPENAI_BASE_URL", &model.base_url).env("OPENAI_API_KEY", "sk-canary-loaf");
    place.env("TILLERMAN_MODEL", "")
}

fn event<'a>(said: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let of = |line: &&Value| line["params"]["type"] == kind;
    said.iter().filter(of).map(|line| &line["params"]["payload"]).collect()
}

/// Starts a command that nobody ends but us; its process id.
fn busy(client: &mut Client, place: &Place, session: &str) -> String {
    let marker = place.file("pid");
    let command = json!({"command": format!("echo $$ > {}; sleep 60", marker.display())});
    client.request("session.send", json!({"session_id": session, "text": format!("call bash {command} then say x")}));
    client.until("session.tool.call.started");
    let since = Instant::now();
    loop {
        if let Some(pid) = std::fs::read_to_string(&marker).ok().filter(|pid| pid.ends_with('\n')) {
            return pid.trim().to_owned();
        }
        assert!(since.elapsed() < PATIENCE, "the command never started");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Its supervisor ends a command when we are gone, which may take a moment longer than our own end.
#[track_caller]
fn gone(pid: &str) {
    let since = Instant::now();
    while std::path::Path::new("/proc").join(pid).exists() {
        assert!(since.elapsed() < END_TIME_MAX, "{pid} outlived us");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_client_shakes_hands_and_has_a_turn_with_the_first_model_of_the_server() {
    let model = MockModel::start_blocking();
    let place = place(&model);
    let mut client = Client::start(&place, &[]);
    let hands = client.ask("rpc.handshake", json!({"protocol_version": "1.0.0", "strict": true}));
    assert_eq!(hands["result"]["server_name"], "loaf", "{hands}");
    assert_eq!(hands["result"]["methods"].as_array().map(Vec::len), Some(29));
    let state = client.ask("state.get", json!({}));
    assert_eq!(state["result"]["model"]["selectedModel"], "mock/alpha", "{state}");
    assert_eq!(state["result"]["model"]["selectedProvider"], "openai");
    let session = client.create();
    assert_eq!(session.len(), 36, "a session of this wire is a UUID: {session}");
    assert_eq!(client.turn(&session, "say 3 words"), "w1 w2 w3");
    let request = model.chats().pop().unwrap();
    assert_eq!(request.header("authorization"), Some("Bearer sk-canary-loaf"));
    let tools = request.json()["tools"].to_string();
    assert!(tools.contains("grep_files") && tools.contains("read_background_bash"), "{tools}");
    let (code, said, took) = client.close();
    assert_eq!(code, Some(0));
    assert!(took < END_TIME_MAX, "{took:?}");
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn what_was_selected_is_there_at_the_next_start_unless_a_flag_says_otherwise() {
    let model = MockModel::start_blocking();
    let place = place(&model);
    let mut client = Client::start(&place, &[]);
    let select = json!({"model_id": "mock/beta", "provider": "openai", "thinking_level": "LOW"});
    let selected = client.ask("model.select", select);
    assert_eq!(selected["result"]["selected_model"], "mock/beta", "{selected}");
    client.ask("onboarding.complete", json!({}));
    client.close();
    let kept = place.home().join("loaf.json");
    assert!(std::fs::read_to_string(&kept).unwrap().contains("mock/beta"));
    let state = |args: &[&str]| Client::start(&place, args).ask("state.get", json!({}))["result"].take();
    let again = state(&[]);
    assert_eq!(again["model"]["selectedModel"], "mock/beta", "{again}");
    assert_eq!(again["onboarding"]["completed"], true);
    assert_eq!(state(&["--model", "mock/alpha"])["model"]["selectedModel"], "mock/alpha");
    std::fs::write(&kept, "{damaged").unwrap();
    let mut client = Client::start(&place, &[]);
    assert_eq!(client.ask("state.get", json!({}))["result"]["model"]["selectedModel"], "mock/alpha");
    let (code, said, _) = client.close();
    assert_eq!(code, Some(0));
    assert!(said.contains("loaf.json is damaged"), "{said}");
}

#[test]
fn a_signal_is_told_and_ends_it() {
    let model = MockModel::start_blocking();
    for (signal, reason) in [(Signal::INT, "sigint"), (Signal::TERM, "sigterm")] {
        let place = place(&model);
        let mut client = Client::start(&place, &[]);
        let session = client.create();
        let pid = busy(&mut client, &place, &session);
        client.signal(signal);
        let (said, code, took) = client.end();
        let told = event(&said, "state.changed");
        assert_eq!(told.last().map(|told| &told["reason"]), Some(&json!(reason)), "{said:?}");
        assert_eq!(code, Some(0), "{reason}");
        assert!(took < END_TIME_MAX, "{reason}: {took:?}");
        gone(&pid);
    }
}

#[test]
fn the_end_of_stdin_ends_it_even_in_mid_stream() {
    let model = MockModel::start_blocking();
    let place = place(&model);
    let mut client = Client::start(&place, &[]);
    let session = client.create();
    client.request("session.send", json!({"session_id": session, "text": "stall 2 say 5 words"}));
    client.until("session.stream.chunk");
    let (code, _, took) = client.close();
    assert_eq!(code, Some(0));
    assert!(took < END_TIME_MAX, "{took:?}");
    // The prompt was acknowledged, so it is there.
    let mut client = Client::start(&place, &[]);
    let saved = client.ask("history.get", json!({"last": true}));
    assert!(saved["result"]["messages"].to_string().contains("stall 2 say 5 words"), "{saved}");
}

#[test]
fn a_shutdown_ends_it_without_the_end_of_stdin_and_takes_its_commands_along() {
    let model = MockModel::start_blocking();
    let place = place(&model);
    let mut client = Client::start(&place, &[]);
    let session = client.create();
    let pid = busy(&mut client, &place, &session);
    let asked = Instant::now();
    let id = client.request("system.shutdown", json!({"reason": "bedtime"}));
    let stdin = client.stdin.take();
    let (said, code, _) = client.end();
    let took = asked.elapsed();
    assert_eq!(code, Some(0));
    assert!(took < END_TIME_MAX, "{took:?}");
    drop(stdin);
    let place_of = |wanted: &dyn Fn(&Value) -> bool| said.iter().position(wanted);
    let told = place_of(&|line| line["params"]["payload"]["reason"] == "bedtime").expect("the end is told");
    let answered = place_of(&|line| line["id"] == id).expect("the request is answered");
    assert!(told < answered, "{said:?}");
    assert_eq!(said[answered]["result"], json!({"accepted": true, "reason": "bedtime"}));
    assert_eq!(event(&said, "session.interrupted").len(), 1, "{said:?}");
    gone(&pid);
}

/// A prompt that was heard and whose turn nobody has been told of yet.
#[test]
fn a_prompt_on_its_way_is_stopped_too() {
    for round in 0..10 {
        let place = Place::new();
        let mut client = Client::start(&place, &[]);
        let session = client.create();
        let command = json!({"command": "sleep 60"});
        let text = format!("call bash {command} then say x");
        client.request("session.send", json!({"session_id": session, "text": text}));
        std::thread::sleep(Duration::from_millis(round));
        let asked = Instant::now();
        client.request("system.shutdown", json!({}));
        let (said, code, _) = client.end();
        let took = asked.elapsed();
        assert_eq!(code, Some(0));
        assert!(took < END_TIME_MAX / 2, "round {round}: {took:?} {said:?}");
    }
}

#[test]
fn a_sign_in_that_waits_for_somebody_ends_with_the_process() {
    // Nobody will ever come back to this page.
    let place = Place::new().env("TILLERMAN_OPENAI_ISSUER", "http://127.0.0.1:9").env("TILLERMAN_OAUTH_PORT", "0");
    let mut client = Client::start(&place, &[]);
    let id = client.request("auth.connect.openai", json!({"mode": "browser"}));
    let url = client.until("auth.flow.url");
    assert!(url["url"].as_str().unwrap().starts_with("http://127.0.0.1:9/"), "{url}");
    let asked = Instant::now();
    client.request("system.shutdown", json!({}));
    let (said, code, _) = client.end();
    let took = asked.elapsed();
    assert_eq!(code, Some(0));
    assert!(took < END_TIME_MAX, "{took:?}");
    assert_eq!(event(&said, "auth.flow.failed").len(), 1, "{said:?}");
    let answer = said.iter().find(|line| line["id"] == id).expect("the request is answered");
    assert_eq!(answer["error"]["data"]["reason"], "auth_failed", "{answer}");
}

#[test]
fn what_keeps_it_from_starting_is_one_line_on_stderr_and_code_1() {
    let place = Place::new();
    for (args, said) in [
        (&["loaf", "--workspace", "/no/such"][..], "[loaf] fatal: no such workspace: /no/such"),
        (&["loaf", "--resume", "latest"], "[loaf] fatal: --resume means nothing here"),
        (&["loaf", "--model", "x"], "[loaf] fatal: "),
        (&["loaf", "--frob"], "[loaf] fatal: unexpected argument '--frob'"),
        (&["loaf", "--mode", "yolo"], "[loaf] fatal: "),
    ] {
        let ran = place.run(args);
        ran.fails(1, said);
        assert_eq!(ran.out, "", "{args:?}: stdout is protocol only");
        assert_eq!(ran.err.lines().filter(|line| line.starts_with("[loaf] fatal: ")).count(), 1, "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    let ran = place.run(&["loaf", "--help"]);
    assert!(ran.ok().contains("tillerman loaf --workspace"));
}

#[test]
fn without_any_model_it_starts_and_the_client_has_to_select_one() {
    // No server is named and none can be reached: a proxy of nowhere would not help either.
    let place = Place::new().env("TILLERMAN_MODEL", "");
    let mut client = Client::start(&place, &[]);
    let state = client.ask("state.get", json!({}));
    assert_eq!(state["result"]["model"]["selectedModel"], "", "{state}");
    let session = client.create();
    client.request("session.send", json!({"session_id": session, "text": "say no"}));
    assert!(client.until("session.error")["message"].as_str().unwrap().contains("select a model"));
}
