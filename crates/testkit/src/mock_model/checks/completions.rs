//! Chat Completions: every call has its result right behind it, and every result its call.

use serde_json::Value;

use super::{Checked, ensure, good_name, list};

pub(super) fn check(body: &Value) -> Checked {
    for (at, tool) in list(&body["tools"]).iter().enumerate() {
        ensure(good_name(&tool["function"]["name"]), || {
            format!("Invalid 'tools[{at}].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.")
        })?;
    }
    let messages = list(&body["messages"]);
    ensure(!messages.is_empty(), || {
        "Invalid 'messages': empty array. Expected an array with minimum length 1.".into()
    })?;
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let at = open.iter().position(|have| *have == id);
            let at =
                at.ok_or("messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")?;
            open.remove(at);
            continue;
        }
        answered(&open)?;
        let calls = list(&message["tool_calls"]);
        let said = !message["content"].is_null() || !calls.is_empty();
        ensure(said, || "Invalid value for 'content': expected a string, got null.".into())?;
        open = calls.iter().map(|call| call["id"].as_str().unwrap_or_default()).collect();
    }
    answered(&open)
}

fn answered(open: &[&str]) -> Checked {
    ensure(open.is_empty(), || {
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
             The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::table;
    use super::*;

    #[test]
    fn every_rule_refuses() {
        let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
        let good = json!({
            "tools": [{ "type": "function", "function": { "name": "f" } }],
            "messages": [
                { "role": "user", "content": "hi" },
                { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
                { "role": "tool", "tool_call_id": "b", "content": "" },
                { "role": "tool", "tool_call_id": "a", "content": "" },
            ],
        });
        let take = |at: usize| move |body: &mut Value| drop(body["messages"].as_array_mut().unwrap().remove(at));
        table(
            &good,
            &[
                (&|body| body["tools"][0]["function"]["name"] = "f g".into(), "tools[0].function.name"),
                (&|body| body["messages"] = json!([]), "empty array"),
                (&take(3), "did not have response messages: a"),
                (&take(1), "must be a response"),
                (&|body| body["messages"][3]["tool_call_id"] = "b".into(), "must be a response"),
                (&|body| body["messages"][0]["content"] = Value::Null, "got null"),
            ],
            check,
        );
    }
}
