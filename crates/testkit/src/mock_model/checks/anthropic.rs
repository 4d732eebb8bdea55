//! Anthropic Messages: alternating roles, nothing empty, results right behind their calls, thoughts first and untouched.

use serde_json::Value;

use super::{Checked, Known, ensure, good_name, list};

/// Fewer are too few to think with.
const BUDGET_MIN: u64 = 1_024;
const CACHE_CONTROLS_MAX: usize = 4;

pub(super) fn check(body: &Value, known: &Known) -> Checked {
    head(body)?;
    let messages = list(&body["messages"]);
    ensure(!messages.is_empty(), || "messages: at least one message is required".into())?;
    for (at, message) in messages.iter().enumerate() {
        let want = if at % 2 == 0 { "user" } else { "assistant" };
        ensure(message["role"] == want, || {
            format!("messages.{at}: roles must alternate between \"user\" and \"assistant\", beginning with \"user\"")
        })?;
        content(at, &message["content"], known)?;
        pairs(at, &message["content"], &messages[at..])?;
    }
    ensure(messages.len() % 2 == 1, || {
        "This model does not support assistant message prefill. The conversation must end with a user message.".into()
    })?;
    results_have_calls(messages)?;
    if body["thinking"]["type"] == "enabled" {
        thought_first(messages, known)?;
    }
    Ok(())
}

fn head(body: &Value) -> Checked {
    let tokens_max = body["max_tokens"].as_u64().ok_or("max_tokens: Field required")?;
    for (at, tool) in list(&body["tools"]).iter().enumerate() {
        ensure(good_name(&tool["name"]), || {
            format!("tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
        })?;
    }
    let found = cache_controls(body);
    ensure(found <= CACHE_CONTROLS_MAX, || {
        format!("A maximum of {CACHE_CONTROLS_MAX} blocks with cache_control may be provided. Found {found}.")
    })?;
    if body["thinking"]["type"] == "enabled" {
        let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or_default();
        ensure(budget >= BUDGET_MIN, || {
            format!("thinking.enabled.budget_tokens: Input should be greater than or equal to {BUDGET_MIN}")
        })?;
        ensure(budget < tokens_max, || "`max_tokens` must be greater than `thinking.budget_tokens`".into())?;
        let warm = body["temperature"].as_f64().is_some_and(|warmth| warmth != 1.0);
        ensure(!warm, || "`temperature` may only be set to 1 when thinking is enabled".into())?;
        let forced = matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool"));
        ensure(!forced, || "Thinking may not be enabled when tool_choice forces tool use.".into())?;
    }
    Ok(())
}

fn cache_controls(value: &Value) -> usize {
    match value {
        Value::Object(object) => {
            let here = usize::from(object.get("cache_control").is_some_and(Value::is_object));
            // Arguments and schemas are the caller's own; a key of this name means nothing there.
            let inner = object.iter().filter(|(key, _)| !matches!(key.as_str(), "input" | "input_schema"));
            here + inner.map(|(_, value)| cache_controls(value)).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(cache_controls).sum(),
        _ => 0,
    }
}

fn content(at: usize, content: &Value, known: &Known) -> Checked {
    let empty = || format!("messages.{at}: all messages must have non-empty content");
    if let Some(text) = content.as_str() {
        return ensure(!text.trim().is_empty(), empty);
    }
    ensure(!list(content).is_empty(), empty)?;
    for (place, block) in list(content).iter().enumerate() {
        let place = format!("messages.{at}.content.{place}");
        match block["type"].as_str() {
            Some("text") => filled(&block["text"])?,
            Some("tool_result") => {
                for inner in list(&block["content"]).iter().filter(|inner| inner["type"] == "text") {
                    filled(&inner["text"])?;
                }
            }
            Some("thinking") => {
                let (words, seal) = (block["thinking"].as_str(), block["signature"].as_str());
                let fits = known.fits(seal.unwrap_or_default(), words.unwrap_or_default());
                ensure(fits, || format!("{place}: Invalid `signature` in `thinking` block"))?;
            }
            Some("redacted_thinking") => {
                let fits = known.has(block["data"].as_str().unwrap_or_default());
                ensure(fits, || format!("{place}: Invalid `data` in `redacted_thinking` block"))?;
            }
            Some("tool_use") => {
                let object = block["input"].is_object();
                ensure(object, || format!("{place}.tool_use.input: Input should be a valid dictionary"))?;
                ensure(good_name(&block["name"]), || {
                    format!("{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
                })?;
            }
            Some("image" | "document") => {}
            other => return Err(format!("{place}: Input tag '{}' found", other.unwrap_or_default())),
        }
        let thinks = matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
        ensure(!thinks || block["cache_control"].is_null(), || {
            format!("{place}.cache_control: cache_control cannot be set on thinking blocks")
        })?;
    }
    Ok(())
}

fn filled(text: &Value) -> Checked {
    let filled = text.as_str().is_some_and(|text| !text.trim().is_empty());
    ensure(filled, || "messages: text content blocks must contain non-whitespace text".into())
}

fn ids<'a>(content: &'a Value, kind: &str, key: &str) -> Vec<&'a str> {
    let blocks = list(content).iter().filter(|block| block["type"] == kind);
    blocks.map(|block| block[key].as_str().unwrap_or_default()).collect()
}

/// Every call of a message is answered in the next one.
fn pairs(at: usize, content: &Value, from_here: &[Value]) -> Checked {
    let calls = ids(content, "tool_use", "id");
    let next = from_here.get(1).map_or(&Value::Null, |message| &message["content"]);
    let answered = ids(next, "tool_result", "tool_use_id");
    let open: Vec<&str> = calls.iter().copied().filter(|id| !answered.contains(id)).collect();
    ensure(open.is_empty(), || {
        format!(
            "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
             block must have a corresponding `tool_result` block in the next message.",
            open.join(", ")
        )
    })?;
    for (place, id) in calls.iter().enumerate() {
        ensure(!calls[..place].contains(id), || format!("messages.{at}: `tool_use` ids must be unique"))?;
        ensure(good_id(id), || {
            format!("messages.{at}.content.{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        })?;
    }
    Ok(())
}

fn good_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Every result has its call in the message before, is the only one, and comes before any words.
fn results_have_calls(messages: &[Value]) -> Checked {
    for (at, message) in messages.iter().enumerate() {
        let results = ids(&message["content"], "tool_result", "tool_use_id");
        let before = at.checked_sub(1).map_or(&Value::Null, |before| &messages[before]["content"]);
        let calls = ids(before, "tool_use", "id");
        for (place, id) in results.iter().enumerate() {
            ensure(calls.contains(id), || {
                format!("messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}.")
            })?;
            ensure(!results[..place].contains(id), || {
                format!(
                    "messages.{at}.content.{place}: each tool_use must have a single result. Found multiple for {id}"
                )
            })?;
        }
        let first = list(&message["content"]).iter().take(results.len());
        ensure(first.clone().all(|block| block["type"] == "tool_result"), || {
            format!("messages.{at}: `tool_result` blocks must come first in the content")
        })?;
    }
    Ok(())
}

/// In the middle of a tool loop the answer that called is repeated with the thought it began with.
fn thought_first(messages: &[Value], known: &Known) -> Checked {
    let [.., caller, last] = messages else { return Ok(()) };
    if ids(&last["content"], "tool_result", "tool_use_id").is_empty() {
        return Ok(());
    }
    let bare = ids(&caller["content"], "tool_use", "id").iter().all(|id| known.bare.contains(*id));
    let first = caller["content"][0]["type"].as_str().unwrap_or_default();
    ensure(bare || matches!(first, "thinking" | "redacted_thinking"), || {
        format!(
            "messages.{}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is \
             enabled, a final `assistant` message must start with a thinking block.",
            messages.len() - 2
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
        let mut known = Known::default();
        known.seals.insert("sig".into(), Some("hm".into()));
        known.trust("closed");
        let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": [{ "type": "text", "text": "r" }] });
        let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "f", "input": { "cache_control": {} } });
        let mark = json!({ "type": "ephemeral" });
        let good = json!({
            "max_tokens": 4000,
            "thinking": { "type": "enabled", "budget_tokens": 2000 },
            "tools": [{ "name": "f", "input_schema": {}, "cache_control": mark }],
            "system": [{ "type": "text", "text": "s", "cache_control": mark }],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "hi", "cache_control": mark }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "hm", "signature": "sig" },
                    { "type": "redacted_thinking", "data": "closed" },
                    { "type": "text", "text": "so" }, call("a"), call("b"),
                ] },
                { "role": "user", "content": [result("a"), result("b"), { "type": "text", "text": "and", "cache_control": mark }] },
            ],
        });
        let cut = |message: usize, block: usize| {
            move |body: &mut Value| {
                drop(body["messages"][message]["content"].as_array_mut().unwrap().remove(block));
            }
        };
        table(
            &good,
            &[
                (&|body| body["max_tokens"] = Value::Null, "max_tokens: Field required"),
                (&|body| body["tools"][0]["name"] = "f.g".into(), "tools.0.custom.name"),
                (&|body| body["messages"][2]["content"][1]["cache_control"] = json!({}), "Found 5"),
                (&|body| body["thinking"]["budget_tokens"] = 1000.into(), "greater than or equal to 1024"),
                (&|body| body["thinking"]["budget_tokens"] = 4000.into(), "`max_tokens` must be greater"),
                (&|body| body["temperature"] = 0.5.into(), "`temperature`"),
                (&|body| body["tool_choice"] = json!({ "type": "any" }), "forces tool use"),
                (&|body| body["messages"] = json!([]), "at least one message"),
                (&|body| drop(body["messages"].as_array_mut().unwrap().remove(0)), "roles must alternate"),
                (&|body| body["messages"][1]["role"] = "user".into(), "messages.1: roles must alternate"),
                (&|body| body["messages"][0]["content"] = json!([]), "messages.0: all messages must have"),
                (&|body| body["messages"][0]["content"] = "".into(), "messages.0: all messages must have"),
                (&|body| body["messages"][1]["content"][2]["text"] = " \n".into(), "non-whitespace"),
                (&|body| body["messages"][2]["content"][0]["content"][0]["text"] = "".into(), "non-whitespace"),
                (
                    &|body| body["messages"][1]["content"][0]["signature"] = "gis".into(),
                    "content.0: Invalid `signature`",
                ),
                (&|body| body["messages"][1]["content"][0]["thinking"] = "hm!".into(), "Invalid `signature`"),
                (&|body| body["messages"][1]["content"][1]["data"] = "open".into(), "content.1: Invalid `data`"),
                (&|body| body["messages"][1]["content"][3]["input"] = "{}".into(), "valid dictionary"),
                (&|body| body["messages"][1]["content"][3]["name"] = "f g".into(), "tool_use.name"),
                (&|body| body["messages"][1]["content"][2]["type"] = "words".into(), "Input tag 'words'"),
                (
                    &|body| {
                        body["system"] = "s".into();
                        body["messages"][1]["content"][0]["cache_control"] = json!({});
                    },
                    "cannot be set on thinking blocks",
                ),
                (&cut(2, 1), "immediately after: b"),
                (&cut(1, 4), "unexpected `tool_use_id` found in `tool_result` blocks: b"),
                (&|body| body["messages"][1]["content"][4]["id"] = "a".into(), "must be unique"),
                (
                    &|body| {
                        body["messages"][1]["content"][3]["id"] = "a|b".into();
                        body["messages"][2]["content"][0]["tool_use_id"] = "a|b".into();
                    },
                    "tool_use.id: String should match",
                ),
                (
                    &|body| {
                        let blocks = body["messages"][2]["content"].as_array_mut().unwrap();
                        blocks.insert(2, blocks[1].clone());
                    },
                    "Found multiple",
                ),
                (&|body| body["messages"][2]["content"].as_array_mut().unwrap().swap(1, 2), "must come first"),
                (&|body| drop(body["messages"].as_array_mut().unwrap().pop()), "immediately after: a, b"),
                (
                    &|body| {
                        let messages = body["messages"].as_array_mut().unwrap();
                        messages.pop();
                        messages[1]["content"].as_array_mut().unwrap().truncate(3);
                    },
                    "must end with a user message",
                ),
                (
                    &|body| {
                        cut(1, 0)(body);
                        cut(1, 0)(body);
                    },
                    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`",
                ),
            ],
            |body| check(body, &known),
        );
    }

    #[test]
    fn an_answer_that_did_not_think_needs_no_thought() {
        let body = json!({
            "max_tokens": 4000, "thinking": { "type": "enabled", "budget_tokens": 2000 },
            "messages": [
                { "role": "user", "content": "hi" },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "f", "input": {} }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a" }] },
            ],
        });
        let mut known = Known::default();
        assert!(check(&body, &known).unwrap_err().contains("Expected `thinking`"));
        known.bare.insert("a".into());
        assert_eq!(check(&body, &known), Ok(()));
    }
}
