//! OpenAI Chat Completions: the format of Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, DeepSeek and most others.

mod chunk;
mod compat;
mod decode;
mod encode;
mod frame;
pub(crate) mod list;
mod quirks;
mod routing;

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vocab::{CallSpec, Message, ModelInfo, ToolSpec};

pub use compat::{Compat, TokensField};
pub use routing::Routing;

use crate::format::{Decoder, Draft, Encoder};
use encode::Transcript;
use frame::Frame;
use quirks::Quirks;

/// One conversation with one model.
pub(crate) struct Conversation {
    model: ModelInfo,
    transcript: Transcript,
    fixed: Option<Fixed>,
    quirks: Arc<Quirks>,
    compat: Compat,
    routing: Option<Routing>,
}

/// The encoded system prompt and tools, good as long as the next call shares the same ones.
struct Fixed {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    bytes: Bytes,
}

/// How messages are written.
#[derive(Serialize, Deserialize)]
struct Manner {
    images: bool,
}

impl Conversation {
    pub(crate) fn new(model: &ModelInfo, compat: Compat, routing: Option<Routing>) -> Self {
        let transcript = Transcript::new(model.images);
        let quirks = Arc::new(Quirks::new(&compat));
        Self { model: model.clone(), transcript, fixed: None, quirks, compat, routing }
    }

    /// For writing messages again as [`Encoder::manner`] says; `None` when it says nothing we know.
    pub(crate) fn again(manner: &str) -> Option<Self> {
        let Manner { images } = serde_json::from_str(manner).ok()?;
        let model = ModelInfo { images, ..ModelInfo::named("", 0) };
        Some(Self::new(&model, Compat::default(), None))
    }

    fn fixed(&mut self, spec: &CallSpec) -> Bytes {
        let same = |fixed: &&Fixed| Arc::ptr_eq(&fixed.system, &spec.system) && Arc::ptr_eq(&fixed.tools, &spec.tools);
        if let Some(fixed) = self.fixed.as_ref().filter(same) {
            return fixed.bytes.clone();
        }
        let bytes = encode::fixed_head(self.compat.role(self.model.thinking), &spec.system, &spec.tools);
        self.fixed = Some(Fixed { system: spec.system.clone(), tools: spec.tools.clone(), bytes: bytes.clone() });
        bytes
    }
}

impl Encoder for Conversation {
    fn push(&mut self, message: &Message) {
        self.transcript.push(message);
    }
    fn clear(&mut self) {
        self.transcript.clear();
    }
    fn bytes(&self) -> usize {
        self.transcript.bytes() + self.fixed.as_ref().map_or(0, |fixed| fixed.bytes.len())
    }
    fn messages(&mut self) -> Vec<Bytes> {
        self.transcript.list()
    }

    fn draft(&mut self, spec: &CallSpec) -> Box<dyn Draft> {
        Box::new(Frame {
            model: self.model.id.clone(),
            max_tokens: self.model.max_output.map_or(spec.max_tokens, |limit| limit.min(spec.max_tokens)),
            effort: self.compat.effort(spec.thinking.as_ref(), self.model.thinking),
            route: self.routing.as_ref().and_then(Routing::get),
            fixed: self.fixed(spec),
            has_system: !spec.system.is_empty(),
            messages: self.messages(),
            quirks: self.quirks.clone(),
        })
    }

    fn manner(&self) -> String {
        let manner = Manner { images: self.transcript.images() };
        serde_json::to_string(&manner).expect("plain fields always serialise")
    }
}

pub(crate) fn decoder(server: Arc<str>) -> Box<dyn Decoder> {
    Box::new(decode::Answer::new(server))
}
