//! How a level of thinking is asked for, which differs by generation: by a budget of tokens up to Claude 4.5 and from other
//! vendors that speak this format, by an effort from 4.6 on. What a name does not tell is learned from refusals.

use std::sync::Arc;

use vocab::thinking::OFF;

use super::quirks::AnthropicQuirks;

/// The least the API takes.
const BUDGET_MIN: u64 = 1024;
/// What an answer keeps of a limit that thinking would fill.
const ANSWER_MIN: u64 = 1024;
/// For a call without a limit: this API wants one.
const MAX_TOKENS_DEFAULT: u64 = 8192;

/// What is known of a model by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Generation {
    /// It decides itself how much to think; an effort tells how hard.
    adaptive: bool,
    /// It keeps the words of its thinking to itself unless they are asked for.
    hides: bool,
    /// It knows the effort `xhigh`; before, only `max` is above `high`.
    xhigh: bool,
    off: Off,
}

/// How not thinking is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Off {
    /// It thinks only when told to.
    Silence,
    /// It thinks unless told otherwise.
    Word,
    /// It always thinks, and an effort is all that can be asked for.
    Never,
}

impl Generation {
    pub(super) fn of(id: &str) -> Self {
        let id = id.to_ascii_lowercase();
        let Some((_, name)) = id.split_once("claude") else { return Self::budget() };
        // A name without a number points at the newest.
        let version = version(name).unwrap_or((u32::MAX, 0));
        let off = match version {
            _ if name.contains("mythos") || name.contains("fable") => Off::Never,
            (5.., _) => Off::Word,
            _ => Off::Silence,
        };
        match version {
            (0..=3, _) | (4, 0..=5) => Self::budget(),
            (4, 6) => Self { adaptive: true, hides: false, xhigh: false, off },
            _ => Self { adaptive: true, hides: true, xhigh: true, off },
        }
    }

    const fn budget() -> Self {
        Self { adaptive: false, hides: false, xhigh: false, off: Off::Silence }
    }

    /// The effort for a level.
    pub(super) fn effort(self, level: &str) -> &'static str {
        match level {
            "minimal" | "low" => "low",
            "medium" => "medium",
            "xhigh" if self.xhigh => "xhigh",
            "xhigh" => "max",
            _ => "high",
        }
    }
}

/// The first number of one or two digits, and the one right behind it: `-sonnet-4-5-20250929` is 4.5.
fn version(name: &str) -> Option<(u32, u32)> {
    let mut words = name.split(|char: char| !char.is_ascii_alphanumeric()).map(|word| {
        let short = word.len() <= 2;
        word.parse::<u32>().ok().filter(|_| short)
    });
    let major = words.by_ref().find_map(|number| number)?;
    Some((major, words.next().flatten().unwrap_or(0)))
}

/// Tokens for thinking alone.
fn budget(level: &str) -> u64 {
    match level {
        "minimal" => BUDGET_MIN,
        "low" => 2048,
        "medium" => 8192,
        "xhigh" => 32_768,
        _ => 16_384,
    }
}

/// What a call wants.
pub(super) struct ThinkingWish {
    pub(super) generation: Generation,
    /// `None`: as the model does by itself.
    pub(super) level: Option<Arc<str>>,
    /// The effort in place of our own choice.
    pub(super) effort: Option<Arc<str>>,
    /// For the answer; 0 = nobody said.
    pub(super) max_tokens: u64,
    /// The model's own limit for thinking and answer together.
    pub(super) max_output: Option<u64>,
    /// Calls and results came last, without a signed thought among them. With a budget the API refuses that.
    pub(super) unthought: bool,
}

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ThinkingPlan {
    pub(super) max_tokens: u64,
    pub(super) thought: Thought,
    pub(super) effort: Option<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Thought {
    Unsaid,
    Disabled,
    /// Off for models that know no other: short notes between calls are all they think.
    BetweenTools,
    Budget(u64),
    Adaptive {
        /// Its words are asked for.
        shown: bool,
    },
}

impl ThinkingWish {
    /// `refused`: this very history was refused with thinking on.
    pub(super) fn plan(&self, quirks: &AnthropicQuirks, refused: bool) -> ThinkingPlan {
        let limit = [self.max_output, quirks.limit()].into_iter().flatten().min().unwrap_or(u64::MAX).max(1);
        let answer = if self.max_tokens == 0 { MAX_TOKENS_DEFAULT } else { self.max_tokens };
        let mut plan = ThinkingPlan { max_tokens: answer.min(limit), thought: Thought::Unsaid, effort: None };
        let said = self.level.as_deref().filter(|level| !level.is_empty() && !quirks.has(AnthropicQuirks::NO_THINKING));
        let Some(level) = said else { return plan };
        let adaptive =
            (self.generation.adaptive || quirks.has(AnthropicQuirks::ADAPTIVE)) && !quirks.has(AnthropicQuirks::BUDGET);
        let effort = |word: &str| Some(Arc::from(word)).filter(|_| !quirks.has(AnthropicQuirks::NO_EFFORT));
        if level == OFF || refused || (self.unthought && !adaptive) {
            match self.generation.off {
                Off::Silence => {}
                Off::Word if quirks.has(AnthropicQuirks::BETWEEN_TOOLS) => plan.thought = Thought::BetweenTools,
                Off::Word if !quirks.has(AnthropicQuirks::NO_DISABLED) => plan.thought = Thought::Disabled,
                Off::Word | Off::Never => plan.effort = effort("low"),
            }
        } else if adaptive {
            plan.thought =
                Thought::Adaptive { shown: self.generation.hides && !quirks.has(AnthropicQuirks::NO_DISPLAY) };
            let word = self.effort.as_deref().unwrap_or_else(|| self.generation.effort(level));
            plan.effort = effort(word).filter(|word| !word.is_empty());
            // Thoughts count against the same limit: what was meant for the answer is left to it.
            plan.max_tokens = answer.saturating_add(budget(level)).min(limit);
        } else {
            let budget = budget(level).min(limit.saturating_sub(answer.min(ANSWER_MIN)));
            if budget >= BUDGET_MIN {
                plan.thought = Thought::Budget(budget);
                plan.max_tokens = answer.saturating_add(budget).min(limit);
            }
        }
        plan
    }
}

#[cfg(test)]
mod tests;
