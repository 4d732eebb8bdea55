//! What the server can be told to answer. The words are no vendor's own; each format has its speaker for them.

use super::completions;

/// One answer of the server.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An ordinary response with a `Content-Length`.
    Plain {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
        /// The message of an error, said in the shape of the format that was asked instead of `body`.
        error: Option<String>,
    },
    /// A chunked response, one HTTP chunk per step; one JSON value for who did not ask for a stream.
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
        let headers = vec![("content-type".into(), content_type.into())];
        Reply::Plain { status, headers, body: body.into(), error: None }
    }
    /// A JSON error in the vendor's shape.
    pub fn error(status: u16, message: &str) -> Self {
        let headers = vec![("content-type".into(), "application/json".into())];
        let body = completions::error(message).to_string().into();
        Reply::Plain { status, headers, body, error: Some(message.into()) }
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
    /// The signature of the thinking or call before it; behind anything else, of a thought without words.
    Seal(String),
    /// A thought whose words are sealed.
    Redacted(String),
    /// `prompt` counts all of it, the cached and the written part too.
    Usage {
        prompt: u64,
        cached: u64,
        written: u64,
        completion: u64,
    },
    /// `stop`, `length`, `tool_calls`, `refusal` (the model's own), `content_filter` (the server's), `blocked` (of the
    /// prompt), `failed` (where the format has a word for it); anything else is said as it is.
    Finish(String),
    /// An error in the middle of the stream, in the vendor's shape.
    Error {
        status: u16,
        message: String,
    },
    /// These bytes, as they are.
    Raw(Vec<u8>),
    /// A keep-alive: a comment, or Anthropic's ping.
    Comment,
    Pause {
        ms: u64,
    },
    /// Waits for a `release`, or for the client to go away.
    Hold,
    /// The last event, where the format has one behind the finish: `[DONE]`, `message_stop`.
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
        Step::Usage { prompt, cached, written: 0, completion }
    }
    pub fn finish(reason: &str) -> Self {
        Step::Finish(reason.into())
    }

    /// The bytes of this step in Chat Completions; `None` for steps that are not bytes. For the other formats see
    /// [`Format::stream`](super::Format::stream).
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Step::Raw(bytes) => Some(bytes.clone()),
            Step::Pause { .. } | Step::Hold | Step::Cut | Step::Eof | Step::HangUp => None,
            step => Some(completions::say(step)),
        }
    }
}

/// The text cut after each run of spaces: every word keeps the space behind it.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}
