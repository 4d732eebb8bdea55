//! Anthropic Messages: the format of Claude, which some other vendors and gateways speak too.

mod blocks;
mod decode;
mod encode;
mod event;
mod ids;
pub(crate) mod list;
mod quirks;
mod request;
mod splice;
mod thinking;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vocab::{CallSpec, Message, ModelInfo};

use crate::completions::Compat;
use crate::format::{Decoder, Draft, Encoder};
use crate::prefix::Prefix;
use crate::recent::RecentPieces;
use encode::AnthropicTranscript;
use quirks::AnthropicQuirks;
use request::{AnthropicDraft, VERSION};
use splice::{BREAKPOINT, splice};
use thinking::{Generation, ThinkingWish};

/// One conversation with one model.
pub(crate) struct AnthropicEncoder {
    model: ModelInfo,
    transcript: AnthropicTranscript,
    prefix: Prefix<(Bytes, Vec<usize>)>,
    quirks: Arc<AnthropicQuirks>,
    recent: Arc<RecentPieces>,
    compat: Compat,
}

/// How messages are written.
#[derive(Serialize, Deserialize)]
struct AnthropicManner {
    /// Whose thinking goes back.
    model: Arc<str>,
    images: bool,
    /// With breakpoints.
    cache: bool,
}

impl AnthropicEncoder {
    pub(crate) fn new(model: &ModelInfo, compat: Compat) -> Self {
        let transcript = AnthropicTranscript::new(model.slug.clone(), model.images);
        let quirks = Arc::new(AnthropicQuirks::new(&compat));
        Self { model: model.clone(), transcript, prefix: Prefix::default(), recent: Arc::default(), quirks, compat }
    }

    pub(crate) fn sharing(self, recent: Arc<RecentPieces>) -> Self {
        Self { recent, ..self }
    }

    /// For writing messages again as [`Encoder::manner`] says; `None` when it says nothing we know.
    pub(crate) fn again(manner: &str) -> Option<Self> {
        let AnthropicManner { model, images, cache } = serde_json::from_str(manner).ok()?;
        let model = ModelInfo { images, ..ModelInfo::named(model, 0) };
        Some(Self::new(&model, Compat { caching: Some(cache), ..Compat::default() }))
    }

    fn wish(&self, spec: &CallSpec) -> ThinkingWish {
        let level = spec.thinking.clone().filter(|_| self.model.thinking);
        let word = level.as_ref().and_then(|level| self.compat.efforts.get(level));
        ThinkingWish {
            generation: Generation::of(&self.model.id),
            // A level without a word is sent without an effort.
            effort: word.map(|word| word.clone().unwrap_or_default()),
            level,
            max_tokens: spec.max_tokens,
            max_output: self.model.max_output,
            unthought: self.transcript.is_unthought_loop(),
        }
    }

    fn manner_with(&self, cache: bool) -> String {
        let manner =
            AnthropicManner { model: self.transcript.model().clone(), images: self.transcript.images(), cache };
        serde_json::to_string(&manner).expect("plain fields always serialise")
    }
}

impl Encoder for AnthropicEncoder {
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
        let (pieces, seams) = self.transcript.list();
        if self.quirks.has(AnthropicQuirks::NO_CACHE) { pieces } else { splice(&pieces, &seams, &BREAKPOINT) }
    }

    fn draft(&mut self, spec: &CallSpec) -> Box<dyn Draft> {
        // Before anything is asked about the history: it settles calls that never got a result.
        let messages = self.transcript.list();
        let encode = || {
            let (head, marks) = encode::prefix_head(&spec.system, &spec.tools);
            (self.recent.piece(head), marks)
        };
        let prefix = self.prefix.of(spec, encode).clone();
        Box::new(AnthropicDraft {
            model: self.model.id.clone(),
            wish: self.wish(spec),
            betas: self.compat.betas.clone(),
            prefix,
            messages,
            tail: self.transcript.close(),
            quirks: self.quirks.clone(),
            refused: AtomicBool::new(false),
            plain_manner: self.manner_with(false),
        })
    }

    fn manner(&self) -> String {
        self.manner_with(!self.quirks.has(AnthropicQuirks::NO_CACHE))
    }
    fn adopt(&mut self, manner: &str) {
        if let Ok(AnthropicManner { cache, .. }) = serde_json::from_str(manner) {
            self.quirks.set(AnthropicQuirks::NO_CACHE, !cache);
        }
    }
}

pub(crate) fn decoder(server: Arc<str>) -> Box<dyn Decoder> {
    Box::new(decode::AnthropicDecoder::new(server))
}

pub(crate) fn list_headers() -> Vec<(&'static str, String)> {
    vec![(VERSION.0, VERSION.1.to_owned())]
}

#[cfg(test)]
mod tests;
