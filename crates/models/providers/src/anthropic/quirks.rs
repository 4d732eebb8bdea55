//! What a server or a model turns out not to take, learned from refusals.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::thinking::{ThinkingPlan, Thought};
use crate::completions::Compat;
use crate::faults;

/// Parts of a request that some refuse. What was learned holds for the rest of the conversation.
pub(super) struct AnthropicQuirks {
    bits: AtomicU8,
    /// The most tokens of an answer; 0 = nobody said.
    limit: AtomicU64,
}

/// What a refusal means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lesson {
    /// Something for the rest of the conversation.
    Learned,
    /// This history cannot be thought about further; the next may.
    NotNow,
    Nothing,
}

impl AnthropicQuirks {
    pub(super) const ADAPTIVE: u8 = 1;
    pub(super) const BUDGET: u8 = 2;
    pub(super) const NO_THINKING: u8 = 4;
    pub(super) const NO_DISABLED: u8 = 8;
    pub(super) const BETWEEN_TOOLS: u8 = 16;
    pub(super) const NO_EFFORT: u8 = 32;
    pub(super) const NO_DISPLAY: u8 = 64;
    pub(super) const NO_CACHE: u8 = 128;

    /// What somebody said about the server needs not be learned.
    pub(super) fn new(compat: &Compat) -> Self {
        let quirks = Self { bits: AtomicU8::new(0), limit: AtomicU64::new(0) };
        quirks.set(Self::NO_EFFORT, compat.reasoning_effort == Some(false));
        quirks.set(Self::NO_CACHE, compat.caching == Some(false));
        quirks
    }

    pub(super) fn has(&self, quirk: u8) -> bool {
        self.bits.load(Ordering::Relaxed) & quirk != 0
    }
    pub(super) fn set(&self, quirk: u8, on: bool) {
        if on {
            self.bits.fetch_or(quirk, Ordering::Relaxed);
        } else {
            self.bits.fetch_and(!quirk, Ordering::Relaxed);
        }
    }
    pub(super) fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }

    /// What the refusal of a request with this plan teaches. Each lesson is learned once, so that asking again ends.
    pub(super) fn learn(&self, status: u16, body: &[u8], plan: &ThinkingPlan) -> Lesson {
        if !matches!(status, 400 | 422) {
            return Lesson::Nothing;
        }
        let said = faults::said(body);
        let thinks = matches!(plan.thought, Thought::Budget(_) | Thought::Adaptive { .. });
        if said.mentions("cache_control") {
            return self.note(Self::NO_CACHE);
        }
        if thinks && said.mentions("must start with a thinking block") {
            return Lesson::NotNow;
        }
        if said.message.starts_with("messages") {
            return Lesson::Nothing;
        }
        if said.message.starts_with("max_tokens")
            && let Some(most) = allowed(&said.message).filter(|most| *most < plan.max_tokens)
        {
            self.limit.store(most, Ordering::Relaxed);
            return Lesson::Learned;
        }
        let thinking = said.mentions("thinking");
        let adaptive = said.mentions("adaptive");
        let effort = plan.effort.is_some() && (said.mentions("effort") || said.mentions("output_config"));
        match plan.thought {
            Thought::Adaptive { shown: true } if said.mentions("display") => self.note(Self::NO_DISPLAY),
            Thought::Adaptive { .. } if adaptive && !self.has(Self::ADAPTIVE) => self.note(Self::BUDGET),
            Thought::Budget(_) if adaptive && !self.has(Self::BUDGET) => self.note(Self::ADAPTIVE),
            Thought::Disabled if said.mentions("between_tools") => self.note(Self::BETWEEN_TOOLS),
            Thought::BetweenTools if thinking || said.mentions("between_tools") => {
                self.set(Self::BETWEEN_TOOLS, false);
                self.note(Self::NO_DISABLED)
            }
            Thought::Disabled if thinking => self.note(Self::NO_DISABLED),
            _ if effort => self.note(Self::NO_EFFORT),
            _ if thinks && (thinking || said.mentions("budget_tokens")) => self.note(Self::NO_THINKING),
            _ => Lesson::Nothing,
        }
    }

    fn note(&self, quirk: u8) -> Lesson {
        let before = self.bits.fetch_or(quirk, Ordering::Relaxed);
        if before & quirk == 0 { Lesson::Learned } else { Lesson::Nothing }
    }
}

/// The number in `max_tokens: 40000 > 32000, which is the maximum allowed`.
fn allowed(message: &str) -> Option<u64> {
    let (_, behind) = message.split_once('>')?;
    let digits: String = behind.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|most| *most > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(thought: Thought, effort: Option<&str>) -> ThinkingPlan {
        ThinkingPlan { max_tokens: 40_000, thought, effort: effort.map(Into::into) }
    }

    #[test]
    fn a_refusal_that_names_a_part_teaches_once() {
        const ADAPTIVE: Thought = Thought::Adaptive { shown: true };
        const HIGH: Option<&str> = Some("high");
        for (message, thought, effort, want) in [
            (
                "\\\"thinking.type.enabled\\\" is not supported for this model. Use \\\"thinking.type.adaptive\\\" and \\\"output_config.effort\\\"",
                Thought::Budget(1024),
                None,
                AnthropicQuirks::ADAPTIVE,
            ),
            ("adaptive thinking is not supported on this model", ADAPTIVE, HIGH, AnthropicQuirks::BUDGET),
            ("thinking.adaptive.display: Extra inputs are not permitted", ADAPTIVE, HIGH, AnthropicQuirks::NO_DISPLAY),
            ("This model does not support the effort parameter.", ADAPTIVE, HIGH, AnthropicQuirks::NO_EFFORT),
            ("output_config: Extra inputs are not permitted", ADAPTIVE, HIGH, AnthropicQuirks::NO_EFFORT),
            ("output_config.effort: Input should be 'low'", Thought::Unsaid, Some("low"), AnthropicQuirks::NO_EFFORT),
            ("thinking: Extra inputs are not permitted", ADAPTIVE, HIGH, AnthropicQuirks::NO_THINKING),
            ("thinking.budget_tokens: too large", Thought::Budget(1024), None, AnthropicQuirks::NO_THINKING),
            (
                "\\\"thinking.type.disabled\\\" is not supported for this model.",
                Thought::Disabled,
                None,
                AnthropicQuirks::NO_DISABLED,
            ),
            (
                "thinking.type.disabled is not supported. Use \\\"between_tools\\\"",
                Thought::Disabled,
                None,
                AnthropicQuirks::BETWEEN_TOOLS,
            ),
            ("thinking.type.between_tools is not supported", Thought::BetweenTools, None, AnthropicQuirks::NO_DISABLED),
            (
                "messages.0.content.0.text.cache_control: Extra inputs are not permitted",
                ADAPTIVE,
                HIGH,
                AnthropicQuirks::NO_CACHE,
            ),
            // Not about a part of the head.
            ("messages.1.content.0: Invalid `signature` in `thinking` block", ADAPTIVE, HIGH, 0),
            ("thinking: not here", Thought::Unsaid, None, 0),
            ("prompt is too long: 9 tokens > 8 maximum", ADAPTIVE, HIGH, 0),
            ("input length and `max_tokens` exceed context limit: 1 + 2 > 2", ADAPTIVE, HIGH, 0),
        ] {
            let body =
                format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{message}"}}}}"#);
            let quirks = AnthropicQuirks::new(&Compat::default());
            let plan = plan(thought, effort);
            let lesson = if want == 0 { Lesson::Nothing } else { Lesson::Learned };
            assert_eq!(quirks.learn(400, body.as_bytes(), &plan), lesson, "{message}");
            assert_eq!(quirks.bits.load(Ordering::Relaxed), want, "{message}");
            assert_eq!(quirks.learn(500, body.as_bytes(), &plan), Lesson::Nothing);
        }
    }

    #[test]
    fn the_limit_of_a_model_is_taken_from_its_refusal() {
        let quirks = AnthropicQuirks::new(&Compat::default());
        let body = br#"{"error":{"type":"invalid_request_error","message":"max_tokens: 40000 > 32000, which is the maximum allowed number of output tokens for m"}}"#;
        let plan = plan(Thought::Unsaid, None);
        assert_eq!(quirks.learn(400, body, &plan), Lesson::Learned);
        assert_eq!(quirks.limit(), Some(32_000));
        assert_eq!(quirks.learn(400, body, &ThinkingPlan { max_tokens: 32_000, ..plan }), Lesson::Nothing);
    }

    #[test]
    fn a_history_that_cannot_be_thought_about_is_no_lesson_for_later() {
        let quirks = AnthropicQuirks::new(&Compat::default());
        let body = br#"{"error":{"message":"messages.1.content.0.type: Expected `thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block"}}"#;
        assert_eq!(quirks.learn(400, body, &plan(Thought::Budget(1024), None)), Lesson::NotNow);
        assert_eq!(quirks.learn(400, body, &plan(Thought::Unsaid, None)), Lesson::Nothing);
        assert_eq!(quirks.bits.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn whatever_is_refused_the_asking_ends() {
        let every = br#"{"error":{"message":"no cache_control adaptive display effort thinking between_tools budget_tokens max_tokens"}}"#;
        for generation in ["claude-sonnet-4-5", "claude-opus-4-7", "claude-opus-5", "glm"] {
            for level in ["off", "high"] {
                let quirks = AnthropicQuirks::new(&Compat::default());
                let wish = super::super::thinking::ThinkingWish {
                    generation: super::super::thinking::Generation::of(generation),
                    level: Some(level.into()),
                    effort: None,
                    max_tokens: 100,
                    max_output: None,
                    unthought: false,
                };
                let asked =
                    (0..50).take_while(|_| quirks.learn(400, every, &wish.plan(&quirks, false)) == Lesson::Learned);
                assert!(asked.count() < 10, "{generation} {level}");
            }
        }
    }
}
