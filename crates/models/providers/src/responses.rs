//! OpenAI Responses: what OpenAI's own models speak best, since thinking can go back to them here.

mod decode;
mod encode;
mod event;
mod failure;
mod ids;
mod item;
mod levels;
mod open;
mod quirks;
mod request;
mod seal;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vocab::{CallSpec, Message, ModelInfo};

use crate::completions::Compat;
use crate::format::{Decoder, Draft, Encoder};
use crate::prefix::Prefix;
use crate::recent::RecentPieces;
use encode::ResponsesTranscript;
use levels::RequestedLevel;
use quirks::ResponsesQuirks;
use request::ResponsesDraft;

/// One conversation with one model.
pub(crate) struct ResponsesEncoder {
    model: ModelInfo,
    transcript: ResponsesTranscript,
    prefix: Prefix<Bytes>,
    quirks: Arc<ResponsesQuirks>,
    recent: Arc<RecentPieces>,
    compat: Compat,
}

/// How messages are written.
#[derive(Serialize, Deserialize)]
struct ResponsesManner {
    images: bool,
    /// The slug of the model whose sealed things go back.
    model: Arc<str>,
}

impl ResponsesEncoder {
    pub(crate) fn new(model: &ModelInfo, compat: Compat) -> Self {
        let transcript = ResponsesTranscript::new(model.slug.clone(), model.images);
        let quirks = Arc::new(ResponsesQuirks::new(&compat));
        Self { model: model.clone(), transcript, prefix: Prefix::default(), recent: Arc::default(), quirks, compat }
    }

    pub(crate) fn sharing(self, recent: Arc<RecentPieces>) -> Self {
        Self { recent, ..self }
    }

    /// For writing messages again as [`Encoder::manner`] says; `None` when it says nothing we know.
    pub(crate) fn again(manner: &str) -> Option<Self> {
        let ResponsesManner { images, model } = serde_json::from_str(manner).ok()?;
        let model = ModelInfo { images, ..ModelInfo::named(model, 0) };
        Some(Self::new(&model, Compat::default()))
    }
}

impl Encoder for ResponsesEncoder {
    fn push(&mut self, message: &Message) {
        self.transcript.push(message);
    }
    fn clear(&mut self) {
        self.transcript.clear();
    }
    fn bytes(&self) -> usize {
        self.transcript.bytes()
    }
    fn messages(&mut self) -> Vec<Bytes> {
        self.transcript.list()
    }

    fn draft(&mut self, spec: &CallSpec) -> Box<dyn Draft> {
        let instructed = self.compat.instructions == Some(true);
        let encode = || self.recent.piece(request::prefix_head(instructed, &spec.system, &spec.tools));
        let prefix = self.prefix.of(spec, encode).clone();
        Box::new(ResponsesDraft {
            model: self.model.id.clone(),
            max_tokens: self.model.max_output.map_or(spec.max_tokens, |limit| limit.min(spec.max_tokens)),
            reasoning: RequestedLevel::of(&self.model, &self.compat, spec.thinking.as_ref()),
            prefix,
            messages: self.messages(),
            quirks: self.quirks.clone(),
        })
    }

    fn manner(&self) -> String {
        let manner = ResponsesManner { images: self.model.images, model: self.model.slug.clone() };
        serde_json::to_string(&manner).expect("plain fields always serialise")
    }
}

pub(crate) fn decoder(server: Arc<str>) -> Box<dyn Decoder> {
    Box::new(decode::ResponsesDecoder::new(server))
}
