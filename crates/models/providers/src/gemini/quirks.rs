//! What a server turns out not to take, learned from its refusals.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::faults;

/// Parts of a request that some models or servers refuse. What was learned holds for the rest of the conversation.
pub(super) struct GeminiQuirks(AtomicU8);

/// The word in the server's refusal, and what it teaches. Thinking is given up in two steps: first the exact amount, then
/// the whole wish.
const LESSONS: [(&str, u8); 6] = [
    ("thinking", GeminiQuirks::COARSE_THINKING),
    ("thinking", GeminiQuirks::NO_THINKING),
    ("parametersjsonschema", GeminiQuirks::OLD_SCHEMA),
    ("parameters_json_schema", GeminiQuirks::OLD_SCHEMA),
    ("maxoutputtokens", GeminiQuirks::NO_LIMIT),
    ("max_output_tokens", GeminiQuirks::NO_LIMIT),
];

impl GeminiQuirks {
    pub(super) const COARSE_THINKING: u8 = 1;
    pub(super) const NO_THINKING: u8 = 2;
    pub(super) const OLD_SCHEMA: u8 = 4;
    /// The limit we gave is not this model's; its own is as good.
    pub(super) const NO_LIMIT: u8 = 8;

    /// `old_schema`: this model is known to want the old words.
    pub(super) fn new(old_schema: bool) -> Self {
        Self(AtomicU8::new(if old_schema { Self::OLD_SCHEMA } else { 0 }))
    }

    pub(super) fn has(&self, quirk: u8) -> bool {
        self.0.load(Ordering::Relaxed) & quirk != 0
    }
    /// Whether a refusal taught something new, so that asking again makes sense.
    pub(super) fn learn(&self, status: u16, body: &[u8]) -> bool {
        if status != 400 {
            return false;
        }
        let said = faults::said(body);
        let lesson = LESSONS.iter().find(|(word, quirk)| said.mentions(word) && !self.has(*quirk));
        lesson.is_some_and(|(_, quirk)| self.0.fetch_or(*quirk, Ordering::Relaxed) & quirk == 0)
    }
}
