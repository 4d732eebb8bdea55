//! The real binary against a model server on loopback: real processes, real pipes, real HTTP.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::mock_model::{MockModel, Reply, Step};

/// Far longer than anything here takes; a hanging binary fails the test instead of stopping the run.
const PATIENCE: Duration = Duration::from_secs(20);

struct World {
    home: TempDir,
    workspace: TempDir,
    model: MockModel,
}

impl World {
    fn new() -> Self {
        let world = Self {
            home: tempfile::tempdir().unwrap(),
            workspace: tempfile::tempdir().unwrap(),
            model: MockModel::start_blocking(),
        };
        std::fs::write(world.workspace.path().join("a.py"), "print(1)\n").unwrap();
        world
    }

    /// A command with nothing of our own environment in it, so that no key or server of this machine is used.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillerman"));
        command.args(args).env_clear().current_dir(self.workspace.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home.path()).env("TILLERMAN_HOME", self.home.path());
        command.env("OPENAI_BASE_URL", &self.model.base_url).env("OPENAI_API_KEY", "sk-test-0123456789");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn serve(&self, args: &[&str]) -> Talk {
        let mut all = vec!["serve"];
        all.extend(args);
        Talk::new(self.command(&all).spawn().expect("the binary starts"))
    }
}

/// A running `serve`.
struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

impl Talk {
    fn new(mut child: Child) -> Self {
        let stdin = child.stdin.take();
        let lines = reader(child.stdout.take().expect("stdout is piped"));
        let errors = reader(child.stderr.take().expect("stderr is piped"));
        Self { child, stdin, lines, errors }
    }

    fn say(&mut self, message: Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{message}").expect("the binary reads");
    }

    fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a line comes");
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("not JSON: {line}: {why}"))
    }

    /// Reads up to and including the next message of this type.
    fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut said = Vec::new();
        loop {
            said.push(self.next());
            if said.last().is_some_and(|message| message["type"] == kind) {
                return said;
            }
        }
    }

    /// Closes stdin and waits; the exit code, what was still said, and what was on stderr.
    fn end(mut self) -> (Option<i32>, Vec<String>, Vec<String>) {
        self.stdin.take();
        let deadline = Instant::now() + PATIENCE;
        let code = loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                break status.code();
            }
            assert!(Instant::now() < deadline, "the binary does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        (code, self.lines.iter().collect(), self.errors.iter().collect())
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reader(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    receive
}

fn texts(said: &[Value]) -> String {
    said.iter().filter_map(|message| message["delta"].as_str()).collect()
}

fn types(said: &[Value]) -> Vec<&str> {
    said.iter().filter_map(|message| message["type"].as_str()).collect()
}

#[test]
fn a_tool_round_with_permission_over_http() {
    let world = World::new();
    let mut talk = world.serve(&["--model", "mock/alpha", "--permission-mode", "prompt"]);
    let ready = talk.next();
    assert_eq!(ready["type"], "ready");
    assert_eq!(
        (&ready["protocol"], &ready["model"], &ready["mode"]),
        (&json!(1), &json!("mock/alpha"), &json!("prompt"))
    );
    assert_eq!(ready["context_window"], 128_000, "from the server's catalogue");

    talk.say(
        json!({"type":"prompt","text":"say \"I look.\" and call glob_search {\"pattern\":\"*.py\"} then say \"One.\""}),
    );
    let said = talk.until("permission_request");
    assert_eq!(texts(&said), "I look.");
    let ask = said.last().unwrap();
    assert_eq!((&ask["tool"], &ask["required_mode"]), (&json!("glob_search"), &json!("read-only")));
    talk.say(json!({"type":"permission_response","request_id":ask["request_id"],"decision":"allow"}));
    let said = talk.until("turn_complete");
    assert_eq!(said[0]["output"], "a.py\n");
    assert_eq!(texts(&said), "One.");
    let complete = said.last().unwrap();
    assert_eq!((&complete["stop_reason"], &complete["iterations"]), (&json!("end_turn"), &json!(1)));

    // What the server was sent: the key, our tools under their names, and the result behind its call.
    let chats = world.model.chats();
    assert_eq!(chats.len(), 2);
    assert_eq!(chats[0].header("authorization"), Some("Bearer sk-test-0123456789"));
    let second = chats[1].json();
    let roles: Vec<&str> = second["messages"].as_array().unwrap().iter().filter_map(|it| it["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(second["messages"][3]["content"], "a.py\n");
    let tools = second["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["function"]["name"] == "glob_search"), "{tools:?}");
    // The sums are the server's own counts.
    let counted: u64 = chats.iter().map(|chat| chat.body.len() as u64 / 4).sum();
    assert_eq!(complete["input_tokens"], counted);

    assert_eq!(talk.next()["type"], "state_changed", "the context has moved");
    talk.say(json!({"type":"slash","command":"model","args":"mock/beta"}));
    assert_eq!(talk.next(), json!({"type":"state_changed","model":"mock/beta","context_window":200_000}));
    assert_eq!(talk.next()["data"]["models"], json!(["mock/alpha", "mock/beta", "tour", "tour-mini"]));
    talk.say(json!({"type":"prompt","text":"say hello"}));
    assert_eq!(texts(&talk.until("turn_complete")), "hello");
    assert_eq!(world.model.last_chat()["model"], "mock/beta");

    talk.say(json!({"type":"shutdown"}));
    let (code, rest, errors) = talk.end();
    assert_eq!(code, Some(0), "{errors:?}");
    assert!(rest.iter().all(|line| line.contains("state_changed")), "{rest:?}");
    assert!(!errors.iter().any(|line| line.contains("sk-test-0123456789")), "the key is on stderr: {errors:?}");
}

#[test]
fn a_second_process_goes_on_where_the_first_ended() {
    let world = World::new();
    let mut first = world.serve(&["--model", "mock/beta"]);
    let session = first.next()["session_id"].clone();
    first.say(json!({"type":"prompt","text":"say \"the first answer\""}));
    first.until("turn_complete");
    // Closing stdin is all it takes.
    assert_eq!(first.end().0, Some(0));

    let mut second = world.serve(&["--resume", "latest"]);
    let ready = second.next();
    assert_eq!(ready["session_id"], session);
    assert_eq!(ready["model"], "mock/beta", "the model is the session's");
    second.say(json!({"type":"prompt","text":"say \"the second answer\""}));
    assert_eq!(texts(&second.until("turn_complete")), "the second answer");
    let request = world.model.last_chat();
    let contents: Vec<&Value> = request["messages"].as_array().unwrap()[1..].iter().map(|it| &it["content"]).collect();
    assert_eq!(contents, ["say \"the first answer\"", "the first answer", "say \"the second answer\""]);

    // While it lives, nobody else may write to its session.
    let id = session.as_str().unwrap();
    let mut third = world.serve(&["--resume", id]);
    let refused = third.next();
    assert_eq!((&refused["type"], &refused["code"]), (&json!("error"), &json!("session_busy")));
    assert_eq!(third.end().0, Some(2));
    assert_eq!(second.end().0, Some(0));
}

#[test]
fn interrupt_closes_the_connection_to_the_model() {
    let world = World::new();
    let mut talk = world.serve(&["--model", "mock/alpha"]);
    talk.until("ready");
    talk.say(json!({"type":"prompt","text":"stall 2 say 5 words"}));
    assert_eq!(talk.until("text_delta").last().unwrap()["delta"], "w1 ");
    assert_eq!(talk.next()["delta"], "w2 ");
    talk.say(json!({"type":"interrupt"}));
    let asked = Instant::now();
    let said = talk.until("turn_complete");
    assert!(asked.elapsed() < Duration::from_secs(1), "a silent model was waited for");
    assert_eq!(said.last().unwrap()["stop_reason"], "interrupted");
    let closed = Instant::now() + PATIENCE;
    while world.model.counts().open > 0 {
        assert!(Instant::now() < closed, "the connection is still open");
        std::thread::sleep(Duration::from_millis(5));
    }
    talk.say(json!({"type":"prompt","text":"say again"}));
    assert_eq!(texts(&talk.until("turn_complete")), "again");
    assert_eq!(talk.end().0, Some(0));
}

#[test]
fn a_failing_server_is_an_error_with_its_origin() {
    let world = World::new();
    let mut talk = world.serve(&["--model", "mock/alpha"]);
    talk.until("ready");
    talk.say(json!({"type":"prompt","text":"fail 401"}));
    let said = talk.until("turn_complete");
    assert_eq!(types(&said), ["turn_started", "error", "turn_complete"]);
    assert_eq!((&said[1]["code"], &said[1]["origin"]), (&json!("auth_failed"), &json!("remote")));
    talk.say(json!({"type":"prompt","text":"fail 503 then say \"the second try\""}));
    assert_eq!(texts(&talk.until("turn_complete")), "the second try");
    assert_eq!(talk.end().0, Some(0));
}

/// One line instead of `ready`, nothing else on stdout, exit code 2.
fn refused(world: &World, args: &[&str], code: &str) {
    let mut talk = world.serve(args);
    let line = talk.next();
    assert_eq!(
        (&line["type"], &line["code"], &line["origin"]),
        (&json!("error"), &json!(code), &json!("local")),
        "{args:?}"
    );
    let (exit, rest, _) = talk.end();
    assert_eq!((exit, rest), (Some(2), Vec::new()), "{args:?}");
}

#[test]
fn what_cannot_start_says_so_on_the_wire() {
    let world = World::new();
    refused(&world, &["--workspace", "/no/such/place"], "bootstrap_failed");
    refused(&world, &["--resume", "nope"], "session_not_found");
    refused(&world, &["--resume", "latest"], "session_not_found");
    refused(&world, &["--resume", "nope.jsonl"], "session_not_found");
    refused(&world, &["--frobnicate"], "invalid_flag");
    refused(&world, &["--max-iterations", "many"], "invalid_flag");
    refused(&world, &["--permission-mode", "yolo"], "invalid_flag");
    assert_eq!(world.model.chats().len(), 0);
    assert!(!Path::new("/no/such/place").exists());
}

/// What `sessions export --requests` says of a session: each body as it stands in its line, and the lines.
fn exported(world: &World, session: &str) -> (Vec<String>, Vec<Value>) {
    let output = world.command(&["sessions", "export", session, "--requests"]).output().expect("the binary starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let text = String::from_utf8(output.stdout).expect("it is text");
    assert!(!text.contains("sk-test-0123456789") && !errors.contains("sk-test-0123456789"), "the key is in it");
    let body = |line: &str| {
        let (_, rest) = line.split_once("\"body\":").unwrap_or_else(|| panic!("no body: {line}"));
        rest.strip_suffix('}').expect("it is the last field").to_owned()
    };
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    (text.lines().map(body).collect(), lines)
}

fn bodies(chats: &[testkit::mock_model::Request]) -> Vec<String> {
    chats.iter().map(|chat| String::from_utf8(chat.body.clone()).expect("it is text")).collect()
}

#[test]
fn every_request_is_shown_byte_for_byte() {
    let world = World::new();
    // Everything but the newest message is summarised.
    std::fs::write(world.home.path().join("config.toml"), "[compaction]\nkeep_pct = 0\n").unwrap();

    // One process: a tool round with a steer in it, a retry, a request that the server teaches us to write, a summary.
    let mut rpc = Talk::new(world.command(&["rpc", "--model", "mock/alpha"]).spawn().expect("the binary starts"));
    world.model.push(Reply::stream(vec![
        Step::text("Let me "),
        Step::Hold,
        Step::call(0, "c1", "read", "{\"path\":\"a.py\"}"),
        Step::finish("tool_calls"),
        Step::Done,
    ]));
    rpc.say(json!({"type":"prompt","message":"look \"at\" a.py\nplease \u{2028}"}));
    rpc.until("message_update");
    rpc.say(json!({"type":"steer","message":"say steered"}));
    rpc.until("response");
    world.model.release();
    rpc.until("agent_end");
    rpc.say(json!({"type":"prompt","message":"fail 503 then say again"}));
    rpc.until("auto_retry_end");
    rpc.until("agent_end");
    world.model.push(Reply::error(400, "use 'max_completion_tokens' instead"));
    rpc.say(json!({"type":"prompt","message":"say learned"}));
    rpc.until("agent_end");
    rpc.say(json!({"type":"compact"}));
    let end = rpc.until("response");
    assert_eq!(end.last().map(|it| &it["success"]), Some(&json!(true)), "{end:?}");
    rpc.say(json!({"type":"bash","command":"echo aside"}));
    rpc.until("response");
    assert_eq!(rpc.end().0, Some(0));

    // Another one goes on: another model, an undo, a turn that is cut short, one that fails for good.
    let mut serve = world.serve(&["--resume", "latest"]);
    let session = serve.next()["session_id"].as_str().expect("an id").to_owned();
    serve.say(json!({"type":"prompt","text":"say resumed"}));
    serve.until("turn_complete");
    serve.say(json!({"type":"slash","command":"model","args":"mock/beta"}));
    serve.until("slash_result");
    serve.say(json!({"type":"prompt","text":"say \"with another model\""}));
    serve.until("turn_complete");
    serve.say(json!({"type":"slash","command":"undo","args":""}));
    serve.until("slash_result");
    serve.say(json!({"type":"prompt","text":"stall 1 say 3 words"}));
    serve.until("text_delta");
    serve.say(json!({"type":"interrupt"}));
    serve.until("turn_complete");
    serve.say(json!({"type":"prompt","text":"fail 401"}));
    serve.until("turn_complete");
    assert_eq!(serve.end().0, Some(0));

    let sent = bodies(&world.model.chats());
    let (shown, lines) = exported(&world, &session);
    assert_eq!(shown.len(), sent.len(), "{lines:#?}");
    for (at, (shown, sent)) in shown.iter().zip(&sent).enumerate() {
        assert_eq!(shown, sent, "request {at}");
    }
    assert!(lines.iter().all(|line| line["api"] == "openai-completions" && line["problem"].is_null()), "{lines:?}");
    assert!(lines.iter().all(|line| line["url"] == format!("{}/chat/completions", world.model.base_url)), "{lines:?}");
    let summaries: Vec<bool> = lines.iter().map(|line| line["summary"] == true).collect();
    assert_eq!(summaries.iter().filter(|it| **it).count(), 1);
    let models: Vec<&Value> = lines.iter().map(|line| &line["model"]).collect();
    assert!(models.contains(&&json!("mock/alpha")) && models.contains(&&json!("mock/beta")), "{models:?}");

    // A fork begins without requests and has its own from then on.
    let fork = world.command(&["sessions", "fork", &session]).output().expect("the binary starts");
    let fork = String::from_utf8(fork.stdout).unwrap();
    assert_eq!(exported(&world, fork.trim()).0, Vec::<String>::new());
    let run = world.command(&["run", "--resume", fork.trim(), "say forked"]).output().expect("the binary starts");
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(exported(&world, fork.trim()).0, bodies(&world.model.chats())[sent.len()..]);

    // The file is its owner's.
    let out = world.command(&["sessions", "export", &session, "--requests", "--out", "r.jsonl"]).output().unwrap();
    assert_eq!((out.status.code(), out.stdout.len()), (Some(0), 0));
    let file = world.workspace.path().join("r.jsonl");
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), sent.len());
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777, 0o600);
}
