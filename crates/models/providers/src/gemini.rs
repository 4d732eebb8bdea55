//! Google Gemini: `streamGenerateContent`.

mod chunk;
mod cloud_code;
mod decode;
mod encode;
pub(crate) mod list;
mod model;
mod parts;
mod quirks;
mod reasons;
mod request;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use vocab::{CallSpec, Message, ModelInfo};

pub use cloud_code::CloudCode;

use crate::format::{Decoder, Draft, Encoder};
use crate::recent::RecentPieces;
use encode::{GeminiManner, GeminiTranscript};
use quirks::GeminiQuirks;
use request::{GeminiDraft, GeminiPrefix};

/// How ids begin that we made up for calls to which the server gave none.
const INVENTED_ID: &str = "unnamed-call-";

/// One conversation with one model.
pub(crate) struct GeminiEncoder {
    model: ModelInfo,
    transcript: GeminiTranscript,
    prefix: Option<GeminiPrefix>,
    quirks: Arc<GeminiQuirks>,
    recent: Arc<RecentPieces>,
    cloud_code: Option<CloudCode>,
}

impl GeminiEncoder {
    pub(crate) fn new(model: &ModelInfo, cloud_code: Option<CloudCode>) -> Self {
        let manner = GeminiManner {
            images: model.images,
            model: model.slug.to_string(),
            strict: model::is_strict(&model.id),
            ids: model::is_foreign(&model.id),
        };
        Self { cloud_code, ..Self::written_by(model.clone(), manner) }
    }

    pub(crate) fn sharing(self, recent: Arc<RecentPieces>) -> Self {
        Self { recent, ..self }
    }

    /// For writing messages again as [`Encoder::manner`] says; `None` when it says nothing we know.
    pub(crate) fn again(manner: &str) -> Option<Self> {
        Some(Self::written_by(ModelInfo::named("", 0), serde_json::from_str(manner).ok()?))
    }

    fn written_by(model: ModelInfo, manner: GeminiManner) -> Self {
        let quirks = Arc::new(GeminiQuirks::new(manner.ids));
        Self {
            model,
            transcript: GeminiTranscript::new(manner),
            prefix: None,
            recent: Arc::default(),
            quirks,
            cloud_code: None,
        }
    }

    fn prefix(&mut self, spec: &CallSpec) -> GeminiPrefix {
        let old = self.quirks.has(GeminiQuirks::OLD_SCHEMA);
        let same = self.prefix.take().filter(|prefix| prefix.is_for(&spec.system, &spec.tools, old));
        let anew = || {
            let made = GeminiPrefix::new(&spec.system, &spec.tools, old);
            GeminiPrefix { bytes: self.recent.piece(made.bytes.clone()), ..made }
        };
        self.prefix.insert(same.unwrap_or_else(anew)).clone()
    }
}

impl Encoder for GeminiEncoder {
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
        let max_tokens = self.model.max_output.map_or(spec.max_tokens, |limit| limit.min(spec.max_tokens));
        let level = spec.thinking.as_deref().filter(|_| self.model.thinking);
        Box::new(GeminiDraft {
            model: self.model.id.clone(),
            max_tokens,
            wish: level.and_then(|level| model::wish(&self.model.id, level, max_tokens)),
            prefix: self.prefix(spec),
            messages: self.messages(),
            tail: self.transcript.tail(),
            wrap: self.cloud_code.as_ref().map(CloudCode::wrap),
            quirks: self.quirks.clone(),
        })
    }

    fn manner(&self) -> String {
        serde_json::to_string(self.transcript.manner()).expect("plain fields always serialise")
    }
}

pub(crate) fn decoder(server: Arc<str>) -> Box<dyn Decoder> {
    Box::new(decode::GeminiDecoder::new(server))
}
