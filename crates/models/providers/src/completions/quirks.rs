//! What a server turns out not to take, learned from its refusals.

use std::sync::atomic::{AtomicU8, Ordering};

use super::compat::{Compat, TokensField};
use crate::faults;

/// Parts of a request that some servers refuse. What was learned holds for the rest of the conversation.
pub(super) struct CompletionsQuirks(AtomicU8);

/// The word in the server's refusal, in lower case, and what it teaches.
const LESSONS: &[(&str, u8)] = &[
    ("max_completion_tokens", CompletionsQuirks::LONG_LIMIT_NAME),
    ("stream_options", CompletionsQuirks::NO_STREAM_OPTIONS),
    ("reasoning_effort", CompletionsQuirks::NO_EFFORT),
    // xAI says it in its own spelling.
    ("reasoningeffort", CompletionsQuirks::NO_EFFORT),
    // Ollama, of models that cannot.
    ("does not support thinking", CompletionsQuirks::NO_EFFORT),
    ("developer", CompletionsQuirks::NO_DEVELOPER),
    // vLLM names no role.
    ("unexpected message role", CompletionsQuirks::NO_DEVELOPER),
    // LiteLLM before Claude.
    ("`tools=`", CompletionsQuirks::EMPTY_TOOLS),
];

impl CompletionsQuirks {
    pub(super) const LONG_LIMIT_NAME: u8 = 1;
    pub(super) const NO_STREAM_OPTIONS: u8 = 2;
    pub(super) const NO_EFFORT: u8 = 4;
    pub(super) const NO_DEVELOPER: u8 = 8;
    pub(super) const EMPTY_TOOLS: u8 = 16;

    /// What somebody said about the server needs not be learned. `thinks`: the model does.
    pub(super) fn new(compat: &Compat, thinks: bool) -> Self {
        let said = [
            (compat.max_tokens_field == Some(TokensField::MaxCompletionTokens), Self::LONG_LIMIT_NAME),
            (compat.usage_in_streaming == Some(false), Self::NO_STREAM_OPTIONS),
            (compat.reasoning_effort == Some(false), Self::NO_EFFORT),
            (!thinks || compat.developer_role != Some(true), Self::NO_DEVELOPER),
            (compat.empty_tools == Some(true), Self::EMPTY_TOOLS),
        ];
        Self(AtomicU8::new(said.iter().filter(|(said, _)| *said).map(|(_, quirk)| quirk).sum()))
    }

    pub(super) fn has(&self, quirk: u8) -> bool {
        self.0.load(Ordering::Relaxed) & quirk != 0
    }
    /// Whether a refusal taught something new, so that asking again makes sense.
    pub(super) fn learn(&self, status: u16, body: &[u8]) -> bool {
        if !matches!(status, 400 | 422) {
            return false;
        }
        let said = faults::said(body);
        let lesson = LESSONS.iter().find(|(word, quirk)| said.mentions(word) && !self.has(*quirk));
        lesson.is_some_and(|(_, quirk)| self.0.fetch_or(*quirk, Ordering::Relaxed) & quirk == 0)
    }
}
