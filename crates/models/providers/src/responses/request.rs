//! A request in Responses format.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use vocab::ToolSpec;

use super::levels::RequestedLevel;
use super::quirks::ResponsesQuirks;
use crate::call_pairing::function_name;
use crate::format::{Draft, WrittenBody};
use crate::json::string;

/// OpenAI refuses a lower limit.
const MAX_TOKENS_LEAST: u64 = 16;

/// For a server that wants instructions when there are none.
const NO_INSTRUCTIONS: &str = "Answer the user.";

/// One request, ready to be written as often as it must be sent.
pub(super) struct ResponsesDraft {
    pub(super) model: Arc<str>,
    pub(super) max_tokens: u64,
    pub(super) reasoning: RequestedLevel,
    /// Instructions and tools.
    pub(super) prefix: Bytes,
    pub(super) messages: Vec<Bytes>,
    pub(super) quirks: Arc<ResponsesQuirks>,
}

impl Draft for ResponsesDraft {
    fn path(&self) -> Cow<'static, str> {
        "/responses".into()
    }

    fn write(&self) -> WrittenBody {
        let mut head = BytesMut::with_capacity(256);
        head.put_slice(br#"{"model":"#);
        string(&mut head, &self.model);
        head.put_slice(br#","stream":true,"#);
        if !self.quirks.has(ResponsesQuirks::NO_STORE) {
            // The conversation is ours to keep, and the server need not.
            head.put_slice(br#""store":false,"#);
        }
        if self.reasoning.thinks && !self.quirks.has(ResponsesQuirks::NO_INCLUDE) {
            // What is not stored there must come here, or thinking could not go back.
            head.put_slice(br#""include":["reasoning.encrypted_content"],"#);
        }
        if self.max_tokens > 0 && !self.quirks.has(ResponsesQuirks::NO_LIMIT) {
            let limit = self.max_tokens.max(MAX_TOKENS_LEAST);
            head.put_slice(format!("\"max_output_tokens\":{limit},").as_bytes());
        }
        self.reasoning(&mut head);
        WrittenBody {
            head: vec![head.freeze(), self.prefix.clone()],
            messages: self.messages.clone(),
            tail: Bytes::from_static(b"]}"),
        }
    }

    fn learn(&self, status: u16, body: &[u8]) -> bool {
        self.quirks.learn(status, body)
    }
}

impl ResponsesDraft {
    fn reasoning(&self, head: &mut BytesMut) {
        let effort = self.reasoning.effort.as_ref().filter(|_| !self.quirks.has(ResponsesQuirks::NO_EFFORT));
        let summary = self.reasoning.summary && !self.quirks.has(ResponsesQuirks::NO_SUMMARY);
        if effort.is_none() && !summary {
            return;
        }
        head.put_slice(br#""reasoning":{"#);
        if let Some(effort) = effort {
            head.put_slice(br#""effort":"#);
            string(head, effort);
        }
        if summary {
            head.put_slice(if effort.is_some() { b"," } else { b"" });
            head.put_slice(br#""summary":"auto""#);
        }
        head.put_slice(b"},");
    }
}

/// Instructions and tools: what stands before the messages and rarely changes. Ends inside the list of messages.
/// `instructed`: there must be some.
pub(super) fn prefix_head(instructed: bool, system: &str, tools: &[ToolSpec]) -> Bytes {
    let mut out = BytesMut::new();
    let system = if instructed && system.is_empty() { NO_INSTRUCTIONS } else { system };
    if !system.is_empty() {
        out.put_slice(br#""instructions":"#);
        string(&mut out, system);
        out.put_u8(b',');
    }
    for (number, tool) in tools.iter().enumerate() {
        out.put_slice(if number == 0 { br#""tools":["# } else { b"," });
        out.put_slice(br#"{"type":"function","name":"#);
        string(&mut out, &function_name(&tool.name));
        out.put_slice(br#","description":"#);
        string(&mut out, &tool.description);
        out.put_slice(br#","parameters":"#);
        out.put_slice(tool.schema.as_str().as_bytes());
        // Strict schemas are a subset that tools of others need not keep to.
        out.put_slice(br#","strict":false}"#);
    }
    if !tools.is_empty() {
        out.put_slice(b"],");
    }
    out.put_slice(br#""input":["#);
    out.freeze()
}
