//! `tillerman rpc` as a process: its flags, the agent directory, which session it is on, how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mock_model::MockModel;

use crate::cli::{Place, Ran};

/// Longer than anything here should take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A host: lines in, frames out.
pub(crate) struct Host {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Value>,
    asked: u64,
}

impl Host {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        Self::run(&mut place.command(args))
    }

    pub(crate) fn run(command: &mut std::process::Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (frame, frames) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let read = serde_json::from_str(&line).unwrap_or_else(|_| panic!("stdout is protocol only: {line}"));
                let _ = frame.send(read);
            }
        });
        let mut host = Self { stdin: child.stdin.take(), child, frames, asked: 0 };
        assert_eq!(host.next()["type"], "ready", "it comes first");
        host
    }

    pub(crate) fn next(&mut self) -> Value {
        self.frames.recv_timeout(PATIENCE).expect("a frame in time")
    }

    pub(crate) fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next();
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    pub(crate) fn say(&mut self, frame: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{frame}").unwrap();
    }

    /// Sends a command and gives its response.
    pub(crate) fn ask(&mut self, mut command: Value) -> Value {
        self.asked += 1;
        let id = format!("req_{}", self.asked);
        command["id"] = json!(id);
        self.say(&command);
        loop {
            let frame = self.next();
            if frame["type"] == "response" && frame["id"] == json!(id) {
                return frame;
            }
        }
    }

    pub(crate) fn state(&mut self) -> Value {
        self.ask(json!({"type": "get_state"}))["data"].take()
    }

    /// A whole run.
    pub(crate) fn prompt(&mut self, message: &str) {
        self.say(&json!({"type": "prompt", "message": message}));
        self.until("agent_end");
        self.until("agent_settled");
    }

    /// Ends it by closing stdin; its exit code, its stderr, and how long it took.
    pub(crate) fn close(mut self) -> (Option<i32>, String, Duration) {
        let since = Instant::now();
        drop(self.stdin.take());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, said, since.elapsed())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A place with an agent directory.
pub(crate) fn place(models: &str, settings: &str) -> Place {
    let place = Place::new();
    let agent = place.work().with_file_name("agent");
    std::fs::create_dir(&agent).unwrap();
    for (name, text) in [("models.json", models), ("settings.json", settings)] {
        if !text.is_empty() {
            std::fs::write(agent.join(name), text).unwrap();
        }
    }
    place.env("PI_CODING_AGENT_DIR", agent.to_str().unwrap()).env("TILLERMAN_MODEL", "")
}

fn lab(model: &MockModel, key: &str) -> String {
    json!({"providers": {"lab": {
    "baseUrl": model.base_url, "api": "openai-completions", "apiKey": key, "headers": {"X-Lab": "LAB_WORD"},
    "compat": {"supportsDeveloperRole": false, "maxTokensField": "max_completion_tokens"},
    "models": [
        {"id": "alpha-1", "name": "Alpha", "reasoning": true, "contextWindow": 64000, "maxTokens": 4000,
         "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}},
        {"id": "beta-1"},
    ]}}})
    .to_string()
}

/// `ps` shows the words that a program was started with to everybody.
#[cfg(target_os = "linux")]
#[test]
fn a_key_on_the_command_line_reaches_its_server_and_is_not_left_there() {
    const KEY: &str = "canary-flag-55ad01";
    let model = MockModel::start_blocking();
    for key in [&["--api-key", KEY][..], &["--api-key=canary-flag-55ad01"]] {
        let place = place(&lab(&model, "unused"), "");
        let args = [&["--mode", "rpc", "--model", "lab/alpha-1"], key].concat();
        let mut host = Host::start(&place, &args);
        let line = std::fs::read(format!("/proc/{}/cmdline", host.child.id())).unwrap();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        assert!(line.contains("--mode rpc --model lab/alpha-1") && !line.contains("canary"), "{line}");
        host.prompt("hello");
        let sent = model.chats();
        assert_eq!(sent.last().unwrap().header("authorization"), Some(&*format!("Bearer {KEY}")));
        let ran = host.ask(json!({"type": "bash", "command": "env"}));
        assert!(ran.to_string().contains("PATH="), "{ran}");
        assert!(!ran.to_string().contains("canary"), "{ran}");
    }
}

/// Its supervisor ends a command when we are gone, which may take a moment longer than our own end.
#[track_caller]
fn gone(pid: &str) {
    let since = Instant::now();
    while std::path::Path::new("/proc").join(pid).exists() {
        assert!(since.elapsed() < Duration::from_secs(2), "{pid} outlived us");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn run(place: &Place, args: &[&str]) -> Ran {
    place.run(args)
}

#[test]
fn what_keeps_it_from_starting_is_one_line_and_a_code() {
    let place = Place::new();
    let version = format!("tillerman {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&place, &["rpc", "--version"]).ok(), version);
    assert_eq!(run(&place, &["--mode", "rpc", "--frob", "x", "-v"]).ok(), version);
    for (args, code, said) in [
        (&["rpc", "@notes.txt"][..], 1, "Error: @file arguments are not supported in RPC mode\n"),
        (&["--mode=rpc", "--model", "tour", "@a"], 1, "Error: @file arguments are not supported in RPC mode\n"),
        (&["rpc", "--model"], 2, "Error: --model wants a value\n"),
        (&["rpc", "--permission-mode", "yolo"], 2, "Error: --permission-mode is one of read-only,"),
        (&["rpc", "--workspace", "/no/such"], 1, "Error: no such workspace: /no/such"),
        (&["rpc", "--session", "nosuchid"], 1, "Error: No session found matching 'nosuchid'\n"),
        (&["rpc", "--fork", "a", "-c"], 1, "Error: --fork cannot be combined with --continue\n"),
        (&["rpc", "--provider", "tour", "--model", "x"], 1, "Error: no model `tour/x`; there is: tour, tour-mini\n"),
    ] {
        let ran = run(&place, args);
        ran.fails(code, said);
        assert_eq!(ran.out, "", "{args:?}: stdout is protocol only");
    }
    assert!(!place.home().join("agent").exists(), "a look leaves no trace");
}

#[test]
fn a_described_provider_is_used_with_its_key_its_headers_and_its_differences() {
    let model = MockModel::start_blocking();
    let settings = r#"{"defaultProvider": "lab", "defaultModel": "alpha-1", "defaultThinkingLevel": "low",
        "steeringMode": "all", "retry": {"enabled": false}, "compaction": {"enabled": false}}"#;
    let place = place(&lab(&model, "!echo sk-canary-command"), settings).env("LAB_WORD", "canary-lab-token");
    let mut host = Host::start(&place, &["--mode", "rpc", "--unknown-flag", "value", "--tools", "read,bash"]);
    let state = host.state();
    assert_eq!(state["model"]["provider"], "lab");
    assert_eq!(state["model"]["id"], "alpha-1");
    assert_eq!(state["model"]["name"], "Alpha");
    assert_eq!(state["model"]["cost"]["output"], 2);
    assert_eq!((&state["steeringMode"], &state["autoCompactionEnabled"]), (&json!("all"), &json!(false)));
    assert_eq!(state["thinkingLevel"], "low");
    assert_eq!(model.requests().len(), 0, "starting touches no network");

    host.prompt("say 3 words");
    let request = model.chats().pop().unwrap();
    assert_eq!(request.header("authorization"), Some("Bearer sk-canary-command"));
    assert_eq!(request.header("x-lab"), Some("canary-lab-token"));
    let body = request.json();
    assert_eq!((&body["model"], &body["reasoning_effort"]), (&json!("alpha-1"), &json!("low")));
    assert_eq!(body["messages"][0]["role"], "system");
    assert_eq!(body["max_completion_tokens"], 4000);
    let tools: Vec<&str> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["read", "bash"]);

    let answer = host.ask(json!({"type": "set_model", "provider": "lab", "modelId": "nope"}));
    assert_eq!(answer["error"], "Model not found: lab/nope");
    assert_eq!(host.ask(json!({"type": "set_model", "provider": "lab", "modelId": "beta-1"}))["success"], true);
    // The commands of a model do not inherit what the files name.
    let shell = host.ask(json!({"type": "bash", "command": "env"}));
    assert!(!shell["data"]["output"].as_str().unwrap().contains("canary"), "{shell}");
    let file = std::path::PathBuf::from(host.state()["sessionFile"].as_str().unwrap());
    let (code, said, _) = host.close();
    assert_eq!(code, Some(0));
    assert!(said.contains("unknown flags are skipped: --unknown-flag\n"), "{said}");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains("\"provider\":\"lab\",\"modelId\":\"alpha-1\""), "{written}");
    assert!(!format!("{said}{written}").contains("canary"), "a key stays out of notes and files");
}

#[test]
fn models_are_listed_and_broken_files_only_cost_a_line() {
    let model = MockModel::start_blocking();
    let good = place(&lab(&model, "LAB_WORD"), "");
    let listed = run(&good, &["rpc", "--list-models"]).ok();
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["provider", "model", "context", "max-out", "thinking", "images"]);
    assert_eq!(rows[1], ["lab", "alpha-1", "64000", "4000", "yes", "no"]);
    assert_eq!(rows.len(), 3);
    assert_eq!(run(&good, &["rpc", "--list-models", "BETA"]).ok().lines().count(), 2);

    let broken = place("{\"providers\": {\n  sk-canary", "{\"defaultModel\": 3}").env("TILLERMAN_MODEL", "tour");
    let mut host = Host::start(&broken, &["rpc"]);
    assert_eq!(host.state()["model"]["id"], "tour");
    let (code, said, _) = host.close();
    assert_eq!(code, Some(0));
    assert!(said.contains("models.json: ") && said.contains("line 2 column 3"), "{said}");
    assert!(said.contains("defaultModel wants text"), "{said}");
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn the_end_of_stdin_ends_it_at_once_even_in_mid_stream() {
    let model = MockModel::start_blocking();
    let place = place(&lab(&model, "key"), "");
    let mut host = Host::start(&place, &["rpc", "--model", "beta"]);
    host.say(&json!({"type": "prompt", "message": "stall 2 say 5 words"}));
    host.until("message_update");
    let (code, _, took) = host.close();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(3), "{took:?}");

    let mut host = Host::start(&place, &["rpc", "--model", "beta"]);
    let marker = place.file("pid");
    let command = format!("echo $$ > {}; sleep 300", marker.display());
    host.say(&json!({"type": "prompt", "message": format!("call bash {}", json!({"command": command}))}));
    let since = Instant::now();
    let pid = loop {
        match std::fs::read_to_string(&marker).ok().filter(|pid| pid.ends_with('\n')) {
            Some(pid) => break pid.trim().to_owned(),
            None => assert!(since.elapsed() < PATIENCE, "the command never started"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (code, _, took) = host.close();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
    gone(&pid);
}

#[test]
fn a_session_goes_on_by_age_by_id_by_path_and_as_a_copy() {
    let place = place("", "").env("TILLERMAN_MODEL", "tour");
    let mut host = Host::start(&place, &["rpc"]);
    host.prompt("hello");
    let first = host.state();
    let (id, file) = (first["sessionId"].as_str().unwrap(), first["sessionFile"].as_str().unwrap());
    assert_eq!(first["messageCount"], 2);
    host.close();
    for args in
        [&["rpc", "-c"][..], &["rpc", "--resume"], &["rpc", "--session", &id[..30]], &["rpc", "--session", file]]
    {
        let mut host = Host::start(&place, args);
        let state = host.state();
        assert_eq!((&state["sessionId"], &state["messageCount"]), (&json!(id), &json!(2)), "{args:?}");
        assert_eq!(state["sessionFile"], json!(file), "{args:?}");
        host.close();
    }
    let before = std::fs::read(file).unwrap();
    let exported = run(&place, &["rpc", "--export", file]).ok();
    let page = exported.trim().strip_prefix("Exported to: /work/").expect("it says where the page is");
    let html = std::fs::read_to_string(place.file(page)).unwrap();
    assert!(html.starts_with("<!") && html.contains("hello"), "{page}");
    assert_eq!(std::fs::read(file).unwrap(), before, "an export only reads");
    run(&place, &["rpc", "--export", "nothing.jsonl"]).fails(1, "Error: cannot export nothing.jsonl: ");
    let mut host = Host::start(&place, &["rpc", "--fork", file]);
    let copy = host.state();
    assert_ne!(copy["sessionId"], json!(id));
    assert_eq!(copy["messageCount"], 2);
    host.close();
    let mut host = Host::start(&place, &["rpc", "--no-session", "-c"]);
    let state = host.state();
    assert_eq!((state.get("sessionFile"), &state["messageCount"]), (None, &json!(0)));
    host.close();
    let elsewhere = place.work().with_file_name("sessions");
    let mut host = Host::start(&place, &["rpc", "--session-dir", elsewhere.to_str().unwrap()]);
    host.prompt("hello");
    host.close();
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 1);
}

#[test]
fn a_resumed_session_has_todays_permissions() {
    let model = MockModel::start_blocking();
    let place = place(&lab(&model, "key"), "");
    let write = |name: &str| format!("call write {} then say done", json!({"path": name, "content": "x"}));
    let mut host = Host::start(&place, &["rpc", "--model", "beta-1"]);
    host.prompt(&write("free.txt"));
    host.close();
    assert!(place.file("free.txt").exists(), "tools run as in the originals");
    let mut host = Host::start(&place, &["rpc", "-c", "--permission-mode", "read-only"]);
    assert_eq!(host.state()["model"]["id"], "beta-1", "the session remembers its model");
    host.prompt(&write("tight.txt"));
    host.close();
    assert!(!place.file("tight.txt").exists(), "but not the wider mode");
}

#[test]
fn cycling_stays_within_the_scope() {
    let model = MockModel::start_blocking();
    let place = place(&lab(&model, "key"), "");
    let mut host = Host::start(&place, &["rpc", "--models", "beta,alpha:high"]);
    assert_eq!(host.state()["model"]["id"], "beta-1", "the first of the scope");
    let next = host.ask(json!({"type": "cycle_model"}));
    assert_eq!((&next["data"]["model"]["id"], &next["data"]["isScoped"]), (&json!("alpha-1"), &json!(true)));
    host.close();
}

#[test]
fn extensions_are_there_before_the_first_command_and_gone_with_us() {
    let guard = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/extensions/guard.py");
    let place = place("", &json!({"extensions": [guard, "missing.py"]}).to_string()).env("TILLERMAN_MODEL", "tour");
    let mut host = Host::start(&place, &["rpc"]);
    let error = host.until("extension_error");
    assert!(error["extensionPath"].as_str().unwrap().ends_with("/agent/missing.py"), "{error}");
    let commands = host.ask(json!({"type": "get_commands"}))["data"]["commands"].take();
    assert_eq!((&commands[0]["name"], &commands[0]["source"]), (&json!("guard"), &json!("extension")), "{commands}");
    let children = || std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", host.child.id())).unwrap();
    let running: Vec<String> = children().split_whitespace().map(str::to_owned).collect();
    assert!(!running.is_empty(), "it is a process of its own");
    assert_eq!(host.close().0, Some(0));
    for pid in running {
        gone(&pid);
    }
    let mut host = Host::start(&place, &["rpc", "--no-extensions"]);
    assert_eq!(host.ask(json!({"type": "get_commands"}))["data"]["commands"], json!([]));
}

#[test]
fn a_damaged_end_of_the_log_is_said_and_is_in_the_log_whatever_is_asked_first() {
    let place = place("", "").env("TILLERMAN_MODEL", "tour");
    let mut host = Host::start(&place, &["rpc"]);
    host.prompt("hello");
    host.close();
    place.run(&["sessions", "rename", "latest", "MARMALADE"]).ok();
    let database = place.home().join("sessions.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let record = b"\"MARMALADE\"";
    let at = bytes.windows(record.len()).position(|it| it == record).expect("the newest record");
    bytes[at + 1] = b'm';
    std::fs::write(&database, bytes).unwrap();

    let mut host = Host::start(&place, &["rpc", "--continue"]);
    assert_eq!(host.ask(json!({ "type": "get_messages" }))["success"], true);
    host.prompt("and on");
    let (code, err, _) = host.close();
    assert_eq!(code, Some(0));
    assert!(err.contains("was damaged: the log was cut back to entry"), "{err}");
    let shown = place.run(&["sessions", "show", "latest"]).ok();
    assert_eq!(shown.matches("was damaged: the log was cut back to entry").count(), 1, "{shown}");
    assert!(shown.contains("and on"), "{shown}");
}
