//! OpenAI Chat Completions: the format of Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, DeepSeek and most others.

mod chunk;
mod compat;
mod content;
mod decode;
mod details;
mod encode;
mod ids;
pub(crate) mod list;
mod manner;
mod plain;
mod presets;
mod quirks;
mod request;
mod routing;
mod stop;
#[cfg(test)]
mod tests;
mod thinking;

use std::sync::Arc;

use bytes::Bytes;
use vocab::{CallSpec, Message, ModelInfo};

pub use compat::{CallIds, Compat, ReasoningBack, TokensField};
pub use routing::Routing;
pub use thinking::ThinkingFormat;

use crate::format::{Decoder, Draft, Encoder};
use crate::prefix::Prefix;
use crate::recent::RecentPieces;
use encode::CompletionsTranscript;
use manner::CompletionsManner;
use quirks::CompletionsQuirks;
use request::CompletionsDraft;

/// One conversation with one model.
pub(crate) struct CompletionsEncoder {
    model: ModelInfo,
    transcript: CompletionsTranscript,
    /// Tools and instructions.
    prefix: Prefix<(Bytes, Bytes)>,
    quirks: Arc<CompletionsQuirks>,
    recent: Arc<RecentPieces>,
    compat: Compat,
    routing: Option<Routing>,
}

/// Names of Claude's models, at whatever server.
const CLAUDE: [&str; 2] = ["anthropic/", "claude"];

impl CompletionsEncoder {
    pub(crate) fn new(model: &ModelInfo, compat: Compat, routing: Option<Routing>) -> Self {
        let manner = CompletionsManner::new(model.images, &model.slug, &compat);
        Self::with(model.clone(), manner, compat, routing)
    }

    pub(crate) fn sharing(self, recent: Arc<RecentPieces>) -> Self {
        Self { recent, ..self }
    }

    /// For writing messages again as [`Encoder::manner`] says; `None` when it says nothing we know.
    pub(crate) fn again(manner: &str) -> Option<Self> {
        let manner: CompletionsManner = serde_json::from_str(manner).ok()?;
        let model = ModelInfo { images: manner.images, ..ModelInfo::named("", 0) };
        Some(Self::with(model, manner, Compat::default(), None))
    }

    fn with(model: ModelInfo, manner: CompletionsManner, compat: Compat, routing: Option<Routing>) -> Self {
        let quirks = Arc::new(CompletionsQuirks::new(&compat, model.thinking));
        Self {
            model,
            transcript: CompletionsTranscript::new(manner),
            prefix: Prefix::default(),
            recent: Arc::default(),
            quirks,
            compat,
            routing,
        }
    }
}

impl Encoder for CompletionsEncoder {
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
        let recent = &self.recent;
        let encode = || (recent.piece(encode::tools(&spec.tools)), recent.piece(encode::instructions(&spec.system)));
        let (tools, instructions) = self.prefix.of(spec, encode).clone();
        let claude = CLAUDE.iter().any(|name| self.model.id.starts_with(name));
        Box::new(CompletionsDraft {
            model: self.model.id.clone(),
            max_tokens: self.model.max_output.map_or(spec.max_tokens, |limit| limit.min(spec.max_tokens)),
            thinking: self.compat.thinking(spec.thinking.as_ref(), self.model.thinking),
            thinking_format: self.compat.thinking_format.unwrap_or(ThinkingFormat::Effort),
            route: self.routing.as_ref().and_then(Routing::get),
            forget: self.compat.store == Some(true),
            cache: claude && self.compat.claude_cache == Some(true),
            tools,
            instructions,
            called: self.transcript.called(),
            messages: self.messages(),
            quirks: self.quirks.clone(),
        })
    }

    fn manner(&self) -> String {
        serde_json::to_string(self.transcript.manner()).expect("plain fields always serialise")
    }
}

pub(crate) fn decoder(server: Arc<str>) -> Box<dyn Decoder> {
    Box::new(decode::CompletionsDecoder::new(server))
}
