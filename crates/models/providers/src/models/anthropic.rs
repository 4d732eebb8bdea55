//! Anthropic's models. Those up to 4.5 think within a budget, the later ones by effort; those by invitation are not here.

use super::levels::*;
use super::{Facts, Tiers, Vendor, model};
use crate::Api;

pub(super) const VENDOR: Vendor = Vendor {
    name: "anthropic",
    url: "https://api.anthropic.com/v1",
    apis: &[Api::Anthropic],
    tiers: Tiers { fast: "claude-haiku-5-5", default: "claude-sonnet-5-5", complex: "claude-opus-5-5" },
    aliases: &[
        ("claude", "claude-sonnet-5-5"),
        ("sonnet", "claude-sonnet-5-5"),
        ("opus", "claude-opus-5-5"),
        ("haiku", "claude-haiku-5-5"),
        ("fable", "claude-fable-5-1"),
    ],
    models: MODELS,
};

const MODELS: &[Facts] = &[
    model("claude-sonnet-5-5", "Claude Sonnet 5.5", 1_000_000, 128_000, LOW_TO_XHIGH, [2.0, 10.0, 0.1, 2.5]),
    model("claude-opus-5-5", "Claude Opus 5.5", 1_000_000, 128_000, LOW_TO_XHIGH, [4.0, 20.0, 0.2, 5.0]),
    model("claude-haiku-5-5", "Claude Haiku 5.5", 1_000_000, 128_000, OFF_LOW_TO_XHIGH, [0.1, 0.5, 0.01, 0.125]),
    model("claude-fable-5-1", "Claude Fable 5.1", 1_000_000, 128_000, LOW_TO_XHIGH, [10.0, 50.0, 0.25, 12.5]),
    model("claude-fable-5", "Claude Fable 5", 1_000_000, 128_000, LOW_TO_XHIGH, [10.0, 50.0, 1.0, 12.5]),
    model("claude-sonnet-5", "Claude Sonnet 5", 1_000_000, 128_000, OFF_LOW_TO_XHIGH, [2.0, 10.0, 0.2, 2.5]),
    model("claude-opus-5", "Claude Opus 5", 1_000_000, 128_000, OFF_LOW_TO_XHIGH, [5.0, 25.0, 0.5, 6.25]),
    model("claude-opus-4-8", "Claude Opus 4.8", 1_000_000, 128_000, OFF_LOW_TO_XHIGH, [5.0, 25.0, 0.5, 6.25]),
    model("claude-opus-4-7", "Claude Opus 4.7", 1_000_000, 128_000, OFF_LOW_TO_XHIGH, [5.0, 25.0, 0.5, 6.25]),
    model("claude-opus-4-6", "Claude Opus 4.6", 1_000_000, 128_000, OFF_LOW_TO_HIGH, [5.0, 25.0, 0.5, 6.25]),
    model("claude-sonnet-4-6", "Claude Sonnet 4.6", 1_000_000, 128_000, OFF_LOW_TO_HIGH, [3.0, 15.0, 0.3, 3.75]),
    model("claude-opus-4-5", "Claude Opus 4.5", 200_000, 64_000, OFF_MINIMAL_TO_HIGH, [5.0, 25.0, 0.5, 6.25]),
    model("claude-sonnet-4-5", "Claude Sonnet 4.5", 200_000, 64_000, OFF_MINIMAL_TO_HIGH, [3.0, 15.0, 0.3, 3.75]),
    model("claude-haiku-4-5", "Claude Haiku 4.5", 200_000, 64_000, OFF_MINIMAL_TO_HIGH, [1.0, 5.0, 0.1, 1.25]),
];
