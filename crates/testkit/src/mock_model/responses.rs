//! OpenAI Responses: numbered events about items, each announced, filled, and repeated whole at its end.

use serde_json::{Value, json};

use super::answer::{Answer, Said, Tokens};
use super::completions::user_text;
use super::format::{Asked, Speaker, named};
use super::steps::Step;

pub(super) struct Spoken {
    asked: Asked,
    answer: Answer,
    sequence: u64,
    greeted: bool,
    open: Option<usize>,
    /// Items that have been announced: all before this.
    opened: usize,
}

impl Spoken {
    pub(super) fn new(asked: &Asked, answer: &Answer) -> Self {
        Self { asked: asked.clone(), answer: answer.clone(), sequence: 0, greeted: false, open: None, opened: 0 }
    }

    fn event(&mut self, kind: &str, mut fields: Value, out: &mut Vec<u8>) {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        out.extend(named(&fields));
    }

    /// An event about a part of an item.
    fn about(&mut self, index: usize, kind: &str, mut fields: Value, out: &mut Vec<u8>) {
        fields["item_id"] = item_id(&self.asked, &self.answer, index).into();
        fields["output_index"] = index.into();
        match &self.answer.blocks[index] {
            Said::Text(_) => fields["content_index"] = 0.into(),
            Said::Thinking { .. } => fields["summary_index"] = 0.into(),
            Said::Redacted(_) | Said::Call { .. } => {}
        }
        self.event(kind, fields, out);
    }

    fn greet(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.greeted, true) {
            let response = response(&self.asked, "in_progress", vec![]);
            self.event("response.created", json!({ "response": response }), out);
            self.event("response.in_progress", json!({ "response": response }), out);
        }
    }

    fn enter(&mut self, index: usize, out: &mut Vec<u8>) {
        if index < self.opened {
            return;
        }
        self.close(out);
        let mut item = item(&self.asked, &self.answer, index, "in_progress");
        let empty = match &self.answer.blocks[index] {
            Said::Text(_) => "content",
            Said::Thinking { .. } | Said::Redacted(_) => "summary",
            Said::Call { .. } => "arguments",
        };
        item[empty] = if empty == "arguments" { "".into() } else { json!([]) };
        if empty == "summary" {
            item["encrypted_content"] = Value::Null;
        }
        self.event("response.output_item.added", json!({ "output_index": index, "item": item }), out);
        match &self.answer.blocks[index] {
            Said::Text(_) => {
                let part = part(&self.answer, "");
                self.about(index, "response.content_part.added", json!({ "part": part }), out);
            }
            Said::Thinking { text, .. } if !text.is_empty() => {
                let part = json!({ "type": "summary_text", "text": "" });
                self.about(index, "response.reasoning_summary_part.added", json!({ "part": part }), out);
            }
            Said::Thinking { .. } | Said::Redacted(_) | Said::Call { .. } => {}
        }
        (self.open, self.opened) = (Some(index), index + 1);
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        let Some(index) = self.open.take() else { return };
        let cut = self.opened == self.answer.blocks.len() && status(&self.answer.finish) == "incomplete";
        let item = item(&self.asked, &self.answer, index, if cut { "incomplete" } else { "completed" });
        match self.answer.blocks[index].clone() {
            Said::Text(text) if self.answer.finish == "refusal" => {
                self.about(index, "response.refusal.done", json!({ "refusal": text }), out);
                let part = part(&self.answer, &text);
                self.about(index, "response.content_part.done", json!({ "part": part }), out);
            }
            Said::Text(text) => {
                self.about(index, "response.output_text.done", json!({ "text": text, "logprobs": [] }), out);
                let part = part(&self.answer, &text);
                self.about(index, "response.content_part.done", json!({ "part": part }), out);
            }
            Said::Thinking { text, .. } if !text.is_empty() => {
                self.about(index, "response.reasoning_summary_text.done", json!({ "text": text }), out);
                let part = json!({ "type": "summary_text", "text": text });
                self.about(index, "response.reasoning_summary_part.done", json!({ "part": part }), out);
            }
            Said::Call { arguments, name, .. } => {
                let fields = json!({ "arguments": arguments, "name": name });
                self.about(index, "response.function_call_arguments.done", fields, out);
            }
            Said::Thinking { .. } | Said::Redacted(_) => {}
        }
        self.event("response.output_item.done", json!({ "output_index": index, "item": item }), out);
    }
}

impl Speaker for Spoken {
    fn say(&mut self, _at: usize, step: &Step, block: Option<usize>) -> Vec<u8> {
        let mut out = Vec::new();
        match step {
            Step::Comment => return b": keep-alive\n\n".to_vec(),
            // The last event is the end; nothing comes behind it.
            Step::Done => return out,
            Step::Error { status, message } => {
                let fields = json!({ "code": code(*status), "message": message, "param": null });
                self.event("error", fields, &mut out);
                return out;
            }
            _ => self.greet(&mut out),
        }
        if let Some(index) = block {
            self.enter(index, &mut out);
            match step {
                Step::Text(text) if self.answer.finish == "refusal" => {
                    self.about(index, "response.refusal.delta", json!({ "delta": text }), &mut out);
                }
                Step::Text(text) => {
                    let fields = json!({ "delta": text, "logprobs": [] });
                    self.about(index, "response.output_text.delta", fields, &mut out);
                }
                Step::Thinking(text) => {
                    let fields = json!({ "delta": text });
                    self.about(index, "response.reasoning_summary_text.delta", fields, &mut out);
                }
                Step::Call { arguments: Some(more), .. } if !more.is_empty() => {
                    let fields = json!({ "delta": more });
                    self.about(index, "response.function_call_arguments.delta", fields, &mut out);
                }
                _ => {}
            }
        }
        if let Step::Finish(reason) = step {
            self.close(&mut out);
            let whole = whole(&self.asked, &self.answer);
            self.event(&format!("response.{}", status(reason)), json!({ "response": whole }), &mut out);
        }
        out
    }
}

/// The id of an item: unique for the server, and the same in the stream and in the whole.
pub(super) fn item_id(asked: &Asked, answer: &Answer, index: usize) -> String {
    let kind = match &answer.blocks[index] {
        Said::Text(_) => "msg",
        Said::Thinking { .. } | Said::Redacted(_) => "rs",
        Said::Call { .. } => "fc",
    };
    format!("{kind}_{}_{index}", asked.number)
}

fn item(asked: &Asked, answer: &Answer, index: usize, status: &str) -> Value {
    let id = item_id(asked, answer, index);
    let reasoning = |summary: Vec<Value>, sealed: Option<&String>| {
        let sealed = sealed.filter(|_| asked.sealed);
        json!({ "type": "reasoning", "id": id, "summary": summary, "encrypted_content": sealed })
    };
    match &answer.blocks[index] {
        Said::Text(text) => {
            let content = [part(answer, text)];
            json!({ "type": "message", "id": id, "role": "assistant", "status": status, "content": content })
        }
        Said::Thinking { text, seal } if text.is_empty() => reasoning(vec![], seal.as_ref()),
        Said::Thinking { text, seal } => {
            reasoning(vec![json!({ "type": "summary_text", "text": text })], seal.as_ref())
        }
        Said::Redacted(sealed) => reasoning(vec![], Some(sealed)),
        Said::Call { id: call, name, arguments, .. } => json!({
            "type": "function_call", "id": id, "call_id": call, "name": name, "arguments": arguments, "status": status,
        }),
    }
}

fn part(answer: &Answer, text: &str) -> Value {
    match answer.finish.as_str() {
        "refusal" => json!({ "type": "refusal", "refusal": text }),
        _ => json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }),
    }
}

/// A refusal is an answer like any other here, said in a part of its own.
fn status(reason: &str) -> &str {
    match reason {
        "stop" | "tool_calls" | "refusal" => "completed",
        "failed" => "failed",
        _ => "incomplete",
    }
}

fn response(asked: &Asked, status: &str, output: Vec<Value>) -> Value {
    json!({
        "id": format!("resp_mock_{}", asked.number), "object": "response", "created_at": 0, "status": status,
        "model": asked.model, "output": output, "error": null, "incomplete_details": null, "instructions": null,
        "metadata": {}, "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [],
        "top_p": 1.0, "max_output_tokens": null, "previous_response_id": null, "store": false, "usage": null,
        "text": { "format": { "type": "text" } }, "truncation": "disabled", "user": null,
    })
}

pub(super) fn whole(asked: &Asked, answer: &Answer) -> Value {
    let status = status(&answer.finish);
    let output: Vec<Value> = (0..answer.blocks.len())
        .map(|index| {
            let cut = status == "incomplete" && index + 1 == answer.blocks.len();
            item(asked, answer, index, if cut { "incomplete" } else { "completed" })
        })
        .collect();
    let mut whole = response(asked, status, output);
    match status {
        "incomplete" => {
            let reason = match answer.finish.as_str() {
                "length" => "max_output_tokens",
                "blocked" => "content_filter",
                other => other,
            };
            whole["incomplete_details"] = json!({ "reason": reason });
        }
        "failed" => whole["error"] = json!({ "code": "server_error", "message": "scripted failure" }),
        _ => {}
    }
    if let Some((_, tokens)) = answer.tokens {
        whole["usage"] = usage(tokens, answer.thoughts);
    }
    whole
}

fn usage(tokens: Tokens, thoughts: u64) -> Value {
    json!({
        "input_tokens": tokens.prompt, "output_tokens": tokens.completion,
        "total_tokens": tokens.prompt + tokens.completion,
        "input_tokens_details": { "cached_tokens": tokens.cached, "cache_write_tokens": tokens.written },
        "output_tokens_details": { "reasoning_tokens": thoughts },
    })
}

fn code(status: u16) -> &'static str {
    match status {
        401 => "invalid_api_key",
        429 => "rate_limit_exceeded",
        400..=499 => "invalid_prompt",
        _ => "server_error",
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code(status) } })
}

pub(super) fn position(body: &Value) -> (String, usize) {
    if let Some(text) = body["input"].as_str() {
        return (text.to_owned(), 0);
    }
    let mut results = 0;
    for item in body["input"].as_array().into_iter().flatten().rev() {
        if item["type"] == "function_call_output" {
            results += 1;
        } else if item["role"] == "user"
            && let Some(text) = user_text(&item["content"])
        {
            return (text, results);
        }
    }
    (String::new(), results)
}
