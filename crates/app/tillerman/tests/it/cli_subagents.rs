//! Sub-agents, with the binary: what they do is done, what they use is counted, and their sessions are found when wanted.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::Place;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

fn listed(place: &Place, all: bool) -> Vec<Value> {
    let more: &[&str] = if all { &["--all"] } else { &[] };
    lines(&place.run(&[&["sessions", "list", "--json"], more].concat()).ok())
}

/// A turn whose sub-agent plays a script and writes a file.
fn worked() -> (Place, Value) {
    let place = Place::new();
    let script = place.file("below.script");
    let replies = "usage 20 2 call write_file {\"path\": \"deep.txt\", \"content\": \"x\"}\n\nusage 30 3 say written\n";
    std::fs::write(&script, replies).unwrap();
    let task = json!({
        "task": "dig",
        "label": "digging",
        "access": "danger-full-access",
        "model": format!("script:{}", script.display()),
    });
    let prompt = format!("usage 100 10 call subagent {task} then usage 40 4 say thanks");
    let ran = place.run(&["run", "--json", "--mode", "danger-full-access", &prompt]);
    let end = lines(&ran.out).pop().unwrap();
    ran.ok();
    (place, end)
}

#[test]
fn what_a_sub_agent_uses_is_part_of_the_turn_and_of_the_session() {
    let (place, end) = worked();
    assert_eq!((&end["stop"], &end["usage"]["input_tokens"]), (&json!("end_turn"), &json!(190)), "{end}");
    assert_eq!(end["usage"]["output_tokens"], 19);
    assert!(place.file("deep.txt").exists());
    let own = listed(&place, false);
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!((&own[0]["child_of"], &own[0]["usage"]["input_tokens"]), (&Value::Null, &json!(190)));
    let all = listed(&place, true);
    let child = all.iter().find(|it| !it["child_of"].is_null()).unwrap();
    assert_eq!((all.len(), &child["child_of"], &child["title"]), (2, &own[0]["id"], &json!("digging")));
    assert_eq!((&child["usage"]["input_tokens"], &child["mode"]), (&json!(50), &json!("danger-full-access")));
}

#[test]
fn a_sub_agents_session_is_read_by_its_id_and_deleted_with_the_one_it_worked_for() {
    let (place, _) = worked();
    let all = listed(&place, true);
    let child = all.iter().find(|it| !it["child_of"].is_null()).unwrap();
    let (child, parent) = (child["id"].as_str().unwrap(), child["child_of"].as_str().unwrap());
    let shown = place.run(&["sessions", "show", child]).ok();
    assert!(shown.contains("user\ndig\n") && shown.contains("written"), "{shown}");
    let latest = place.run(&["sessions", "show", "latest"]).ok();
    assert!(latest.contains("thanks"), "{latest}");
    let said = place.run(&["sessions", "delete", "--yes", parent]).ok();
    assert_eq!(said, format!("deleted {parent} and the session of its sub-agent\n"));
    assert!(listed(&place, true).is_empty());
}

/// Over `serve`, where every call is asked about: once for the whole sub-agent, and nothing inside.
#[test]
fn a_controller_is_asked_once_and_its_interrupt_ends_both() {
    let place = Place::new();
    let mut serve = place.command(&["serve"]).spawn().unwrap();
    let (mut input, output) = (serve.stdin.take().unwrap(), serve.stdout.take().unwrap());
    let mut frames = BufReader::new(output).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut until = |kind: &str| frames.find(|frame| frame["type"] == kind).expect("it comes");
    until("ready");
    let task = json!({ "task": "call list_dir {} then say begun pause 60000 say done", "access": "workspace-write" });
    let prompt = json!({ "type": "prompt", "text": format!("call subagent {task}") });
    writeln!(input, "{prompt}").unwrap();
    let asked = until("permission_request");
    assert_eq!((&asked["tool"], &asked["required_mode"]), (&json!("Agent"), &json!("workspace-write")), "{asked}");
    let id = &asked["request_id"];
    writeln!(input, "{}", json!({ "type": "permission_response", "request_id": id, "decision": "allow" })).unwrap();
    let since = Instant::now();
    let all = loop {
        let all = listed(&place, true);
        if all.iter().any(|it| !it["child_of"].is_null() && it["messages"].as_u64() >= Some(2)) {
            break all;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "no sub-agent: {all:?}");
    };
    assert_eq!(all.len(), 2);
    writeln!(input, "{}", json!({ "type": "interrupt" })).unwrap();
    let end = until("turn_complete");
    assert_eq!(end["stop_reason"], "interrupted", "{end}");
    drop(input);
    assert!(serve.wait().unwrap().success());
    let all = listed(&place, true);
    let of = |is_child: bool| all.iter().find(|it| it["child_of"].is_null() != is_child).unwrap();
    assert_eq!(
        (of(true)["turns"].as_u64(), of(false)["turns"].as_u64()),
        (Some(1), Some(1)),
        "both turns ended in order"
    );
    let tokens = |it: &Value| it["usage"]["input_tokens"].as_u64().unwrap();
    assert!(tokens(of(false)) > tokens(of(true)) && tokens(of(true)) > 0, "{all:?}");
}
