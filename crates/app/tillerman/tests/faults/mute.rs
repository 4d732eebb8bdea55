//! A server that takes connections and says nothing, and one that takes none: whoever starts without naming a model is heard
//! at once, every request is answered under its id, and what failed is told where it was needed.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::faults::{PATIENCE, Process, World, brief};

use crate::worlds::tour;

/// Until the first word, on a busy machine.
const START_MAX: Duration = Duration::from_secs(5);

/// Where models would be; the listener is held and never accepts.
fn servers() -> [(&'static str, Option<TcpListener>, u16); 2] {
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let port = mute.local_addr().unwrap().port();
    [("mute", Some(mute), port), ("refusing", None, closed)]
}

fn start(world: &World, port: u16, dialect: &str, args: &[&str], is_message: fn(&Value) -> bool) -> Process {
    let mut command = world.command(&[]);
    command.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
    Process::speaking(command.arg(dialect).args(args).stderr(world.stderr_log()), is_message)
}

/// Everything up to the response to `id`.
fn answer(process: &mut Process, id: &Value) -> Value {
    let mut seen = process.until_one("response", |_, value| value["id"] == *id && value.get("method").is_none());
    seen.pop().expect("it was waited for")
}

/// Requests under ids of their own, all in one go; each has one answer.
fn all_answered(process: &mut Process, requests: Vec<Value>, about: &str) -> Vec<Value> {
    let mut open: Vec<Value> = requests.iter().map(|request| request["id"].clone()).collect();
    requests.iter().for_each(|request| process.send(request));
    let (mut answers, mut seen) = (Vec::new(), Vec::new());
    let deadline = Instant::now() + PATIENCE;
    while !open.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        let Some(value) = process.next(left) else {
            panic!("{about}: no answer to {open:?}\n{}", brief(&seen));
        };
        let is_response =
            value.get("method").is_none() && (value["type"] == "response" || value.get("jsonrpc").is_some());
        assert!(!(is_response && value["id"].is_null()), "{about}: an answer without an id: {value}");
        if let Some(at) = open.iter().position(|id| is_response && *id == value["id"]) {
            open.remove(at);
            answers.push(value.clone());
        }
        seen.push(value);
    }
    answers
}

#[test]
fn rpc_is_ready_at_once_and_answers_everything_under_its_id() {
    for (kind, _held, port) in servers() {
        let world = tour();
        let started = Instant::now();
        let mut rpc = start(&world, port, "rpc", &[], |value| value["type"].is_string());
        assert_eq!(rpc.next(PATIENCE).expect("the first line")["type"], "ready", "{kind}");
        assert!(started.elapsed() < START_MAX, "{kind}: {:?}", started.elapsed());
        let commands = [
            json!({ "type": "get_available_models" }),
            json!({ "type": "cycle_model" }),
            json!({ "type": "set_model", "provider": "nobody", "modelId": "none" }),
            json!({ "type": "get_state" }),
            json!({ "type": "get_messages" }),
            json!({ "type": "get_session_stats" }),
            json!({ "type": "switch_session", "sessionPath": "/proc/nowhere/x.jsonl" }),
            json!({ "type": "export_html", "outputPath": "/proc/nowhere.html" }),
            json!({ "type": "compact" }),
            json!({ "type": "get_entries" }),
            json!({ "type": "fork", "entryId": "00000000" }),
        ];
        let numbered = commands.into_iter().enumerate().map(|(n, mut command)| {
            command["id"] = format!("r{n}").into();
            command
        });
        let answers = all_answered(&mut rpc, numbered.collect(), kind);
        let listed = answers.iter().find(|answer| answer["id"] == "r0").expect("it was answered");
        assert_eq!(
            (&listed["success"], &listed["command"]),
            (&json!(true), &json!("get_available_models")),
            "{listed}"
        );
        assert_eq!(listed["data"]["models"].as_array().map(Vec::len), Some(1), "what is known: {listed}");
        rpc.send(&json!({ "id": "p", "type": "prompt", "message": "hi" }));
        let seen = rpc.until_one("agent_end", |_, value| value["type"] == "agent_end" && value["willRetry"] != true);
        let end = seen.iter().rev().find(|value| value["type"] == "message_end").expect("something was said");
        assert!(end["message"]["errorMessage"].is_string(), "{kind}: {end}");
        rpc.kill();
    }
}

#[test]
fn serve_is_ready_at_once_and_a_prompt_says_what_is_wrong() {
    for (kind, _held, port) in servers() {
        let world = tour();
        let started = Instant::now();
        let mut serve = start(&world, port, "serve", &[], |value| value["type"].is_string());
        assert_eq!(serve.next(PATIENCE).expect("the first line")["type"], "ready", "{kind}");
        assert!(started.elapsed() < START_MAX, "{kind}: {:?}", started.elapsed());
        serve.send(&json!({ "type": "prompt", "text": "hi" }));
        let seen = serve.until_one("turn_complete", |_, value| value["type"] == "turn_complete");
        let error = seen.iter().find(|value| value["type"] == "error").expect("why it failed");
        assert!(!error["turn_id"].is_null(), "{kind}: {error}");
        if kind == "mute" {
            assert!(error["message"].as_str().unwrap().contains("gave no list of models within 10000 ms"), "{error}");
            assert!(error.to_string().contains("--model"), "{error}");
        }
        serve.kill();
    }
}

#[test]
fn loaf_answers_at_once_and_everything_under_its_id() {
    for (kind, _held, port) in servers() {
        let world = tour();
        let started = Instant::now();
        let mut loaf = start(&world, port, "loaf", &[], |value| value["jsonrpc"] == "2.0");
        loaf.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "session.create", "params": {} }));
        let created = answer(&mut loaf, &json!(1));
        assert!(started.elapsed() < START_MAX, "{kind}: {:?}", started.elapsed());
        let session = created["result"]["session_id"].clone();
        assert!(session.is_string(), "{created}");
        let methods =
            ["model.list", "session.get", "history.list", "history.get", "session.queue.list", "session.interrupt"];
        let requests = methods.iter().enumerate().map(|(n, method)| {
            json!({ "jsonrpc": "2.0", "id": n + 10, "method": method, "params": { "session_id": session } })
        });
        all_answered(&mut loaf, requests.collect(), kind);
        let params = json!({ "session_id": session, "text": "hi" });
        loaf.send(&json!({ "jsonrpc": "2.0", "id": 50, "method": "session.send", "params": params }));
        loaf.until_one("session.error", |_, value| value["params"]["type"] == "session.error");
        loaf.kill();
    }
}

#[test]
fn acp_answers_initialize_at_once_and_a_prompt_with_an_error() {
    for (kind, _held, port) in servers() {
        let world = tour();
        let started = Instant::now();
        let mut acp = start(&world, port, "acp", &[], |value| value["jsonrpc"] == "2.0");
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        acp.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
        assert_eq!(answer(&mut acp, &json!(1))["result"]["protocolVersion"], 1, "{kind}");
        assert!(started.elapsed() < START_MAX, "{kind}: {:?}", started.elapsed());
        let new = json!({ "cwd": world.workspace, "mcpServers": [] });
        let asked = Instant::now();
        acp.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new", "params": new }));
        let session = answer(&mut acp, &json!(2))["result"]["sessionId"].clone();
        // It waits for the list of models, and not for long.
        assert!(session.is_string() && asked.elapsed() < START_MAX, "{kind}: {:?}", asked.elapsed());
        let prompt = json!([{ "type": "text", "text": "hi" }]);
        let params = json!({ "sessionId": session, "prompt": prompt });
        let list = json!({ "jsonrpc": "2.0", "id": 4, "method": "session/list", "params": {} });
        let prompt = json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params });
        all_answered(&mut acp, vec![prompt, list], kind);
        acp.kill();
    }
}

#[test]
fn a_run_fails_in_the_time_that_it_names() {
    let [(_, _held, port), _] = servers();
    let world = tour();
    let mut command = world.command(&[]);
    command.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1")).args(["run", "hi"]);
    let started = Instant::now();
    let ran = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(started.elapsed() < START_MAX, "{:?}: {said}", started.elapsed());
    assert!(!ran.status.success() && said.contains("within 1500 ms") && said.contains("--model"), "{said}");
}
