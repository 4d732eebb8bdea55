//! A request in Anthropic format.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{BufMut, Bytes, BytesMut};

use super::quirks::{AnthropicQuirks, Lesson};
use super::splice::{BREAKPOINT, splice};
use super::thinking::{ThinkingPlan, ThinkingWish, Thought};
use crate::format::{Draft, WrittenBody};
use crate::json::string;

/// The version of the API whose words these are.
pub(super) const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
const BETA: &str = "anthropic-beta";

/// One request, ready to be written as often as it must be sent.
pub(super) struct AnthropicDraft {
    pub(super) model: Arc<str>,
    pub(super) wish: ThinkingWish,
    pub(super) betas: Vec<Arc<str>>,
    /// Tools and system prompt, and where breakpoints pay in them.
    pub(super) prefix: (Bytes, Vec<usize>),
    pub(super) messages: (Vec<Bytes>, Vec<usize>),
    pub(super) tail: Bytes,
    pub(super) quirks: Arc<AnthropicQuirks>,
    /// This history was refused with thinking on.
    pub(super) refused: AtomicBool,
    /// How messages are written without breakpoints.
    pub(super) plain_manner: String,
}

impl AnthropicDraft {
    fn plan(&self) -> ThinkingPlan {
        self.wish.plan(&self.quirks, self.refused.load(Ordering::Relaxed))
    }
    fn marked(&self, pieces: &[Bytes], seams: &[usize]) -> Vec<Bytes> {
        let seams = if self.quirks.has(AnthropicQuirks::NO_CACHE) { &[] } else { seams };
        splice(pieces, seams, &BREAKPOINT)
    }
}

impl Draft for AnthropicDraft {
    fn path(&self) -> Cow<'static, str> {
        "/messages".into()
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let beta = (!self.betas.is_empty()).then(|| (BETA, self.betas.join(",")));
        [(VERSION.0, VERSION.1.to_owned())].into_iter().chain(beta).collect()
    }

    fn write(&self) -> WrittenBody {
        let plan = self.plan();
        let mut head = BytesMut::with_capacity(256);
        head.put_slice(br#"{"model":"#);
        string(&mut head, &self.model);
        head.put_slice(format!(r#","stream":true,"max_tokens":{},"#, plan.max_tokens).as_bytes());
        match plan.thought {
            Thought::Unsaid => {}
            Thought::Disabled => head.put_slice(br#""thinking":{"type":"disabled"},"#),
            Thought::BetweenTools => head.put_slice(br#""thinking":{"type":"between_tools"},"#),
            Thought::Budget(tokens) => {
                head.put_slice(format!(r#""thinking":{{"type":"enabled","budget_tokens":{tokens}}},"#).as_bytes());
            }
            Thought::Adaptive { shown: false } => head.put_slice(br#""thinking":{"type":"adaptive"},"#),
            Thought::Adaptive { shown: true } => {
                head.put_slice(br#""thinking":{"type":"adaptive","display":"summarized"},"#);
            }
        }
        if let Some(effort) = &plan.effort {
            head.put_slice(br#""output_config":{"effort":"#);
            string(&mut head, effort);
            head.put_slice(b"},");
        }
        let mut pieces = vec![head.freeze()];
        pieces.extend(self.marked(std::slice::from_ref(&self.prefix.0), &self.prefix.1));
        let messages = self.marked(&self.messages.0, &self.messages.1);
        WrittenBody { head: pieces, messages, tail: self.tail.clone() }
    }

    fn learn(&self, status: u16, body: &[u8]) -> bool {
        match self.quirks.learn(status, body, &self.plan()) {
            Lesson::Learned => true,
            Lesson::NotNow => !self.refused.swap(true, Ordering::Relaxed),
            Lesson::Nothing => false,
        }
    }

    fn manner(&self) -> Option<String> {
        self.quirks.has(AnthropicQuirks::NO_CACHE).then(|| self.plain_manner.clone())
    }
}
