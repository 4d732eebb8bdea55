//! Lines as a reader of tests wants them: one short line each, without times. The bytes themselves stand in `golden/loaf`.

use serde_json::{Value, json};

/// `None` for what the tests count elsewhere.
pub(crate) fn show(line: &Value) -> Option<String> {
    let Some(params) = line.get("params") else { return Some(response(line)) };
    let (kind, payload) = (params["type"].as_str().unwrap(), &params["payload"]);
    let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    let session = text("session_id");
    Some(match kind {
        "session.context.estimate" => return None,
        "session.status" => {
            let turn = payload.get("turn_id").map_or(String::new(), |turn| format!(" {}", turn.as_str().unwrap()));
            format!("{session}{turn} [{}]", text("status_label"))
        }
        "session.message.appended" => format!("{session} {}", message(&payload["message"])),
        "session.stream.chunk" => format!("{session} {} {}", text("turn_id"), chunk(&payload["chunk"])),
        "state.changed" => {
            let session = if session.is_empty() { session } else { format!(" {session}") };
            format!("state.changed {}{session}", text("reason"))
        }
        _ => {
            let mut rest = payload.clone();
            rest.as_object_mut().unwrap().remove("session_id");
            forget_times(&mut rest);
            // Its numbers change with every word of the system prompt.
            if let Some(usage) = rest.pointer_mut("/data/usage") {
                *usage = "...".into();
            }
            fold(&mut rest);
            format!("{session} {kind} {rest}").trim_start().to_owned()
        }
    })
}

fn response(line: &Value) -> String {
    let id = &line["id"];
    if let Some(error) = line.get("error") {
        let mut data = error["data"].clone();
        let reason = data["reason"].as_str().unwrap().to_owned();
        data.as_object_mut().unwrap().remove("reason");
        let more = if data == json!({}) { String::new() } else { format!(" {data}") };
        return format!("{id} ! {} {reason}{more}: {}", error["code"], error["message"].as_str().unwrap());
    }
    let mut result = line["result"].clone();
    if result.get("pendingSteerCount").is_some() {
        return format!("{id} = {}", state(&result));
    }
    if result.get("state").is_some() {
        result["state"] = "...".into();
    }
    forget_times(&mut result);
    fold(&mut result);
    format!("{id} = {result}")
}

/// Rows that always have the same members become a few words each.
fn fold(value: &mut Value) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Array(rows) => rows.iter_mut().for_each(fold),
        Value::Object(members) => {
            members.values_mut().for_each(fold);
            if let Some(methods) = members.get_mut("methods").filter(|methods| methods.is_array()) {
                *methods = format!("{} of them", methods.as_array().unwrap().len()).into();
            }
            let words = |names: &[&str]| -> Option<Vec<String>> {
                names.iter().map(|name| members.get(*name).map(text)).collect()
            };
            let model = ["provider", "id", "contextWindowTokens", "defaultThinkingLevel", "supportedThinkingLevels"];
            if let Some(words) = words(&model).filter(|_| members.contains_key("label")) {
                *value = words.join(" ").into();
            } else if let Some(words) = words(&["name", "description"]).filter(|_| members.len() == 2) {
                *value = words.join(": ").into();
            } else if members.contains_key("anchor_event_index_after") && members.contains_key("target_limit") {
                *value = compaction(members).into();
            }
        }
        _ => {}
    }
}

/// `manual, done: 0 -> 7, N -> N tokens of 4000, target 6000`
fn compaction(members: &serde_json::Map<String, Value>) -> String {
    let mut members = members.clone();
    let mut take = |name: &str| members.remove(name).map_or(String::new(), |value| value.to_string().replace('"', ""));
    let (before, after) = (take("anchor_event_index_before"), take("anchor_event_index_after"));
    let (tokens, left) = (take("estimated_tokens_before"), take("estimated_tokens_after"));
    let done = take("compressed") + &take("applied") == "true";
    let (reason, window, target) = (take("reason"), take("model_context_window"), take("target_limit"));
    let rest = if members.is_empty() { String::new() } else { format!(", {}", Value::Object(members)) };
    let done = if done { "done" } else { "not done" };
    format!("{reason}, {done}: {before} -> {after}, {tokens} -> {left} tokens of {window}, target {target}{rest}")
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if ["createdAt", "updatedAt", "enqueuedAt", "time"].contains(&name.as_str()) {
                    *value = "T".into();
                }
                // It changes with every word of the system prompt.
                if name.starts_with("estimated_tokens") && value.as_u64() > Some(0) {
                    *value = "N".into();
                }
                forget_times(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}

fn message(message: &Value) -> String {
    let images = message.get("images").map_or(String::new(), |images| {
        let names: Vec<&str> = images.as_array().unwrap().iter().map(|image| image["path"].as_str().unwrap()).collect();
        format!(" <{}>", names.join(", "))
    });
    format!("#{} {}: {}{images}", message["id"], message["kind"].as_str().unwrap(), short(&message["text"]))
}

/// Long texts by their beginning, numbers of tokens not at all.
fn short(text: &Value) -> String {
    let text = text.as_str().unwrap();
    if let Some((before, _)) = text.split_once("context compressed: ") {
        return format!("{before}context compressed: N -> N tokens.");
    }
    match text.char_indices().nth(100) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

fn chunk(chunk: &Value) -> String {
    let segment = &chunk["segments"][0];
    match segment["kind"].as_str().unwrap() {
        "answer" => {
            assert_eq!((&chunk["answerText"], &chunk["thoughts"]), (&segment["text"], &json!([])));
            format!("answer {}", segment["text"])
        }
        "thought" => {
            assert_eq!(chunk["answerText"], "");
            format!("thought {} of {}", segment["text"], chunk["thoughts"][0])
        }
        other => panic!("{other}"),
    }
}

/// A session, as far as it is not about numbers of tokens.
fn state(state: &Value) -> String {
    let parts: u64 =
        state["contextTokenBreakdown"].as_object().unwrap().values().map(|tokens| tokens.as_u64().unwrap()).sum();
    assert_eq!(state["contextTokenEstimate"], parts, "{state}");
    let rows = |name: &str, one: &dyn Fn(&Value) -> String| {
        state[name].as_array().unwrap().iter().map(|row| format!("\n      {}", one(row))).collect::<String>()
    };
    let history = |row: &Value| format!("{}: {}", row["role"].as_str().unwrap(), short(&row["text"]));
    let queue = |row: &Value| {
        let images = row["images"].as_array().unwrap().len();
        format!("{}: {} ({images} images)", row["id"].as_str().unwrap(), row["text"].as_str().unwrap())
    };
    format!(
        "{} [{}] pending {} chat {} by {} from {} steers {}\n    messages{}\n    history{}\n    queue{}",
        state["id"].as_str().unwrap(),
        state["statusLabel"].as_str().unwrap(),
        state["pending"],
        state["activeSessionId"],
        state["conversationProvider"],
        state["contextTokenSource"],
        state["pendingSteerCount"],
        rows("messages", &message),
        rows("history", &history),
        rows("queue", &queue),
    )
}
