//! Lines as a reader of tests wants them: one short line each. What is left out is checked to be what it always is; the bytes
//! themselves stand in `golden/acp` and in `bytes.rs`.

use acp_types::{
    ContentBlock, CreateTerminalRequest, RequestPermissionRequest, SessionUpdate, ToolCall, ToolCallContent, method,
    sorted,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Characters of a text that are shown; the rest is counted.
const TEXT_CHARS_MAX: usize = 120;

pub(crate) fn show(line: &Value) -> String {
    assert_eq!(line["jsonrpc"], "2.0", "{line}");
    let params = &line["params"];
    match (line["method"].as_str(), line.get("id")) {
        (None, _) => response(line),
        (Some(method::SESSION_UPDATE), None) => {
            format!("{} {}", word(&params["sessionId"]), update(&params["update"]))
        }
        (Some(method), None) => format!("{method} {params}"),
        (Some(method), Some(id)) => format!("{id} {method} {}", request(method, params)),
    }
}

/// Reads it as the client does. Nothing may be lost on the way.
fn read<T: DeserializeOwned + serde::Serialize>(value: &Value) -> T {
    let read: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    assert_eq!(sorted(&read), *value);
    read
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn text(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((at, _)) => format!("{:?}... ({} bytes)", &text[..at], text.len()),
        None => format!("{text:?}"),
    }
}

/// `3 = end_turn, 0 tokens`, `3 ! -32603 it broke`
fn response(line: &Value) -> String {
    let id = &line["id"];
    if let Some(error) = line.get("error") {
        let mut data = error["data"].as_object().cloned().unwrap();
        assert_eq!(data.remove("details"), Some(error["message"].clone()), "{line}");
        let more = if data.is_empty() { String::new() } else { format!(" {}", json!(data)) };
        return format!("{id} ! {} {}{more}", error["code"], word(&error["message"]));
    }
    let result = &line["result"];
    if let Some(stop) = result["stopReason"].as_str() {
        let tokens = |usage: &Value| format!(", {} tokens", usage["totalTokens"]);
        return format!("{id} = {stop}{}", result.get("usage").map(tokens).unwrap_or_default());
    }
    match result["modes"]["currentModeId"].as_str() {
        Some(mode) => format!("{id} = session {} in mode {mode}", result["sessionId"]),
        None => format!("{id} = {result}"),
    }
}

fn update(value: &Value) -> String {
    match read::<SessionUpdate>(value) {
        SessionUpdate::AgentMessageChunk(chunk) => {
            let message = chunk.message_id.map(|id| format!(" {id}")).unwrap_or_default();
            format!("message{message} {}", block(&chunk.content))
        }
        SessionUpdate::AgentThoughtChunk(chunk) => format!("thought {}", block(&chunk.content)),
        SessionUpdate::UserMessageChunk(chunk) => format!("user {}", block(&chunk.content)),
        SessionUpdate::ToolCall(it) => format!("call {}", call(&it)),
        SessionUpdate::ToolCallUpdate(it) => format!("call update {}", call(&it)),
        SessionUpdate::UsageUpdate { used, size, cost, .. } => {
            let cost = cost.map(|cost| format!(", {} {}", cost.amount, cost.currency)).unwrap_or_default();
            format!("context {used} of {size}{cost}")
        }
        SessionUpdate::SessionInfoUpdate { title, updated_at, .. } => {
            format!("title \"{}\" at {}", title.unwrap_or_default(), updated_at.unwrap_or_default())
        }
        SessionUpdate::AvailableCommandsUpdate { available_commands, .. } => {
            let names: Vec<String> = available_commands.into_iter().map(|command| command.name).collect();
            format!("commands {}", names.join(", "))
        }
        SessionUpdate::CurrentModeUpdate { current_mode_id, .. } => format!("mode {current_mode_id}"),
        SessionUpdate::ConfigOptionUpdate { config_options, .. } => {
            let now = config_options.iter().map(|option| format!("{} {}", option.id, option.current_value));
            format!("options {}", now.collect::<Vec<_>>().join(", "))
        }
        other @ (SessionUpdate::Plan { .. }
        | SessionUpdate::Notice { .. }
        | SessionUpdate::CompactionUpdate { .. }
        | SessionUpdate::CompactionSummaryChunk { .. }) => sorted(other).to_string(),
        SessionUpdate::Unknown(value) => panic!("no update that a client can read: {value}"),
    }
}

/// `t1-k1 pending edit "Write a file" input {}`
fn call(call: &ToolCall) -> String {
    let mut shown = vec![call.tool_call_id.clone()];
    shown.extend(call.status.as_ref().map(|status| status.as_str().to_owned()));
    shown.extend(call.kind.as_ref().map(|kind| kind.as_str().to_owned()));
    shown.extend(call.title.as_deref().map(text));
    shown.extend(call.locations.iter().flatten().map(|place| format!("at {}", place.path)));
    shown.extend(call.raw_input.as_ref().map(|input| format!("input {input}")));
    shown.extend(call.content.iter().flatten().map(content));
    shown.join(" ")
}

fn content(content: &ToolCallContent) -> String {
    match content {
        ToolCallContent::Content { content, .. } => block(content),
        ToolCallContent::Diff { path, .. } => format!("diff of {path}"),
        ToolCallContent::Terminal { terminal_id, .. } => format!("terminal {terminal_id}"),
        ToolCallContent::Unknown(value) => panic!("no content that a client can read: {value}"),
    }
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text: it, .. } => text(it),
        other => other.shown(),
    }
}

fn request(method: &str, params: &Value) -> String {
    match method {
        method::REQUEST_PERMISSION => {
            let asked: RequestPermissionRequest = read(params);
            let options: Vec<&str> = asked.options.iter().map(|option| option.option_id.as_str()).collect();
            format!("{}: {}", call(&asked.tool_call), options.join(", "))
        }
        method::ELICITATION_CREATE if params["mode"] == "form" => {
            let schema = &params["requestedSchema"];
            assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["value"])));
            format!("{} {}", text(word(&params["message"])), schema["properties"]["value"])
        }
        method::TERMINAL_CREATE => {
            let run: CreateTerminalRequest = read(params);
            let env: Vec<String> = run.env.iter().map(|it| format!("{}={}", it.name, it.value)).collect();
            let (cwd, bytes) = (run.cwd.unwrap_or_default(), run.output_byte_limit.unwrap_or_default());
            format!("{} {:?} in {cwd} with {} up to {bytes} bytes", run.command, run.args, env.join(" "))
        }
        _ => {
            let mut rest = params.as_object().cloned().unwrap();
            assert!(rest.remove("sessionId").is_none_or(|id| id == "c1"), "{params}");
            match (rest.len(), rest.values().next()) {
                (1, Some(Value::String(only))) => only.clone(),
                _ => Value::Object(rest).to_string(),
            }
        }
    }
}
