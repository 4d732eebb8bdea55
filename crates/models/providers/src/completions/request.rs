//! A request in Chat Completions format.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::quirks::CompletionsQuirks;
use super::routing;
use super::thinking::{AskedThinking, ThinkingFormat};
use crate::format::{Draft, WrittenBody};
use crate::json::string;

/// Of a head: what differs from call to call, tools, and the instructions with what stands around them.
const PIECES_MAX: usize = 5;

/// How messages begin: without instructions, and with some in either role.
const MESSAGES: &[u8] = br#""messages":["#;
const SYSTEM: &[u8] = br#""messages":[{"role":"system","content":"#;
const DEVELOPER: &[u8] = br#""messages":[{"role":"developer","content":"#;

/// One request, ready to be written as often as it must be sent.
pub(super) struct CompletionsDraft {
    pub(super) model: Arc<str>,
    pub(super) max_tokens: u64,
    pub(super) thinking: Option<AskedThinking>,
    pub(super) thinking_format: ThinkingFormat,
    pub(super) route: Option<Arc<str>>,
    /// Whether the server is told to keep nothing.
    pub(super) forget: bool,
    /// Whether the server is asked to cache.
    pub(super) cache: bool,
    /// With a comma behind them; empty when there are none.
    pub(super) tools: Bytes,
    /// As JSON text; empty when there are none.
    pub(super) instructions: Bytes,
    /// The messages have calls.
    pub(super) called: bool,
    pub(super) messages: Vec<Bytes>,
    pub(super) quirks: Arc<CompletionsQuirks>,
}

impl Draft for CompletionsDraft {
    fn path(&self) -> Cow<'static, str> {
        "/chat/completions".into()
    }

    fn write(&self) -> WrittenBody {
        let mut head = BytesMut::with_capacity(256);
        head.put_slice(br#"{"model":"#);
        string(&mut head, &self.model);
        head.put_slice(br#","stream":true,"#);
        if !self.quirks.has(CompletionsQuirks::NO_STREAM_OPTIONS) {
            head.put_slice(br#""stream_options":{"include_usage":true},"#);
        }
        if self.max_tokens > 0 {
            let long = self.quirks.has(CompletionsQuirks::LONG_LIMIT_NAME);
            let name = if long { "max_completion_tokens" } else { "max_tokens" };
            write!(head, "\"{name}\":{},", self.max_tokens).expect("memory takes everything");
        }
        if let Some(thinking) = &self.thinking {
            self.thinking_format.put(&mut head, thinking, !self.quirks.has(CompletionsQuirks::NO_EFFORT));
        }
        if self.forget {
            head.put_slice(br#""store":false,"#);
        }
        if self.cache {
            head.put_slice(br#""cache_control":{"type":"ephemeral"},"#);
        }
        if let Some(route) = &self.route {
            routing::put(&mut head, route);
        }
        if self.tools.is_empty() && self.called && self.quirks.has(CompletionsQuirks::EMPTY_TOOLS) {
            head.put_slice(br#""tools":[],"#);
        }
        let mut pieces = Vec::with_capacity(PIECES_MAX);
        pieces.extend([head.freeze(), self.tools.clone()]);
        if self.instructions.is_empty() {
            pieces.push(Bytes::from_static(MESSAGES));
        } else {
            let role = if self.quirks.has(CompletionsQuirks::NO_DEVELOPER) { SYSTEM } else { DEVELOPER };
            let end: &[u8] = if self.messages.is_empty() { b"}" } else { b"}," };
            pieces.extend([Bytes::from_static(role), self.instructions.clone(), Bytes::from_static(end)]);
        }
        WrittenBody { head: pieces, messages: self.messages.clone(), tail: Bytes::from_static(b"]}") }
    }

    fn learn(&self, status: u16, body: &[u8]) -> bool {
        self.quirks.learn(status, body)
    }
}
