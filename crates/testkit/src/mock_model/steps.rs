//! What the server can be told to answer, and how each step looks on the wire.

use serde_json::{Value, json};

/// One answer of the server.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An ordinary response with a `Content-Length`.
    Plain { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// A chunked response, one HTTP chunk per step.
    Stream { content_type: String, steps: Vec<Step> },
    /// Closes the connection without a byte.
    Drop,
}

impl Reply {
    /// Streams `steps` as `text/event-stream`.
    pub fn stream(steps: impl Into<Vec<Step>>) -> Self {
        Reply::Stream { content_type: "text/event-stream".into(), steps: steps.into() }
    }
    /// A whole answer: the text, one delta per word, usage, finish, `[DONE]`.
    pub fn text(text: &str) -> Self {
        let mut steps: Vec<Step> = words(text).map(|word| Step::Text(word.to_owned())).collect();
        steps.extend([Step::Finish("stop".into()), Step::usage(10, 0, steps.len() as u64), Step::Done]);
        Self::stream(steps)
    }
    /// A whole answer of tool calls: `(name, arguments)`, ids `call_0_<index>`.
    pub fn calls(calls: &[(&str, &str)]) -> Self {
        let mut steps: Vec<Step> = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| Step::call(index, &format!("call_0_{index}"), name, arguments))
            .collect();
        steps.extend([Step::Finish("tool_calls".into()), Step::usage(10, 0, 5), Step::Done]);
        Self::stream(steps)
    }
    /// A response with this status and text.
    pub fn plain(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Reply::Plain { status, headers: vec![("content-type".into(), content_type.into())], body: body.into() }
    }
    /// A JSON error in OpenAI's shape.
    pub fn error(status: u16, message: &str) -> Self {
        let body = json!({ "error": { "message": message, "type": "mock_error", "code": null } });
        Self::plain(status, "application/json", body.to_string())
    }
    /// Adds a header to a plain response.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Reply::Plain { headers, .. } = &mut self {
            headers.push((name.into(), value.into()));
        }
        self
    }
}

/// One step of a streamed answer.
#[derive(Clone, Debug)]
pub enum Step {
    Text(String),
    Thinking(String),
    /// A tool call, or a fragment of one: what is `None` is left out of the chunk.
    Call {
        index: Option<usize>,
        id: Option<String>,
        name: Option<String>,
        arguments: Option<String>,
    },
    Usage {
        prompt: u64,
        cached: u64,
        completion: u64,
    },
    Finish(String),
    /// These bytes, as they are.
    Raw(Vec<u8>),
    /// A keep-alive comment.
    Comment,
    Pause {
        ms: u64,
    },
    /// Waits for a `release`, or for the client to go away.
    Hold,
    /// `data: [DONE]`
    Done,
    /// Resets the connection.
    Cut,
    /// Closes the connection in the middle of the body.
    Eof,
    /// Ends the body properly, then closes the connection without having announced it.
    HangUp,
}

impl Step {
    pub fn text(text: &str) -> Self {
        Step::Text(text.into())
    }
    /// A whole call in one chunk.
    pub fn call(index: usize, id: &str, name: &str, arguments: &str) -> Self {
        Step::Call {
            index: Some(index),
            id: Some(id.into()),
            name: Some(name.into()),
            arguments: Some(arguments.into()),
        }
    }
    /// More arguments of a call.
    pub fn more(index: usize, arguments: &str) -> Self {
        Step::Call { index: Some(index), id: None, name: None, arguments: Some(arguments.into()) }
    }
    pub fn usage(prompt: u64, cached: u64, completion: u64) -> Self {
        Step::Usage { prompt, cached, completion }
    }
    pub fn finish(reason: &str) -> Self {
        Step::Finish(reason.into())
    }

    /// The bytes of this step; `None` for steps that are not bytes.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        Some(match self {
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
            Step::Usage { prompt, cached, completion } => {
                let usage = json!({
                    "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
                    "prompt_tokens_details": { "cached_tokens": cached },
                });
                data(&json!({ "object": "chat.completion.chunk", "choices": [], "usage": usage }))
            }
            Step::Finish(reason) => data(&json!({
                "object": "chat.completion.chunk",
                "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }],
            })),
            Step::Raw(bytes) => bytes.clone(),
            Step::Comment => b": keep-alive\n\n".to_vec(),
            Step::Done => b"data: [DONE]\n\n".to_vec(),
            Step::Pause { .. } | Step::Hold | Step::Cut | Step::Eof | Step::HangUp => return None,
        })
    }
}

fn set<T: Into<Value> + Clone>(object: &mut Value, key: &str, value: &Option<T>) {
    if let Some(value) = value {
        object[key] = value.clone().into();
    }
}

fn delta(delta: Value) -> Vec<u8> {
    data(&json!({
        "id": "chatcmpl-mock", "object": "chat.completion.chunk", "created": 0, "model": "mock/alpha",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": null }],
    }))
}

fn data(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

/// The text cut after each run of spaces: every word keeps the space behind it.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}
