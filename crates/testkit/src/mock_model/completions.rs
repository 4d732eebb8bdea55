//! OpenAI Chat Completions: every step is a chunk of its own, and none needs to know of another.

use serde_json::{Value, json};

use super::MODELS;
use super::answer::{Answer, Said};
use super::format::{Asked, Speaker, data};
use super::steps::Step;

pub(super) struct Spoken;

impl Speaker for Spoken {
    fn say(&mut self, _at: usize, step: &Step, _block: Option<usize>) -> Vec<u8> {
        say(step)
    }
}

/// The bytes of a step; none for what this format has no words for.
pub(super) fn say(step: &Step) -> Vec<u8> {
    match step {
        Step::Text(text) => delta(json!({ "content": text })),
        Step::Thinking(text) => delta(json!({ "reasoning_content": text })),
        Step::Call { index, id, name, arguments } => {
            let mut call = json!({ "function": {} });
            set(&mut call, "index", index);
            set(&mut call, "id", id);
            if id.is_some() {
                call["type"] = "function".into();
            }
            set(&mut call["function"], "name", name);
            set(&mut call["function"], "arguments", arguments);
            delta(json!({ "tool_calls": [call] }))
        }
        Step::Usage { prompt, cached, written, completion } => {
            let mut chunk = chunk(json!([]));
            chunk["usage"] = usage(*prompt, *cached, *written, *completion);
            data(&chunk)
        }
        Step::Finish(reason) => data(&chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish(reason) }]))),
        Step::Error { message, .. } => data(&error(message)),
        Step::Comment => b": keep-alive\n\n".to_vec(),
        Step::Done => b"data: [DONE]\n\n".to_vec(),
        Step::Seal(_) | Step::Redacted(_) => Vec::new(),
        Step::Raw(_) | Step::Pause { .. } | Step::Hold | Step::Cut | Step::Eof | Step::HangUp => Vec::new(),
    }
}

fn set<T: Into<Value> + Clone>(object: &mut Value, key: &str, value: &Option<T>) {
    if let Some(value) = value {
        object[key] = value.clone().into();
    }
}

fn chunk(choices: Value) -> Value {
    json!({
        "id": "chatcmpl-mock", "object": "chat.completion.chunk", "created": 0, "model": "mock/alpha", "choices": choices,
    })
}

fn delta(delta: Value) -> Vec<u8> {
    data(&chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }])))
}

fn usage(prompt: u64, cached: u64, written: u64, completion: u64) -> Value {
    let mut usage = json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
        "prompt_tokens_details": { "cached_tokens": cached },
    });
    // Few servers count it, so it is there only when there is something to count.
    if written > 0 {
        usage["prompt_tokens_details"]["cache_write_tokens"] = written.into();
    }
    usage
}

fn finish(reason: &str) -> &str {
    match reason {
        "refusal" | "blocked" => "content_filter",
        other => other,
    }
}

pub(super) fn whole(asked: &Asked, answer: &Answer) -> Value {
    let mut message = json!({ "role": "assistant", "content": null });
    for block in &answer.blocks {
        match block {
            Said::Text(text) => {
                let before = message["content"].as_str().unwrap_or_default();
                message["content"] = format!("{before}{text}").into();
            }
            Said::Thinking { text, .. } if !text.is_empty() => {
                let before = message["reasoning_content"].as_str().unwrap_or_default();
                message["reasoning_content"] = format!("{before}{text}").into();
            }
            Said::Thinking { .. } | Said::Redacted(_) => {}
            Said::Call { id, name, arguments, .. } => {
                let call = json!({
                    "id": id, "type": "function", "function": { "name": name, "arguments": arguments },
                });
                match &mut message["tool_calls"] {
                    Value::Array(calls) => calls.push(call),
                    other => *other = json!([call]),
                }
            }
        }
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish(&answer.finish) });
    let mut whole = json!({
        "id": "chatcmpl-mock", "object": "chat.completion", "created": 0, "model": asked.model, "choices": [choice],
    });
    if let Some((_, tokens)) = answer.tokens {
        whole["usage"] = usage(tokens.prompt, tokens.cached, tokens.written, tokens.completion);
    }
    whole
}

pub(super) fn error(message: &str) -> Value {
    json!({ "error": { "message": message, "type": "mock_error", "code": null } })
}

pub(super) fn models() -> Value {
    let entry = |(id, window): &(&str, u64)| json!({ "id": id, "object": "model", "created": 0, "owned_by": "mock", "context_length": window });
    json!({ "object": "list", "data": MODELS.iter().map(entry).collect::<Vec<_>>() })
}

/// A user message of images only belongs to the results before it.
pub(super) fn position(body: &Value) -> (String, usize) {
    let mut results = 0;
    for message in body["messages"].as_array().into_iter().flatten().rev() {
        match message["role"].as_str() {
            Some("tool") => results += 1,
            Some("user") => {
                if let Some(text) = user_text(&message["content"]) {
                    return (text, results);
                }
            }
            _ => {}
        }
    }
    (String::new(), results)
}

/// The text of a message; `None` when it has none.
pub(super) fn user_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        _ => None,
    }
}
