//! A request in Chat Completions format.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::quirks::Quirks;
use super::routing;
use crate::format::{Draft, Written};
use crate::json::string;

/// One request, ready to be written as often as it must be sent.
pub(super) struct Frame {
    pub(super) model: Arc<str>,
    pub(super) max_tokens: u64,
    pub(super) effort: Option<Arc<str>>,
    pub(super) route: Option<Arc<str>>,
    /// Tools and system prompt.
    pub(super) fixed: Bytes,
    pub(super) has_system: bool,
    pub(super) messages: Vec<Bytes>,
    pub(super) quirks: Arc<Quirks>,
}

impl Draft for Frame {
    fn path(&self) -> String {
        "/chat/completions".to_owned()
    }

    fn write(&self) -> Written {
        let mut head = BytesMut::with_capacity(256);
        head.put_slice(br#"{"model":"#);
        string(&mut head, &self.model);
        head.put_slice(br#","stream":true,"#);
        if !self.quirks.has(Quirks::NO_STREAM_OPTIONS) {
            head.put_slice(br#""stream_options":{"include_usage":true},"#);
        }
        if self.max_tokens > 0 {
            let long = self.quirks.has(Quirks::LONG_LIMIT_NAME);
            let name = if long { "max_completion_tokens" } else { "max_tokens" };
            head.put_slice(format!("\"{name}\":{},", self.max_tokens).as_bytes());
        }
        if let Some(effort) = self.effort.as_ref().filter(|_| !self.quirks.has(Quirks::NO_EFFORT)) {
            head.put_slice(br#""reasoning_effort":"#);
            string(&mut head, effort);
            head.put_u8(b',');
        }
        if let Some(route) = &self.route {
            routing::put(&mut head, route);
        }
        let between: &[u8] = if self.has_system && !self.messages.is_empty() { b"," } else { b"" };
        Written {
            head: vec![head.freeze(), self.fixed.clone(), Bytes::from_static(between)],
            messages: self.messages.clone(),
            tail: Bytes::from_static(b"]}"),
        }
    }

    fn learn(&self, status: u16, body: &[u8]) -> bool {
        self.quirks.learn(status, body)
    }
}
