//! What clients sent to other agents in recorded conversations is sent to ours. Those agents are not ours, so little can be
//! the same to the letter. Compared is:
//!
//! * every request gets one response, a result where the recording has one and an error where it has one;
//! * what is told between a prompt (or a load) and its response, in kind and order: text of the user, thoughts, text, a call,
//!   the question for permission, how the call ended; neighbours of one kind count once;
//! * the `stopReason` of every prompt.
//!
//! Free are all texts and ids, everything in capabilities and settings, how many chunks an answer has, and updates that each
//! agent sends when it likes: commands, usage, the title, a call that is in progress. The prompts are spelled anew for our
//! built-in model, and the option that a client chose is ours of the same kind. `EXCEPT` has the rest, each with its reason.

use std::time::Duration;

use dialect_acp::Acp;
use serde_json::{Value, json};
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::Mode;

use crate::acp_stage;
use crate::golden::paused;
use crate::recordings::{Recording, recordings};

const QUIET: Duration = Duration::from_millis(300);

/// Recording, number of the request, what is ours instead, and why.
const EXCEPT: &[(&str, u64, &str, &str)] = &[
    ("hermes_scarf_perm", 3, "call ask completed text end_turn", "we understand this client's form of an answer"),
    ("claude_mini", 7, "result", "some clients send a cancel as a request; we carry it out"),
    ("lite_claude", 1, "result", "that agent could not start"),
];

/// What our model is told to do in place of a recorded prompt.
fn prompt(recorded: &str) -> String {
    match recorded {
        _ if recorded.starts_with("TOOL:") => {
            "call write_file {\"path\":\"zq\",\"content\":\"x\"} then say \"Tool finished.\"".into()
        }
        _ if recorded.starts_with("SLOW") => "say \"tick tick\" hold".into(),
        _ if recorded.contains("THINK") => "think \"pondering deeply\" say \"Hello from mock.\"".into(),
        _ => "say \"Hello from mock.\"".into(),
    }
}

/// Our option for one of another agent.
fn option(recorded: &str) -> &'static str {
    match recorded {
        "allow_once" | "allow-once" | "once" => "allow_once",
        "deny" | "reject" => "deny",
        other => panic!("an option that no recording had so far: {other}"),
    }
}

/// What a line of an agent is for the comparison.
fn kind(line: &Value) -> Option<&'static str> {
    if line["method"] == "session/request_permission" {
        return Some("ask");
    }
    let update = &line["params"]["update"];
    match (update["sessionUpdate"].as_str()?, update["status"].as_str()) {
        ("user_message_chunk", _) => Some("user"),
        ("agent_thought_chunk", _) => Some("thought"),
        ("agent_message_chunk", _) => Some("text"),
        ("tool_call", _) => Some("call"),
        ("tool_call_update", Some("completed")) => Some("completed"),
        ("tool_call_update", Some("failed")) => Some("failed"),
        _ => None,
    }
}

/// What is told up to the response of a request, and the response, in words.
fn told<'a>(lines: impl Iterator<Item = &'a Value>, request: u64) -> String {
    let mut words: Vec<String> = Vec::new();
    for line in lines {
        if line["id"] == request && line.get("method").is_none() {
            let end = match (line["error"].is_object(), line["result"]["stopReason"].as_str()) {
                (true, _) => "error",
                (false, Some(reason)) => reason,
                (false, None) => "result",
            };
            words.push(end.to_owned());
            return words.join(" ");
        }
        words.extend(kind(line).filter(|kind| words.last().is_none_or(|last| last != kind)).map(str::to_owned));
    }
    format!("{} (no response)", words.join(" "))
}

struct Play {
    stage: Stage,
    pipe: Pipe,
    heard: Vec<Value>,
    session: String,
}

impl Play {
    fn new() -> Self {
        let stage = Stage::new(StageOptions { mode: Mode::Prompt, ..StageOptions::default() });
        let dialect = Acp::new(acp_stage::options());
        let pipe = Pipe::new(&stage.engine, Box::new(dialect), host::PumpOptions::default());
        Self { stage, pipe, heard: Vec::new(), session: String::new() }
    }

    async fn send(&mut self, line: &Value) {
        self.pipe.send(&line.to_string()).await;
        let heard = self.pipe.heard(QUIET).await;
        self.heard.extend(heard.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        let opened = self.heard.iter().rev().find_map(|line| line["result"]["sessionId"].as_str());
        self.session = opened.unwrap_or(&self.session).to_owned();
    }

    /// The session that a recording finds when it begins.
    async fn past(&mut self) {
        let say = |text: &str| json!([{ "type": "text", "text": prompt(text) }]);
        let cwd = self.stage.workspace().to_owned();
        let request = |id, method, params| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request(1001, "session/new", json!({ "cwd": cwd, "mcpServers": [] }))).await;
        let session = self.session.clone();
        for (id, text) in [(1002, "remember pear"), (1003, "TOOL:")] {
            self.send(&request(id, "session/prompt", json!({ "sessionId": session, "prompt": say(text) }))).await;
        }
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
        self.send(&json!({ "jsonrpc": "2.0", "id": 0, "result": outcome })).await;
        self.send(&request(1004, "session/close", json!({ "sessionId": session }))).await;
        self.heard.clear();
    }

    /// A recorded line as this client would send it to us.
    fn ours(&self, recorded: &Value) -> Value {
        let mut line = recorded.clone();
        if line["params"]["cwd"].is_string() {
            line["params"]["cwd"] = json!(self.stage.workspace());
        }
        if line["params"]["sessionId"] == "session-1" {
            line["params"]["sessionId"] = json!(self.session);
        }
        if let Some(text) = line["params"]["prompt"][0]["text"].as_str().map(prompt) {
            line["params"]["prompt"][0]["text"] = json!(text);
        }
        if let Some(chosen) = line["result"]["outcome"]["optionId"].as_str().map(option) {
            line["result"]["outcome"]["optionId"] = json!(chosen);
        }
        line
    }
}

async fn replay(recording: &Recording) -> usize {
    let lines = recording.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<(bool, Value)> = lines
        .filter(|line| line["dir"].is_string())
        .map(|mut line| (line["dir"] == "c2a", line["msg"].take()))
        .collect();
    let mut play = Play::new();
    if recording.name.ends_with("list_load") {
        play.past().await;
    }
    let mut compared = 0;
    let mut asked = Vec::new();
    for (at, (sent, line)) in lines.iter().enumerate() {
        if !sent {
            continue;
        }
        let before = play.heard.len();
        let ours = play.ours(line);
        play.send(&ours).await;
        if let (Some(id), true) = (line["id"].as_u64(), line["method"].is_string()) {
            asked.push((id, at, before));
        }
    }
    for (id, at, before) in asked {
        let recorded = told(lines[at..].iter().filter(|(sent, _)| !sent).map(|(_, line)| line), id);
        let got = told(play.heard[before..].iter(), id);
        let except = EXCEPT.iter().find(|(name, request, ..)| *name == recording.name && *request == id);
        let wanted = except.map_or(&*recorded, |(_, _, ours, _)| ours);
        assert!(except.is_none() || recorded != wanted, "{} {id}: no exception is needed", recording.name);
        assert_eq!(got, wanted, "{}: request {id}: {}", recording.name, lines[at].1);
        compared += 1;
    }
    compared
}

#[test]
fn what_clients_sent_to_other_agents_is_answered_in_kind() {
    let all = recordings("acp");
    let mut compared = 0;
    for recording in &all {
        compared += paused(replay(recording));
    }
    assert!(all.is_empty() || compared >= 40, "only {compared} requests were compared");
}

/// Every member that a client of another agent could look for is of the type that the recording has.
#[test]
fn a_list_has_the_shape_that_was_recorded() {
    for recording in recordings("acp").iter().filter(|recording| recording.name.ends_with("list_load")) {
        let heard = paused(async {
            let mut play = Play::new();
            play.past().await;
            play.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "session/list", "params": {} })).await;
            play.heard
        });
        let recorded = recording.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let recorded = recorded.map(|line| line["msg"].clone()).find(|line| line["result"]["sessions"].is_array());
        let (recorded, ours) = (recorded.unwrap(), heard.iter().find(|line| line["id"] == 1).unwrap());
        let types = |line: &Value| -> Vec<(String, bool)> {
            let row = line["result"]["sessions"][0].as_object().unwrap();
            row.iter().map(|(name, value)| (name.clone(), value.is_string())).collect()
        };
        let (mut recorded, mut ours) = (types(&recorded), types(ours));
        recorded.sort();
        ours.sort();
        assert_eq!(ours, recorded, "{}", recording.name);
    }
}

/// A comparison that could not fail would say nothing.
#[test]
fn what_is_told_is_told_apart() {
    let lines = [
        json!({ "method": "session/update", "params": { "update": { "sessionUpdate": "agent_message_chunk" } } }),
        json!({ "method": "session/update", "params": { "update": { "sessionUpdate": "agent_message_chunk" } } }),
        json!({ "method": "session/update", "params": { "update": { "sessionUpdate": "usage_update" } } }),
        json!({ "id": 1, "result": { "stopReason": "end_turn" } }),
    ];
    assert_eq!(told(lines.iter(), 1), "text end_turn");
    assert_eq!(told(lines.iter(), 2), "text (no response)");
    assert_eq!(told([json!({ "id": 1, "error": {} })].iter(), 1), "error");
}
