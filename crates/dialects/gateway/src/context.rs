//! How full the context is, and when that is worth a word.

use std::sync::Arc;

use crate::events::{ContextActions, ContextLevel, ContextWarningData};
use crate::results::Budget;

/// The percentages from which on the context is said to be full. The highest that is reached counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ContextRules {
    pub warn_pct: f64,
    /// What the session is about is written down.
    pub checkpoint_pct: f64,
    /// Older messages are summarised before the next model call.
    pub compact_pct: f64,
}

impl Default for ContextRules {
    fn default() -> Self {
        Self { warn_pct: 75.0, checkpoint_pct: 85.0, compact_pct: 95.0 }
    }
}

impl ContextRules {
    fn level(&self, pct: f64) -> Option<ContextLevel> {
        match pct {
            pct if pct >= self.compact_pct => Some(ContextLevel::Compact),
            pct if pct >= self.checkpoint_pct => Some(ContextLevel::Checkpoint),
            pct if pct >= self.warn_pct => Some(ContextLevel::Warning),
            _ => None,
        }
    }
    /// Whether the context is full enough for a checkpoint, whichever level it is reported as.
    pub(crate) fn wants_checkpoint(&self, pct: f64) -> bool {
        pct >= self.checkpoint_pct
    }
}

/// A warning is said again when the context has grown by so much.
const AGAIN_PCT: f64 = 10.0;

/// What was said last.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct ContextMark(Option<(u8, f64)>);

/// What there is to say at the end of a run.
pub(crate) fn warning(
    rules: &ContextRules,
    budget: Budget,
    auto_compacted: bool,
    mark: &mut ContextMark,
) -> Option<ContextWarningData> {
    let Some(level) = rules.level(budget.usage_pct) else {
        *mark = ContextMark(None);
        return None;
    };
    let rank = level as u8;
    let is_news = level != ContextLevel::Warning
        || mark.0.is_none_or(|(last, pct)| rank > last || budget.usage_pct >= pct + AGAIN_PCT);
    if !is_news {
        return None;
    }
    *mark = ContextMark(Some((rank, budget.usage_pct)));
    let actions = ContextActions { checkpoint_saved: false, auto_compacted, checkpoint_namespace: None };
    let message = in_words(&budget, &actions);
    Some(ContextWarningData { level, message, budget, actions })
}

/// A checkpoint was saved under this name.
pub(crate) fn saved_as(warning: &mut ContextWarningData, namespace: Arc<str>) {
    (warning.actions.checkpoint_saved, warning.actions.checkpoint_namespace) = (true, Some(namespace));
    warning.message = in_words(&warning.budget, &warning.actions);
}

fn in_words(budget: &Budget, actions: &ContextActions) -> String {
    let (used, window) = (grouped(budget.estimated_tokens), grouped(budget.context_window));
    let mut text = format!("Context usage is {:.1}% ({used}/{window} estimated tokens).", budget.usage_pct);
    if let Some(namespace) = &actions.checkpoint_namespace {
        text.push_str(&format!(" Checkpoint saved to memory namespace `{namespace}`."));
    }
    if actions.auto_compacted {
        text.push_str(" History was compacted.");
    }
    text
}

/// `172,000`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for (at, digit) in digits[first..].chars().enumerate() {
        if at % 3 == 0 && !text.is_empty() {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget_of(used: u64) -> Budget {
        Budget::of(used, 200_000, 80)
    }

    #[test]
    fn a_warning_is_said_when_the_level_rises_or_ten_points_are_gained() {
        let mut mark = ContextMark::default();
        let mut said =
            |used| warning(&ContextRules::default(), budget_of(used), false, &mut mark).map(|it| it.level.as_str());
        assert_eq!([100_000, 149_800].map(&mut said), [None, None]);
        assert_eq!([150_000, 155_000, 160_000].map(&mut said), [Some("warning"), None, None]);
        assert_eq!([170_000, 172_000].map(&mut said), [Some("checkpoint"), Some("checkpoint")]);
        assert_eq!([190_000, 50_000, 150_000].map(&mut said), [Some("compact"), None, Some("warning")]);
    }

    #[test]
    fn the_percentages_are_the_users_own() {
        let rules = ContextRules { warn_pct: 10.0, checkpoint_pct: 20.0, compact_pct: 30.0 };
        let said =
            |used| warning(&rules, budget_of(used), false, &mut ContextMark::default()).map(|it| it.level.as_str());
        assert_eq!([19_800, 20_000].map(said), [None, Some("warning")]);
        assert_eq!([40_000, 60_000].map(said), [Some("checkpoint"), Some("compact")]);
    }

    #[test]
    fn it_says_how_full_it_is_in_words() {
        let mut said =
            warning(&ContextRules::default(), budget_of(172_000), true, &mut ContextMark::default()).unwrap();
        assert_eq!(said.message, "Context usage is 86.0% (172,000/200,000 estimated tokens). History was compacted.");
        saved_as(&mut said, "session/checkpoints/ws/a".into());
        assert_eq!(
            said.message,
            "Context usage is 86.0% (172,000/200,000 estimated tokens). Checkpoint saved to memory namespace \
             `session/checkpoints/ws/a`. History was compacted."
        );
        assert_eq!(
            (grouped(0), grouped(999), grouped(1_000), grouped(1_234_567)),
            ("0".into(), "999".into(), "1,000".into(), "1,234,567".into())
        );
    }
}
