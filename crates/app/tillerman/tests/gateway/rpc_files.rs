//! Session files at `/rpc`: a gateway takes them in, makes none, and leaves those that there are as they are.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::process::Place;
use crate::proxy::Proxy;

/// What a host says until it is answered.
fn ask(host: &mut Proxy, command: &Value) -> Value {
    host.send(command);
    host.json("an answer", |line| line["type"] == "response" && line["id"] == command["id"])
}

fn prompt(host: &mut Proxy, text: &str) {
    host.send(&json!({"id": "p", "type": "prompt", "message": text}));
    host.json("the end", |line| line["type"] == "agent_end");
}

fn started(place: &Place, words: &[&str]) -> Proxy {
    let mut host = Proxy::start(place.command(), &[&["rpc"], words].concat());
    host.json("ready", |line| line["type"] == "ready");
    host
}

fn state(host: &mut Proxy) -> Value {
    ask(host, &json!({"id": "s", "type": "get_state"}))["data"].clone()
}

fn ended(mut host: Proxy) {
    host.eof();
    assert_eq!(host.ended(), Some(0), "{}", host.said());
}

/// A session that began without a gateway, and its file.
fn begun(place: &Place) -> (String, PathBuf) {
    let mut host = started(place, &["--model", "mock/alpha", "--session-id", "own-1"]);
    prompt(&mut host, "say 2 words");
    let state = state(&mut host);
    ended(host);
    (state["sessionId"].as_str().unwrap().to_owned(), state["sessionFile"].as_str().unwrap().into())
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn a_file_that_a_host_has_opens_its_session_and_stays_as_it_is() {
    let place = Place::new();
    let (id, file) = begun(&place);
    let (before, path) = (text(&file), file.to_str().unwrap());
    let gateway = place.start();
    let mut host = started(&place, &["--attach", "--session", path]);
    let here = state(&mut host);
    assert_eq!((here["sessionId"].as_str(), &here["sessionFile"]), (Some(&*id), &Value::Null), "{here}");
    prompt(&mut host, "say 5 words");
    // Who comes while it is open, and who has only the path of a file that is gone.
    let mut second = started(&place, &["--attach"]);
    let switch = json!({"id": "w", "type": "switch_session", "sessionPath": path});
    assert_eq!(ask(&mut second, &switch)["success"], true);
    assert_eq!(state(&mut second)["sessionId"], *id);
    let aside = file.with_extension("aside");
    std::fs::rename(&file, &aside).unwrap();
    let mut third = started(&place, &["--attach", "--session", path]);
    assert_eq!(state(&mut third)["sessionId"], *id);
    assert!(!file.exists(), "none is made");
    std::fs::rename(&aside, &file).unwrap();
    for host in [host, second, third] {
        ended(host);
    }
    assert_eq!(text(&file), before);
    assert_eq!(gateway.terminate(), Some(0));
    // Without the gateway the file follows again, with what was said meanwhile.
    let mut host = started(&place, &["--model", "mock/alpha", "--session", path]);
    prompt(&mut host, "say 3 words");
    ended(host);
    let after = text(&file);
    assert!(after.starts_with(&before) && after.contains("w4 w5") && after.contains("say 3 words"), "{after}");
}

/// Its host goes on with the file while a gateway has the session, for whoever is on it or was a moment ago.
#[test]
fn a_file_that_another_program_writes_to_opens_its_session_all_the_same() {
    let place = Place::new();
    let (_, own) = begun(&place);
    let file = place.workspace().join("2026-11-15T23-00-00-000Z_theirs-2.jsonl");
    std::fs::write(&file, text(&own).replace("\"own-1\"", "\"theirs-2\"")).unwrap();
    let path = file.to_str().unwrap();
    let gateway = place.start();
    let mut host = started(&place, &["--attach", "--session", path]);
    prompt(&mut host, "say 5 words");
    let theirs = json!({
        "type": "message", "id": "0000000f", "parentId": null, "timestamp": "2026-11-16T23:00:01.000Z",
        "message": {"role": "user", "content": [{"type": "text", "text": "of theirs"}], "timestamp": 9},
    });
    let grown = format!("{}{theirs}\n", text(&file));
    std::fs::write(&file, &grown).unwrap();
    let mut second = started(&place, &["--attach"]);
    let switch = json!({"id": "w", "type": "switch_session", "sessionPath": path});
    let switched = ask(&mut second, &switch);
    assert_eq!(switched["success"], true, "{switched}");
    let mut third = started(&place, &["--attach", "--session", path]);
    for host in [&mut second, &mut third] {
        assert_eq!(state(host)["sessionId"], "theirs-2");
        let messages = ask(host, &json!({"id": "m", "type": "get_messages"})).to_string();
        assert!(messages.contains("w4 w5"), "{messages}");
    }
    assert!(gateway.said().contains("has more than session"), "{}", gateway.said());
    let empty = ask(&mut third, &json!({"id": "e", "type": "switch_session", "sessionPath": ""}));
    assert_eq!(empty["success"], false, "no path is no path of the newest: {empty}");
    assert_eq!(text(&file), grown);
}

/// A gateway works in one directory, and says so.
#[test]
fn a_file_of_another_directory_is_refused_with_advice_that_helps() {
    let place = Place::new();
    let elsewhere = place.home.path().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let (id, own) = begun(&place);
    let cwd = place.workspace().canonicalize().unwrap();
    let far = elsewhere.join("2026-11-15T23-00-00-000Z_far-2.jsonl");
    let lines = text(&own).replace(&id, "far-2").replace(cwd.to_str().unwrap(), elsewhere.to_str().unwrap());
    std::fs::write(&far, lines).unwrap();
    let _gateway = place.start();
    let mut command = place.command();
    command.current_dir(&elsewhere);
    let mut host = Proxy::start(command, &["rpc", "--attach", "--session", far.to_str().unwrap()]);
    let refused = host.json("a refusal", |line| line["success"] == false);
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains("a gateway takes in files of") && why.contains("without --attach"), "{why}");
    assert!(!why.contains("--workspace"), "{why}");
    assert_eq!(host.ended(), Some(1), "as without a gateway");
    let said = host.said();
    assert!(said.contains("without --attach") || said.trim_end().ends_with('…'), "{said}");
}

#[test]
fn a_file_of_another_program_is_taken_in_and_what_is_none_is_refused() {
    let place = Place::new();
    let (_, file) = begun(&place);
    // As another program would have it: its own id, and names of lines that nobody has here.
    let theirs = place.workspace().join("2026-11-15T23-00-00-000Z_theirs-1.jsonl");
    let lines = text(&file).replace("\"own-1\"", "\"theirs-1\"").replace("say 2 words", "something of theirs");
    std::fs::write(&theirs, &lines).unwrap();
    let _gateway = place.start();
    let mut host = started(&place, &["--attach", "--session", theirs.to_str().unwrap()]);
    assert_eq!(state(&mut host)["sessionId"], "theirs-1");
    let messages = ask(&mut host, &json!({"id": "m", "type": "get_messages"})).to_string();
    assert!(messages.contains("something of theirs") && messages.contains("w1 w2"), "{messages}");
    prompt(&mut host, "say 4 words");
    assert_eq!(text(&theirs), lines);
    // What it says of another place does not count.
    let far = place.workspace().join("2026-11-15T23-00-00-000Z_far-1.jsonl");
    let cwd = place.workspace().canonicalize().unwrap();
    std::fs::write(&far, lines.replace("theirs-1", "far-1").replace(cwd.to_str().unwrap(), "/")).unwrap();
    let none = place.workspace().join("none.jsonl");
    std::fs::write(&none, "hello\n").unwrap();
    for (path, why) in
        [(far, "outside of"), (none, "session file"), (place.workspace().join("gone.jsonl"), "gone.jsonl")]
    {
        let refused = ask(&mut host, &json!({"id": "r", "type": "switch_session", "sessionPath": path}));
        let said = refused["error"].as_str().unwrap_or_default();
        assert!(refused["success"] == false && said.contains(why), "{refused}");
    }
    let dir = place.workspace().join("sessions");
    let refused = ask(&mut host, &json!({"id": "o", "type": "open_session", "sessionDir": dir}));
    assert!(refused["error"].as_str().is_some_and(|why| why.contains("switch_session")), "{refused}");
    let ends = format!("{}/", dir.display());
    let refused = ask(&mut host, &json!({"id": "d", "type": "switch_session", "sessionPath": ends}));
    assert!(refused["success"] == false && !dir.exists(), "{refused}");
}
