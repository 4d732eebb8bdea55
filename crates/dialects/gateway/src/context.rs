//! How full the context is, and when that is worth a word.

use vocab::State;

use crate::events::{ContextActions, ContextLevel, ContextWarningData};
use crate::results::Budget;

/// The context is said to be full from these percentages on.
pub const WARN_PCT: f64 = 75.0;
pub const CHECKPOINT_PCT: f64 = 85.0;
pub const COMPACT_PCT: f64 = 95.0;
/// A warning is said again when the context has grown by so much.
const AGAIN_PCT: f64 = 10.0;

/// What was said last.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct ContextMark(Option<(u8, f64)>);

pub(crate) fn budget(state: &State, threshold_pct: u64) -> Budget {
    let (used, window) = (state.context_tokens, state.context_window);
    let threshold_tokens = (u128::from(window) * u128::from(threshold_pct) / 100) as u64;
    Budget {
        estimated_tokens: used,
        context_window: window,
        remaining_tokens: window.saturating_sub(used),
        usage_pct: state.context_pct(),
        threshold_pct,
        threshold_tokens,
        should_compact: window > 0 && used >= threshold_tokens,
    }
}

/// What there is to say at the end of a run.
pub(crate) fn warning(budget: Budget, auto_compacted: bool, mark: &mut ContextMark) -> Option<ContextWarningData> {
    let level = match budget.usage_pct {
        pct if pct >= COMPACT_PCT => ContextLevel::Compact,
        pct if pct >= CHECKPOINT_PCT => ContextLevel::Checkpoint,
        pct if pct >= WARN_PCT => ContextLevel::Warning,
        _ => {
            *mark = ContextMark(None);
            return None;
        }
    };
    let rank = level as u8;
    let is_news = level != ContextLevel::Warning
        || mark.0.is_none_or(|(last, pct)| rank > last || budget.usage_pct >= pct + AGAIN_PCT);
    if !is_news {
        return None;
    }
    *mark = ContextMark(Some((rank, budget.usage_pct)));
    let (used, window) = (grouped(budget.estimated_tokens), grouped(budget.context_window));
    let compacted = if auto_compacted { " History was compacted." } else { "" };
    let message = format!("Context usage is {:.1}% ({used}/{window} estimated tokens).{compacted}", budget.usage_pct);
    let actions = ContextActions { checkpoint_saved: false, auto_compacted };
    Some(ContextWarningData { level, message, budget, actions })
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
        Budget {
            estimated_tokens: used,
            context_window: 200_000,
            remaining_tokens: 200_000 - used,
            usage_pct: used as f64 / 2000.0,
            threshold_pct: 80,
            threshold_tokens: 160_000,
            should_compact: used >= 160_000,
        }
    }

    #[test]
    fn a_warning_is_said_when_the_level_rises_or_ten_points_are_gained() {
        let mut mark = ContextMark::default();
        let mut said = |used| warning(budget_of(used), false, &mut mark).map(|it| it.level.as_str());
        assert_eq!([100_000, 149_999].map(&mut said), [None, None]);
        assert_eq!([150_000, 155_000, 160_000].map(&mut said), [Some("warning"), None, None]);
        assert_eq!([170_000, 172_000].map(&mut said), [Some("checkpoint"), Some("checkpoint")]);
        assert_eq!([190_000, 50_000, 150_000].map(&mut said), [Some("compact"), None, Some("warning")]);
    }

    #[test]
    fn it_says_how_full_it_is_in_words() {
        let said = warning(budget_of(172_000), true, &mut ContextMark::default()).unwrap();
        assert_eq!(said.message, "Context usage is 86.0% (172,000/200,000 estimated tokens). History was compacted.");
        assert_eq!(
            (grouped(0), grouped(999), grouped(1_000), grouped(1_234_567)),
            ("0".into(), "999".into(), "1,000".into(), "1,234,567".into())
        );
    }
}
