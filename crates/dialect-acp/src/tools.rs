//! Tool calls as clients show them: a kind for the icon, a title, the files it is about, what it changed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vocab::names;
use vocab::visible::headline;
use vocab::{Call, CallResult, FileEdit, Snapshot, TurnId};

use crate::content;
use crate::seat::call_id;

/// Output that one update carries; of more the end is shown.
pub(crate) const OUTPUT_BYTES_MAX: usize = 256 * 1024;

pub(crate) fn kind(tool: &str) -> &'static str {
    match names::canonical(tool).unwrap_or(tool) {
        "read_file" | "list_dir" => "read",
        "write_file" | "edit_file" | "apply_patch" => "edit",
        "glob" | "grep" | "web_search" => "search",
        "bash" | "bash_list" | "bash_read" | "bash_write" | "bash_resize" | "bash_stop" => "execute",
        "web_fetch" => "fetch",
        "todo" => "think",
        _ => "other",
    }
}

/// `name: what it is about`. Some clients take what stands before the colon for the name.
pub(crate) fn title(call: &Call) -> String {
    let input: Value = serde_json::from_str(call.input.json().as_str()).unwrap_or_default();
    let about = ["command", "path", "file_path", "pattern", "query", "url", "id", "label", "task"]
        .iter()
        .find_map(|name| input[*name].as_str().map(str::trim).filter(|text| !text.is_empty()));
    match about {
        Some(about) => format!("{}: {}", call.name, headline(about)),
        None => call.name.to_string(),
    }
}

/// The files that a call names.
pub(crate) fn locations(call: &Call, cwd: &Path) -> Vec<Value> {
    let input: Value = serde_json::from_str(call.input.json().as_str()).unwrap_or_default();
    let path = ["path", "file_path"].iter().find_map(|name| input[*name].as_str());
    let Some(path) = path.filter(|path| !path.is_empty()) else { return Vec::new() };
    let mut location = json!({ "path": cwd.join(path) });
    if let Some(line) = input["offset"].as_u64() {
        location["line"] = json!(line);
    }
    vec![location]
}

fn raw_input(call: &Call) -> Value {
    serde_json::from_str(call.input.json().as_str()).unwrap_or_default()
}

/// A call is there.
pub(crate) fn announced(turn: &TurnId, call: &Call, cwd: &Path, status: &str) -> Value {
    json!({
        "sessionUpdate": "tool_call",
        "toolCallId": call_id(turn, &call.id),
        "title": title(call),
        "kind": kind(&call.name),
        "status": status,
        "rawInput": raw_input(call),
        "locations": locations(call, cwd),
    })
}

/// A call has its result. The status is in every update: some clients take its absence for the end.
pub(crate) fn finished(turn: &TurnId, result: &CallResult, cwd: &Path) -> Value {
    json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": call_id(turn, &result.call),
        "status": if result.is_error { "failed" } else { "completed" },
        "content": shown(result, cwd),
        "rawOutput": result.text(),
    })
}

/// Text of a running or finished call.
pub(crate) fn output(text: &str) -> Value {
    let from = text.len().saturating_sub(OUTPUT_BYTES_MAX);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    json!({ "type": "content", "content": content::text(&text[from..]) })
}

/// What a finished call shows: what it changed, then what it said.
fn shown(result: &CallResult, cwd: &Path) -> Vec<Value> {
    let mut shown: Vec<Value> = result.edits.iter().filter_map(|edit| diff(edit, cwd)).collect();
    for part in &result.parts {
        match part {
            vocab::Part::Text(text) if text.is_empty() => {}
            vocab::Part::Text(text) => shown.push(output(text)),
            image => shown.push(json!({ "type": "content", "content": content::block(image) })),
        }
    }
    shown
}

fn diff(edit: &FileEdit, cwd: &Path) -> Option<Value> {
    let path: PathBuf = cwd.join(&*edit.path);
    let text = |snapshot: &Snapshot| match snapshot {
        Snapshot::Absent => Some(None),
        Snapshot::Text(text) => Some(Some(text.clone())),
        Snapshot::NotKept => None,
    };
    let (old, new) = (text(&edit.before)?, text(&edit.after)?);
    Some(json!({ "type": "diff", "path": path, "oldText": old, "newText": new.unwrap_or_default() }))
}
