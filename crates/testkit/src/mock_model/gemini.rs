//! Gemini: every chunk is a small answer of its own, calls come whole, and a signature sits on a part.

use serde_json::{Value, json};

use super::answer::{Answer, Said, Tokens};
use super::format::{Asked, Speaker, arguments, data};
use super::steps::Step;

/// Model list: id and context window. The name decides about signatures, as at the vendor.
pub const MODELS: [(&str, u64); 2] = [("gemini-3-mock", 1_048_576), ("gemini-2.5-mock", 1_048_576)];

pub(super) const STREAM: &str = "streamGenerateContent";

/// The model and the method of a chat path. Both versions are served, and mean the same.
pub(super) fn target(path: &str) -> Option<(&str, &str)> {
    let target = path.strip_prefix("/v1beta/models/").or_else(|| path.strip_prefix("/v1/models/"))?;
    let (model, method) = target.rsplit_once(':')?;
    matches!(method, STREAM | "generateContent").then_some((model, method))
}

pub(super) struct Spoken {
    asked: Asked,
    answer: Answer,
    seals: Seals,
    /// Steps so far: what a chunk in the middle counts as said.
    said: u64,
}

/// Where the signatures go. That of a thought sits on the call behind it; without one it comes last, on an empty text.
struct Seals {
    of_block: Vec<Option<String>>,
    last: Option<String>,
}

impl Seals {
    fn of(answer: &Answer) -> Self {
        let mut seals = Seals { of_block: vec![None; answer.blocks.len()], last: None };
        for (index, block) in answer.blocks.iter().enumerate() {
            match block {
                Said::Thinking { text, seal: Some(seal) } if !text.is_empty() => seals.last = Some(seal.clone()),
                Said::Thinking { seal, .. } => seals.of_block[index] = seal.clone(),
                Said::Redacted(seal) => seals.of_block[index] = Some(seal.clone()),
                Said::Call { seal, .. } => seals.of_block[index] = seal.clone().or_else(|| seals.last.take()),
                Said::Text(_) => {}
            }
        }
        seals
    }
}

impl Spoken {
    pub(super) fn new(asked: &Asked, answer: &Answer) -> Self {
        Self { asked: asked.clone(), seals: Seals::of(answer), answer: answer.clone(), said: 0 }
    }

    fn chunk(&self, part: Value) -> Value {
        let tokens = self.answer.tokens.map(|(first, _)| Tokens { completion: self.said, ..first });
        let mut chunk = envelope(&self.asked, tokens, 0);
        chunk["candidates"] = json!([{ "content": { "role": "model", "parts": [part] }, "index": 0 }]);
        chunk
    }
}

impl Speaker for Spoken {
    fn say(&mut self, at: usize, step: &Step, block: Option<usize>) -> Vec<u8> {
        let whole = |index: usize| part(&self.answer.blocks[index], self.seals.of_block[index].as_ref());
        let part = match (step, block) {
            (Step::Comment, _) => return b": keep-alive\n\n".to_vec(),
            (Step::Error { status, message }, _) => return data(&error(*status, message)),
            (Step::Finish(reason), _) => return data(&self.last(reason)),
            (Step::Text(text), _) => json!({ "text": text }),
            (Step::Thinking(text), _) => json!({ "text": text, "thought": true }),
            // A call is said when all of it is there, and its signature with it.
            (Step::Call { .. } | Step::Redacted(_), Some(index)) if self.answer.is_last_of_block(at) => whole(index),
            (Step::Seal(_), Some(index)) => match &self.answer.blocks[index] {
                Said::Thinking { text, .. } if !text.is_empty() => return Vec::new(),
                _ => whole(index),
            },
            _ => return Vec::new(),
        };
        self.said += 1;
        data(&self.chunk(part))
    }
}

impl Spoken {
    fn last(&self, reason: &str) -> Value {
        let mut chunk = envelope(&self.asked, self.answer.tokens.map(|(_, last)| last), self.answer.thoughts);
        let mut part = json!({ "text": "" });
        if let Some(seal) = &self.seals.last {
            part["thoughtSignature"] = seal.as_str().into();
        }
        end(&mut chunk, vec![part], reason);
        chunk
    }
}

/// The candidate with its end, or what is there instead of one when the prompt itself is refused.
fn end(chunk: &mut Value, parts: Vec<Value>, reason: &str) {
    let finish = match reason {
        "stop" | "tool_calls" => "STOP",
        "length" => "MAX_TOKENS",
        "refusal" | "content_filter" => "SAFETY",
        "blocked" => {
            chunk["promptFeedback"] = json!({ "blockReason": "PROHIBITED_CONTENT" });
            return;
        }
        other => other,
    };
    chunk["candidates"] =
        json!([{ "content": { "role": "model", "parts": parts }, "finishReason": finish, "index": 0 }]);
}

fn envelope(asked: &Asked, tokens: Option<Tokens>, thoughts: u64) -> Value {
    let mut envelope = json!({ "modelVersion": asked.model, "responseId": format!("resp-mock-{}", asked.number) });
    if let Some(tokens) = tokens {
        envelope["usageMetadata"] = usage(tokens, thoughts);
    }
    envelope
}

/// Thoughts are not among the candidates' tokens here, and a count of nothing is left out.
fn usage(tokens: Tokens, thoughts: u64) -> Value {
    let mut usage = json!({
        "promptTokenCount": tokens.prompt, "totalTokenCount": tokens.prompt + tokens.completion,
    });
    let counts = [
        ("candidatesTokenCount", tokens.completion.saturating_sub(thoughts)),
        ("thoughtsTokenCount", thoughts),
        ("cachedContentTokenCount", tokens.cached),
    ];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        usage[name] = count.into();
    }
    usage
}

fn part(block: &Said, seal: Option<&String>) -> Value {
    let mut part = match block {
        Said::Text(text) => json!({ "text": text }),
        Said::Thinking { text, .. } if !text.is_empty() => json!({ "text": text, "thought": true }),
        Said::Thinking { .. } | Said::Redacted(_) => json!({ "text": "" }),
        Said::Call { id, name, arguments: args, .. } => {
            let mut call = json!({ "name": name, "args": arguments(args) });
            if let Some(id) = id {
                call["id"] = id.as_str().into();
            }
            json!({ "functionCall": call })
        }
    };
    if let Some(seal) = seal {
        part["thoughtSignature"] = seal.as_str().into();
    }
    part
}

pub(super) fn whole(asked: &Asked, answer: &Answer) -> Value {
    let seals = Seals::of(answer);
    let mut parts: Vec<Value> =
        answer.blocks.iter().zip(&seals.of_block).map(|(block, seal)| part(block, seal.as_ref())).collect();
    if let (Some(seal), Some(last)) = (&seals.last, parts.last_mut()) {
        last["thoughtSignature"] = seal.as_str().into();
    }
    let mut whole = envelope(asked, answer.tokens.map(|(_, last)| last), answer.thoughts);
    end(&mut whole, parts, &answer.finish);
    whole
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let word = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    };
    json!({ "error": { "code": status, "message": message, "status": word } })
}

pub(super) fn models() -> Value {
    let entry = |(id, window): &(&str, u64)| {
        json!({
            "name": format!("models/{id}"), "displayName": id, "version": "1", "inputTokenLimit": window,
            "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent", "countTokens"], "thinking": true,
        })
    };
    json!({ "models": MODELS.iter().map(entry).collect::<Vec<_>>() })
}

pub(super) fn position(body: &Value) -> (String, usize) {
    let mut results = 0;
    // A content without a role is the user's.
    let of_user = |content: &&Value| matches!(content["role"].as_str(), Some("user" | "function") | None);
    for content in body["contents"].as_array().into_iter().flatten().rev().filter(of_user) {
        for part in content["parts"].as_array().into_iter().flatten().rev() {
            match part["text"].as_str() {
                _ if part["functionResponse"].is_object() => results += 1,
                Some(text) => return (text.to_owned(), results),
                None => {}
            }
        }
    }
    (String::new(), results)
}
