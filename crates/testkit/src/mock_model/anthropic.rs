//! Anthropic Messages: blocks that open and close one after another, the counts of the prompt first and the others last.

use serde_json::{Value, json};

use super::answer::{Answer, Said, Tokens};
use super::format::{Asked, Speaker, arguments, named};
use super::steps::Step;

/// Model list: id and context window.
pub const MODELS: [(&str, u64); 2] = [("claude-mock-large", 1_000_000), ("claude-mock-small", 200_000)];

pub(super) struct Spoken {
    model: String,
    number: usize,
    answer: Answer,
    greeted: bool,
    open: Option<usize>,
    /// Blocks that have been opened: all before this.
    opened: usize,
}

impl Spoken {
    pub(super) fn new(asked: &Asked, answer: &Answer) -> Self {
        Self {
            model: asked.model.clone(),
            number: asked.number,
            answer: answer.clone(),
            greeted: false,
            open: None,
            opened: 0,
        }
    }

    fn greet(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.greeted, true) {
            return;
        }
        let first = self.answer.tokens.map(|(first, _)| first).unwrap_or_default();
        let mut message = message(&self.model, self.number, &[], Value::Null, &self.answer.finish);
        // What is said later is not counted yet.
        message["usage"] = usage(Tokens { completion: 1, ..first });
        out.extend(named(&json!({ "type": "message_start", "message": message })));
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if let Some(index) = self.open.take() {
            out.extend(named(&json!({ "type": "content_block_stop", "index": index })));
        }
    }

    fn enter(&mut self, index: usize, out: &mut Vec<u8>) {
        if index < self.opened {
            return;
        }
        self.close(out);
        let block = match &self.answer.blocks[index] {
            Said::Text(_) => json!({ "type": "text", "text": "" }),
            Said::Thinking { .. } => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            Said::Redacted(data) => json!({ "type": "redacted_thinking", "data": data }),
            Said::Call { id, name, .. } => json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
        };
        out.extend(named(&json!({ "type": "content_block_start", "index": index, "content_block": block })));
        (self.open, self.opened) = (Some(index), index + 1);
    }

    fn delta(&mut self, index: usize, delta: Value, out: &mut Vec<u8>) {
        out.extend(named(&json!({ "type": "content_block_delta", "index": index, "delta": delta })));
    }
}

impl Speaker for Spoken {
    fn say(&mut self, _at: usize, step: &Step, block: Option<usize>) -> Vec<u8> {
        let mut out = Vec::new();
        match step {
            Step::Comment => return named(&json!({ "type": "ping" })),
            Step::Error { status, message } => return named(&error(*status, message)),
            Step::Done => return named(&json!({ "type": "message_stop" })),
            _ => self.greet(&mut out),
        }
        if let Some(index) = block {
            self.enter(index, &mut out);
            let thinks = matches!(self.answer.blocks[index], Said::Thinking { .. });
            match step {
                Step::Text(text) => self.delta(index, json!({ "type": "text_delta", "text": text }), &mut out),
                Step::Thinking(text) => {
                    self.delta(index, json!({ "type": "thinking_delta", "thinking": text }), &mut out);
                }
                Step::Seal(seal) if thinks => {
                    self.delta(index, json!({ "type": "signature_delta", "signature": seal }), &mut out);
                }
                Step::Call { arguments: Some(json), .. } if !json.is_empty() => {
                    self.delta(index, json!({ "type": "input_json_delta", "partial_json": json }), &mut out);
                }
                _ => {}
            }
        }
        if let Step::Finish(reason) = step {
            self.close(&mut out);
            let delta = json!({
                "stop_reason": finish(reason), "stop_sequence": null, "stop_details": details(reason),
            });
            let usage = usage(self.answer.last_tokens());
            out.extend(named(&json!({ "type": "message_delta", "delta": delta, "usage": usage })));
        }
        out
    }
}

fn message(model: &str, number: usize, content: &[Value], stop: Value, reason: &str) -> Value {
    let details = if stop.is_null() { Value::Null } else { details(reason) };
    json!({
        "id": format!("msg_mock_{number}"), "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop, "stop_sequence": null, "stop_details": details,
    })
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.prompt.saturating_sub(tokens.cached + tokens.written),
        "cache_read_input_tokens": tokens.cached, "cache_creation_input_tokens": tokens.written,
        "output_tokens": tokens.completion,
    })
}

fn finish(reason: &str) -> &str {
    match reason {
        "stop" => "end_turn",
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" | "blocked" => "refusal",
        other => other,
    }
}

fn details(reason: &str) -> Value {
    match finish(reason) {
        "refusal" => json!({ "type": "refusal", "category": null, "explanation": null }),
        _ => Value::Null,
    }
}

pub(super) fn whole(asked: &Asked, answer: &Answer) -> Value {
    let block = |block: &Said| match block {
        Said::Text(text) => json!({ "type": "text", "text": text }),
        Said::Thinking { text, seal } => {
            json!({ "type": "thinking", "thinking": text, "signature": seal.as_deref().unwrap_or_default() })
        }
        Said::Redacted(data) => json!({ "type": "redacted_thinking", "data": data }),
        Said::Call { id, name, arguments: input, .. } => {
            json!({ "type": "tool_use", "id": id, "name": name, "input": arguments(input) })
        }
    };
    let content: Vec<Value> = answer.blocks.iter().map(block).collect();
    let mut whole = message(&asked.model, asked.number, &content, finish(&answer.finish).into(), &answer.finish);
    whole["usage"] = usage(answer.last_tokens());
    whole
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_mock" })
}

pub(super) fn models() -> Value {
    let entry = |(id, window): &(&str, u64)| {
        json!({
            "type": "model", "id": id, "display_name": id, "created_at": "1970-01-01T00:00:00Z", "lifecycle": "active",
            "max_input_tokens": window, "max_tokens": 64_000,
        })
    };
    let data: Vec<Value> = MODELS.iter().map(entry).collect();
    json!({ "data": data, "has_more": false, "first_id": MODELS[0].0, "last_id": MODELS[MODELS.len() - 1].0 })
}

/// Results and words share a message here, so their order within it counts too.
pub(super) fn position(body: &Value) -> (String, usize) {
    let mut results = 0;
    for message in body["messages"].as_array().into_iter().flatten().rev().filter(|it| it["role"] == "user") {
        if let Some(text) = message["content"].as_str() {
            return (text.to_owned(), results);
        }
        for block in message["content"].as_array().into_iter().flatten().rev() {
            match (block["type"].as_str(), block["text"].as_str()) {
                (Some("tool_result"), _) => results += 1,
                (_, Some(text)) => return (text.to_owned(), results),
                _ => {}
            }
        }
    }
    (String::new(), results)
}
