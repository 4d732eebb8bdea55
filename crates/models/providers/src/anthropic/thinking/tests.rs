//! Levels of thinking, one row per generation of models.

use super::*;
use crate::completions::Compat;

fn wish(model: &str, level: &str) -> ThinkingWish {
    ThinkingWish {
        generation: Generation::of(model),
        level: Some(level.into()).filter(|_| level != "-"),
        effort: None,
        max_tokens: 4000,
        max_output: Some(64_000),
        unthought: false,
    }
}

fn shown(plan: &ThinkingPlan) -> String {
    let effort = plan.effort.as_deref().unwrap_or("-");
    match plan.thought {
        Thought::Unsaid => format!("- {effort} {}", plan.max_tokens),
        Thought::Disabled => format!("disabled {effort} {}", plan.max_tokens),
        Thought::BetweenTools => format!("between {effort} {}", plan.max_tokens),
        Thought::Budget(tokens) => format!("budget {tokens} {effort} {}", plan.max_tokens),
        Thought::Adaptive { shown } => {
            format!("adaptive{} {effort} {}", if shown { "+words" } else { "" }, plan.max_tokens)
        }
    }
}

#[test]
fn each_generation_is_asked_in_its_own_way() {
    for (model, level, want) in [
        ("claude-3-7-sonnet-20250219", "low", "budget 2048 - 6048"),
        ("claude-sonnet-4-20250514", "minimal", "budget 1024 - 5024"),
        ("claude-haiku-4-5-20251001", "medium", "budget 8192 - 12192"),
        ("claude-haiku-4-5-20251001", "off", "- - 4000"),
        ("claude-haiku-4-5-20251001", "", "- - 4000"),
        ("claude-haiku-4-5-20251001", "-", "- - 4000"),
        ("claude-opus-4.5", "high", "budget 16384 - 20384"),
        ("claude-opus-4-5", "xhigh", "budget 32768 - 36768"),
        ("claude-opus-4-6", "minimal", "adaptive low 5024"),
        ("claude-opus-4-6", "xhigh", "adaptive max 36768"),
        ("claude-sonnet-4.6", "medium", "adaptive medium 12192"),
        ("claude-opus-4-6", "off", "- - 4000"),
        ("claude-opus-4-7", "xhigh", "adaptive+words xhigh 36768"),
        ("claude-opus-4-8", "off", "- - 4000"),
        ("claude-sonnet-5", "high", "adaptive+words high 20384"),
        ("claude-sonnet-5", "off", "disabled - 4000"),
        ("claude-opus-5-5", "off", "disabled - 4000"),
        ("claude-opus-5-5", "-", "- - 4000"),
        ("claude-opus-5-5", "", "- - 4000"),
        ("claude-fable-5-1", "off", "- low 4000"),
        ("claude-mythos-preview", "high", "adaptive+words high 20384"),
        ("claude-mythos-preview", "off", "- low 4000"),
        ("anthropic/claude-opus-4.6", "low", "adaptive low 6048"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "low", "budget 2048 - 6048"),
        ("claude-opus-4@20250514", "low", "budget 2048 - 6048"),
        ("glm-4.6", "high", "budget 16384 - 20384"),
        ("kimi-k2", "off", "- - 4000"),
    ] {
        assert_eq!(
            shown(&wish(model, level).plan(&AnthropicQuirks::new(&Compat::default()), false)),
            want,
            "{model} {level}"
        );
    }
}

#[test]
fn a_budget_fits_between_its_least_and_the_models_limit() {
    for (max_tokens, max_output, want) in [
        (100, None, "budget 16384 - 16484"),
        (4000, Some(20_000), "budget 16384 - 20000"),
        (4000, Some(8192), "budget 7168 - 8192"),
        (100, Some(8192), "budget 8092 - 8192"),
        (4000, Some(2048), "budget 1024 - 2048"),
        (4000, Some(2000), "- - 2000"),
        (0, None, "budget 16384 - 24576"),
        (0, Some(4096), "budget 3072 - 4096"),
    ] {
        let wish = ThinkingWish { max_tokens, max_output, ..wish("claude-sonnet-4-5", "high") };
        let plan = wish.plan(&AnthropicQuirks::new(&Compat::default()), false);
        assert_eq!(shown(&plan), want, "{max_tokens} {max_output:?}");
        if let Thought::Budget(budget) = plan.thought {
            assert!(budget >= BUDGET_MIN && budget < plan.max_tokens);
        }
    }
}

#[test]
fn a_loop_without_thoughts_goes_on_without_where_the_api_insists() {
    let plan = |model: &str, refused| {
        let wish = ThinkingWish { unthought: true, ..wish(model, "high") };
        shown(&wish.plan(&AnthropicQuirks::new(&Compat::default()), refused))
    };
    assert_eq!(plan("claude-sonnet-4-5", false), "- - 4000");
    // These decide for each answer whether they think, so that one without thoughts is nothing special.
    assert_eq!(plan("claude-opus-4-7", false), "adaptive+words high 20384");
    assert_eq!(plan("claude-opus-4-7", true), "- - 4000");
    assert_eq!(plan("claude-opus-5", true), "disabled - 4000");
}

#[test]
fn what_was_learned_changes_the_way() {
    for (model, level, learned, want) in [
        ("claude-sonnet-4-5", "high", AnthropicQuirks::ADAPTIVE, "adaptive high 20384"),
        ("claude-opus-4-7", "high", AnthropicQuirks::BUDGET, "budget 16384 - 20384"),
        ("claude-opus-4-7", "high", AnthropicQuirks::NO_DISPLAY, "adaptive high 20384"),
        ("claude-opus-4-7", "high", AnthropicQuirks::NO_EFFORT, "adaptive+words - 20384"),
        ("claude-opus-4-7", "high", AnthropicQuirks::NO_THINKING, "- - 4000"),
        ("claude-opus-5-5", "off", AnthropicQuirks::NO_DISABLED, "- low 4000"),
        ("claude-sonnet-5-5", "off", AnthropicQuirks::BETWEEN_TOOLS, "between - 4000"),
        ("claude-opus-5-5", "off", AnthropicQuirks::NO_DISABLED | AnthropicQuirks::NO_EFFORT, "- - 4000"),
    ] {
        let quirks = AnthropicQuirks::new(&Compat::default());
        quirks.set(learned, true);
        assert_eq!(shown(&wish(model, level).plan(&quirks, false)), want, "{model} {learned}");
    }
}

#[test]
fn a_configured_effort_comes_before_ours() {
    let quirks = AnthropicQuirks::new(&Compat::default());
    let plan = |effort: &str| {
        ThinkingWish { effort: Some(effort.into()), ..wish("claude-opus-4-7", "high") }.plan(&quirks, false)
    };
    assert_eq!(shown(&plan("max")), "adaptive+words max 20384");
    assert_eq!(shown(&plan("")), "adaptive+words - 20384");
}
