//! `drive --json`: one object per line, described in docs/client.md.

use acp_client::{ClientError, ClientEvent, Elicitation, PermissionAsk};
use acp_types::{PermissionOption, PromptResponse, SessionUpdate, ToolCall, ToolCallContent, TurnUsage};
use serde_json::{Value, json};

use super::{AgentView, Beginning, ViewOutput};

pub struct JsonView;

/// The type comes first, for eyes and for `grep`.
fn line(value: &Value, shown: &mut ViewOutput) {
    let mut rest = value.as_object().cloned().unwrap_or_default();
    let kind = rest.remove("type").unwrap_or_default();
    let rest = Value::Object(rest).to_string();
    let comma = if rest == "{}" { "" } else { "," };
    shown.out.push_str(&format!("{{\"type\":{kind}{comma}{}\n", &rest[1..]));
}

fn fault(error: &ClientError) -> Value {
    json!({ "message": error.to_string(), "hint": error.hint, "stderr": *error.stderr })
}

/// Every count, also of what the agent does not count.
fn usage(usage: &TurnUsage) -> Value {
    let mut counts = json!(usage);
    counts["thoughtTokens"] = usage.thought_tokens.unwrap_or_default().into();
    counts
}

/// A file that is new has no old text, and no `null` in its place.
fn content(content: &ToolCallContent) -> Value {
    let mut content = json!(content);
    if let Some(members) = content.as_object_mut().filter(|members| members.get("oldText") == Some(&Value::Null)) {
        members.remove("oldText");
    }
    content
}

fn call(kind: &str, call: &ToolCall) -> Value {
    let contents: Option<Vec<Value>> = call.content.as_ref().map(|all| all.iter().map(content).collect());
    json!({
        "type": kind,
        "id": call.tool_call_id,
        "title": call.title,
        "kind": call.kind,
        "status": call.status,
        "content": contents,
        "locations": call.locations,
        "input": call.raw_input,
        "output": call.raw_output,
        "terminal": call.terminal(),
    })
}

fn update(update: &SessionUpdate) -> Value {
    match update {
        SessionUpdate::AgentMessageChunk(chunk) => json!({ "type": "text", "delta": chunk.content.shown() }),
        SessionUpdate::AgentThoughtChunk(chunk) => json!({ "type": "thinking", "delta": chunk.content.shown() }),
        SessionUpdate::UserMessageChunk(chunk) => json!({ "type": "user", "delta": chunk.content.shown() }),
        SessionUpdate::ToolCall(it) => call("tool_call", it),
        SessionUpdate::ToolCallUpdate(it) => call("tool_update", it),
        SessionUpdate::Plan { entries, .. } => json!({ "type": "plan", "entries": entries }),
        SessionUpdate::AvailableCommandsUpdate { available_commands, .. } => {
            json!({ "type": "commands", "commands": available_commands })
        }
        SessionUpdate::UsageUpdate { used, size, cost, .. } => {
            json!({ "type": "context", "used": used, "size": size, "cost": cost })
        }
        other => json!({ "type": "update", "update": other }),
    }
}

impl AgentView for JsonView {
    fn begun(&mut self, it: &Beginning<'_>, shown: &mut ViewOutput) {
        line(&json!({ "type": "session", "session_id": it.session, "agent": it.agent, "how": it.how }), shown);
    }

    fn event(&mut self, event: &ClientEvent, shown: &mut ViewOutput) {
        match event {
            ClientEvent::Update { update: it, .. } => line(&update(it), shown),
            ClientEvent::CallLeftOpen { call, .. } => line(&json!({ "type": "tool_left_open", "id": call }), shown),
            ClientEvent::Notification { method, params } => {
                line(&json!({ "type": "notification", "method": method, "params": params }), shown);
            }
            ClientEvent::Note(text) => self.notice(text, shown),
            ClientEvent::ConnectionLost(end) => {
                let value = json!({ "type": "connection_lost", "message": end.to_string(), "exit_code": end.exit.code,
                                    "signal": end.exit.signal, "stderr": end.stderr });
                line(&value, shown);
            }
            ClientEvent::Permission(_)
            | ClientEvent::Elicitation(_)
            | ClientEvent::AskClosed { .. }
            | ClientEvent::TurnEnded { .. } => {}
        }
    }

    fn question(&mut self, _: &PermissionAsk, _: &mut ViewOutput) {}

    fn explain(&mut self, _: &PermissionAsk, _: &mut ViewOutput) {}

    fn decided(&mut self, ask: &PermissionAsk, option: Option<&PermissionOption>, shown: &mut ViewOutput) {
        let value = json!({
            "type": "permission",
            "id": ask.call.tool_call_id,
            "title": ask.call.title,
            "input": ask.call.raw_input,
            "options": ask.options,
            "decision": if option.is_some_and(PermissionOption::allows) { "allow" } else { "deny" },
            "option": option.map(|option| &option.option_id),
        });
        line(&value, shown);
    }

    fn form(&mut self, ask: &Elicitation, shown: &mut ViewOutput) {
        line(&json!({ "type": "form", "message": ask.message, "params": ask.params }), shown);
    }

    fn turn_ended(&mut self, turn: &Result<PromptResponse, ClientError>, exit_code: u8, shown: &mut ViewOutput) {
        let (stop, usage, error) = match turn {
            Ok(turn) => (turn.stop_reason.as_str(), json!(turn.usage.as_ref().map(usage)), Value::Null),
            Err(error) => ("error", Value::Null, fault(error)),
        };
        let value = json!({ "type": "turn_end", "stop": stop, "usage": usage, "error": error, "exit_code": exit_code });
        line(&value, shown);
    }

    fn error(&mut self, error: &ClientError, shown: &mut ViewOutput) {
        line(&json!({ "type": "error", "error": fault(error) }), shown);
    }

    fn notice(&mut self, text: &str, shown: &mut ViewOutput) {
        line(&json!({ "type": "notice", "text": text }), shown);
    }

    fn list(&mut self, _: &[String], _: &mut ViewOutput) {}
}
