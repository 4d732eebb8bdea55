//! The recorded conversations of real agents: every line of theirs becomes an event or an answer, and nothing is lost.

use std::path::Path;

use acp_client::ClientEvent;
use acp_types::{
    ContentBlock, InitializeResponse, PermissionOption, PromptResponse, SessionResponse, SessionUpdate, TurnUsage,
};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::agent::{next, pair, quiet};

/// The recordings live outside the repository; where they are not, the list is empty and a note says so.
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
fn recordings() -> Vec<(String, Vec<Value>)> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = "shared/spec/transcripts/acp";
    let Some(folder) = from.ancestors().map(|up| up.join(place)).find(|folder| folder.is_dir()) else {
        eprintln!("SKIP: no recorded conversations beside the repository");
        return Vec::new();
    };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (file.file_stem().unwrap().to_string_lossy().into_owned(), lines)
    };
    files.iter().map(read).collect()
}

/// Without members that are null: missing and null mean the same.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        // 0 and 0.0 are one number.
        Value::Number(number) => number.as_f64().into(),
        other => other.clone(),
    }
}

#[track_caller]
fn survives<T: serde::Serialize + serde::de::DeserializeOwned>(said: &Value) -> T {
    let read: T = serde_json::from_value(said.clone()).expect("it can be read");
    assert_eq!(plain(&serde_json::to_value(&read).unwrap()), plain(said));
    read
}

#[test]
fn what_agents_say_survives_being_read() {
    let mut counts = [0; 4];
    for (name, lines) in recordings() {
        let mut asked = std::collections::HashMap::new();
        for line in &lines {
            let message = &line["msg"];
            if line["dir"] == "c2a" {
                if let Some(method) = message["method"].as_str() {
                    asked.insert(message["id"].to_string(), method.to_owned());
                }
                continue;
            }
            match message["method"].as_str() {
                Some("session/update") => {
                    let update: SessionUpdate = survives(&message["params"]["update"]);
                    assert!(!matches!(update, SessionUpdate::Unknown(_)), "{name}: {message}");
                    if let SessionUpdate::AgentMessageChunk(chunk) = &update {
                        assert!(matches!(chunk.content, ContentBlock::Text { .. }), "{name}: {message}");
                    }
                    counts[0] += 1;
                }
                Some("session/request_permission") => {
                    for option in message["params"]["options"].as_array().unwrap() {
                        let option: PermissionOption = survives(option);
                        let id = option.option_id.to_lowercase();
                        assert_eq!(option.allows(), !(id.contains("deny") || id.contains("reject")), "{name}: {id}");
                        let unnamed = PermissionOption { kind: None, ..option };
                        assert_eq!(unnamed.allows(), !(id.contains("deny") || id.contains("reject")), "{name}: {id}");
                        counts[1] += 1;
                    }
                }
                _ => {}
            }
            if let Some(result) = message.get("result").filter(|result| !result.is_null()) {
                counts[2] += 1;
                match asked[&message["id"].to_string()].as_str() {
                    "initialize" => {
                        let agent: InitializeResponse = survives(result);
                        assert_eq!(agent.version(), Some(1), "{name}");
                    }
                    "session/new" | "session/load" | "session/resume" => drop(survives::<SessionResponse>(result)),
                    "session/list" => drop(survives::<acp_types::ListSessionsResponse>(result)),
                    "session/prompt" => {
                        let usage = TurnUsage::of(result);
                        assert_eq!(usage.is_some(), result["usage"].is_object(), "{name}: {result}");
                        counts[3] += 1;
                    }
                    _ => {}
                }
            }
        }
    }
    if !recordings().is_empty() {
        assert!(counts[0] > 50 && counts[1] > 5 && counts[2] > 20 && counts[3] > 5, "{counts:?}");
    }
}

/// Plays the agent's side of a recording against the real client, request for request.
#[tokio::test(start_paused = true)]
async fn recorded_agents_are_driven_to_the_same_end() {
    for (name, lines) in recordings() {
        let (client, mut events, mut agent) = pair(quiet());
        let mut waiting = std::collections::HashMap::new();
        let mut updates = 0;
        for line in &lines {
            let message = &line["msg"];
            let id = message["id"].to_string();
            if line["dir"] == "c2a" {
                let params = message["params"].clone();
                match message["method"].as_str() {
                    Some("initialize") => {
                        let client = client.clone();
                        let task = tokio::spawn(async move { client.initialize().await.map(|_| Value::Null) });
                        waiting.insert(id, (task, agent.hear().await["id"].clone()));
                    }
                    Some("session/prompt") => {
                        let session = params["sessionId"].as_str().unwrap().to_owned();
                        let client = client.clone();
                        let prompt = async move { client.prompt(&session, vec![]).await };
                        let task = tokio::spawn(async move {
                            prompt.await.map(|turn: PromptResponse| turn.stop_reason.as_str().into())
                        });
                        waiting.insert(id, (task, agent.hear().await["id"].clone()));
                    }
                    Some("session/cancel") if message.get("id").is_none() => {
                        client.cancel(params["sessionId"].as_str().unwrap()).await;
                        agent.hear_method("session/cancel").await;
                    }
                    Some(method) if message.get("id").is_some() => {
                        let (client, method) = (client.clone(), method.to_owned());
                        let task = tokio::spawn(async move { client.request(&method, params).await });
                        waiting.insert(id, (task, agent.hear().await["id"].clone()));
                    }
                    _ => {}
                }
                continue;
            }
            let Some(message) = message.as_object() else { continue };
            let mut said = Value::Object(message.clone());
            let answered = message.get("method").is_none();
            let mut task = None;
            if answered {
                let Some((found, real)) = waiting.remove(&id) else { continue };
                said["id"] = real;
                task = Some(found);
            }
            agent.output.write_all(format!("{said}\n").as_bytes()).await.unwrap();
            if let Some(task) = task {
                let outcome = task.await.unwrap();
                assert_eq!(outcome.is_err(), message.contains_key("error"), "{name}: {said} became {outcome:?}");
                continue;
            }
            loop {
                match next(&mut events).await {
                    ClientEvent::Update { .. } => updates += 1,
                    ClientEvent::Permission(ask) => {
                        client.choose(ask.ask, ask.options.first().map(|option| option.option_id.as_str())).await;
                        assert_eq!(agent.hear().await["result"]["outcome"]["outcome"], "selected", "{name}");
                    }
                    ClientEvent::TurnEnded { .. } | ClientEvent::CallLeftOpen { .. } => continue,
                    ClientEvent::Notification { .. } => {}
                    other => panic!("{name}: {other:?}"),
                }
                break;
            }
        }
        assert!(updates > 0 || name.starts_with("lite"), "{name}");
    }
}
