//! A log as a person reads it: who said what, which tools ran, with the number of each entry.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{Block, Body, BranchEntry, CallEnd, CallEntry, Entry, NoteEntry, Summary, TurnEntry, UserFrom, parts_text};

use dialect_terminal::clean;

/// Lines of a tool's result shown; the rest is counted.
const RESULT_LINES_MAX: usize = 8;

pub(super) fn render(summary: &Summary, entries: &[Arc<Entry>], json: bool) -> String {
    let branch = vocab::active_path(entries);
    if json {
        return branch.iter().filter_map(|entry| as_json(entry)).map(|value| format!("{value}\n")).collect();
    }
    let mut text = format!(
        "{}\n{} messages, model {}, {}\n",
        summary.id,
        summary.messages,
        clean(&summary.model),
        clean(&summary.workspace.display().to_string())
    );
    for entry in branch {
        if let Some(shown) = as_text(entry) {
            text.push_str(&format!("\n#{} {shown}\n", entry.seq));
        }
    }
    text
}

/// Characters of a user message that tell which it is.
const PROMPT_CHARS_MAX: usize = 30;

/// The user messages of the active branch: number and beginning of each.
pub(super) fn prompts(entries: &[Arc<Entry>]) -> Vec<(u64, String)> {
    let prompt = |entry: &&Arc<Entry>| match &entry.body {
        Body::User { from: UserFrom::Prompt, parts, .. } => {
            let text = parts_text(parts);
            let text: Vec<&str> = text.split_whitespace().collect();
            Some((entry.seq, text.join(" ").chars().take(PROMPT_CHARS_MAX).collect()))
        }
        _ => None,
    };
    vocab::active_path(entries).iter().filter_map(prompt).collect()
}

fn as_text(entry: &Entry) -> Option<String> {
    Some(match &entry.body {
        Body::User { parts, .. } => format!("user\n{}", clean(parts_text(parts).trim_end())),
        Body::Assistant { message, .. } => {
            let mut lines = Vec::new();
            for block in &message.blocks {
                match block {
                    Block::Text(text) if !text.trim().is_empty() => lines.push(clean(text.trim_end()).into_owned()),
                    Block::Call(call) => {
                        lines.push(format!("-> {} {}", clean(&call.name), clean(call.input.json().as_str())));
                    }
                    Block::Text(_) | Block::Thinking { .. } | Block::Redacted(_) => {}
                }
            }
            format!("assistant\n{}", lines.join("\n"))
        }
        Body::Call(CallEntry::Ended { result, .. }) => {
            let text = result.text();
            let text = clean(text.trim_end());
            let mut lines: Vec<&str> = text.lines().take(RESULT_LINES_MAX).collect();
            let more = text.lines().count().saturating_sub(RESULT_LINES_MAX);
            let rest = format!("… {more} more lines");
            if more > 0 {
                lines.push(&rest);
            }
            let how = match result.end {
                CallEnd::Ran if result.is_error => " (error)",
                CallEnd::Ran => "",
                CallEnd::Denied => " (denied)",
                CallEnd::Lost => " (result not known)",
                CallEnd::Interrupted => " (interrupted)",
                CallEnd::Unknown | CallEnd::Invalid | CallEnd::Skipped => " (did not run)",
            };
            format!("{}{how}\n{}", clean(&result.tool), lines.join("\n"))
        }
        Body::Branch(BranchEntry::Compacted(it)) => {
            format!("summary of what was before\n{}", clean(it.summary.trim_end()))
        }
        Body::Turn(TurnEntry::Ended(end)) => format!("turn ended: {}", dialect_terminal::stop_name(end.stop)),
        Body::Note(NoteEntry::Recovered { text }) => format!("note\n{}", clean(text)),
        _ => return None,
    })
}

fn as_json(entry: &Entry) -> Option<Value> {
    let at = vocab::iso8601(entry.at_ms);
    Some(match &entry.body {
        Body::User { parts, .. } => {
            json!({ "seq": entry.seq, "at": at, "role": "user", "text": parts_text(parts) })
        }
        Body::Assistant { message, .. } => {
            let calls: Vec<Value> = message
                .calls()
                .map(|call| {
                    let input: Value = serde_json::from_str(call.input.json().as_str()).unwrap_or(Value::Null);
                    json!({ "id": call.id.as_str(), "name": &*call.name, "input": input })
                })
                .collect();
            json!({ "seq": entry.seq, "at": at, "role": "assistant", "text": message.text(), "calls": calls })
        }
        Body::Call(CallEntry::Ended { result, .. }) => json!({
            "seq": entry.seq, "at": at, "role": "tool", "id": result.call.as_str(), "name": &*result.tool,
            "is_error": result.is_error, "text": result.text(),
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use vocab::{CallResult, Part};

    use super::*;

    fn shown(end: CallEnd) -> String {
        let result = CallResult {
            call: "c1".into(),
            tool: "bash".into(),
            end,
            parts: vec![Part::text("words")],
            is_error: true,
            duration_ms: 0,
            mutation: None,
            edits: Vec::new(),
            details: None,
        };
        let body = Body::Call(CallEntry::Ended { turn: "t1".into(), result });
        as_text(&Entry { seq: 1, parent: 0, at_ms: 0, body, by: None }).unwrap_or_default()
    }

    #[test]
    fn only_what_never_began_is_said_not_to_have_run() {
        assert_eq!(shown(CallEnd::Lost), "bash (result not known)\nwords");
        assert_eq!(shown(CallEnd::Interrupted), "bash (interrupted)\nwords");
        assert_eq!(shown(CallEnd::Skipped), "bash (did not run)\nwords");
    }
}
