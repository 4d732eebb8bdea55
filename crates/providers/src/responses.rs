//! OpenAI Responses: what OpenAI's own models speak best, since thinking can go back to them here.

mod decode;
mod encode;
mod event;
mod failure;
mod frame;
mod ids;
mod item;
mod levels;
mod open;
mod quirks;
mod seal;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vocab::{CallSpec, Message, ModelInfo, ToolSpec};

use crate::completions::Compat;
use crate::format::{Decoder, Draft, Encoder};
use encode::Transcript;
use frame::Frame;
use levels::Reasoning;
use quirks::Quirks;

/// One conversation with one model.
pub(crate) struct Conversation {
    model: ModelInfo,
    transcript: Transcript,
    fixed: Option<Fixed>,
    quirks: Arc<Quirks>,
    compat: Compat,
}

/// The encoded instructions and tools, good as long as the next call shares the same ones.
struct Fixed {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    bytes: Bytes,
}

/// How messages are written.
#[derive(Serialize, Deserialize)]
struct Manner {
    images: bool,
    /// The slug of the model whose sealed things go back.
    model: Arc<str>,
}

impl Conversation {
    pub(crate) fn new(model: &ModelInfo, compat: Compat) -> Self {
        let transcript = Transcript::new(model.slug.clone(), model.images);
        let quirks = Arc::new(Quirks::new(&compat));
        Self { model: model.clone(), transcript, fixed: None, quirks, compat }
    }

    /// For writing messages again as [`Encoder::manner`] says; `None` when it says nothing we know.
    pub(crate) fn again(manner: &str) -> Option<Self> {
        let Manner { images, model } = serde_json::from_str(manner).ok()?;
        let model = ModelInfo { images, ..ModelInfo::named(model, 0) };
        Some(Self::new(&model, Compat::default()))
    }

    fn fixed(&mut self, spec: &CallSpec) -> Bytes {
        let same = |fixed: &&Fixed| Arc::ptr_eq(&fixed.system, &spec.system) && Arc::ptr_eq(&fixed.tools, &spec.tools);
        if let Some(fixed) = self.fixed.as_ref().filter(same) {
            return fixed.bytes.clone();
        }
        let bytes = frame::fixed_head(self.compat.instructions == Some(true), &spec.system, &spec.tools);
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
            reasoning: Reasoning::of(&self.model, &self.compat, spec.thinking.as_ref()),
            fixed: self.fixed(spec),
            messages: self.messages(),
            quirks: self.quirks.clone(),
        })
    }

    fn manner(&self) -> String {
        let manner = Manner { images: self.model.images, model: self.model.slug.clone() };
        serde_json::to_string(&manner).expect("plain fields always serialise")
    }
}

pub(crate) fn decoder(server: Arc<str>) -> Box<dyn Decoder> {
    Box::new(decode::Answer::new(server))
}
