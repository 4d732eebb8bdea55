//! OpenAI's models, those of its API and those of a ChatGPT account. Models for one trade (security, life sciences, speech)
//! are not here.
//!
//! Up to 5.5 nothing is charged for writing the cache, and it is not counted either: that price is then the one of input.

use super::levels::*;
use super::{Facts, Tiers, Vendor, model, unpriced};
use crate::Api;

pub(super) const VENDOR: Vendor = Vendor {
    name: "openai",
    url: "https://api.openai.com/v1",
    apis: &[Api::Responses, Api::Completions],
    tiers: Tiers { fast: "gpt-6-luna", default: "gpt-6.1-sol", complex: "gpt-6-astra" },
    aliases: ALIASES,
    models: MODELS,
};

const ALIASES: &[(&str, &str)] = &[
    ("gpt", "gpt-6.1-sol"),
    ("sol", "gpt-6.1-sol"),
    ("terra", "gpt-6.1-terra"),
    ("luna", "gpt-6-luna"),
    ("astra", "gpt-6-astra"),
    ("gpt-5.6", "gpt-5.6-sol"),
];

/// What a ChatGPT account can use. No vendor of its own: whoever signs in is OpenAI's customer, and the names are the same.
/// Windows are smaller there, and nobody is asked to pay per token: the subscription covers it, so that there is no price.
pub static CHATGPT: Vendor =
    Vendor { url: "https://chatgpt.com/backend-api/codex", apis: &[Api::Responses], models: SUBSCRIBED, ..VENDOR };

const SUBSCRIBED: &[Facts] = &[
    unpriced("gpt-6.1-sol", "GPT-6.1 Sol", 500_000, 128_000, LOW_TO_XHIGH),
    unpriced("gpt-6.1-terra", "GPT-6.1 Terra", 500_000, 128_000, OFF_LOW_TO_XHIGH),
    unpriced("gpt-6-astra", "GPT-6 Astra", 272_000, 128_000, LOW_TO_XHIGH),
    unpriced("gpt-6-sol", "GPT-6 Sol", 272_000, 128_000, OFF_LOW_TO_XHIGH),
    unpriced("gpt-6-luna", "GPT-6 Luna", 272_000, 128_000, OFF_LOW_TO_XHIGH),
    unpriced("gpt-5.6-sol", "GPT-5.6 Sol", 272_000, 128_000, OFF_LOW_TO_XHIGH),
    unpriced("gpt-5.6-terra", "GPT-5.6 Terra", 272_000, 128_000, OFF_LOW_TO_XHIGH),
    unpriced("gpt-5.6-luna", "GPT-5.6 Luna", 272_000, 128_000, OFF_LOW_TO_XHIGH),
];

const MODELS: &[Facts] = &[
    model("gpt-6.1-sol", "GPT-6.1 Sol", 1_050_000, 128_000, LOW_TO_XHIGH, [2.0, 10.0, 0.1, 2.5]),
    model("gpt-6.1-terra", "GPT-6.1 Terra", 1_050_000, 128_000, OFF_LOW_TO_XHIGH, [1.0, 5.0, 0.05, 1.25]),
    model("gpt-6-astra", "GPT-6 Astra", 1_050_000, 128_000, LOW_TO_XHIGH, [10.0, 50.0, 1.0, 12.5]),
    model("gpt-6-sol", "GPT-6 Sol", 1_050_000, 128_000, OFF_LOW_TO_XHIGH, [2.0, 10.0, 0.2, 2.5]),
    model("gpt-6-luna", "GPT-6 Luna", 1_050_000, 128_000, OFF_LOW_TO_XHIGH, [0.1, 0.5, 0.01, 0.125]),
    model("gpt-5.6-sol", "GPT-5.6 Sol", 1_050_000, 128_000, OFF_LOW_TO_XHIGH, [4.0, 20.0, 0.4, 5.0]),
    model("gpt-5.6-terra", "GPT-5.6 Terra", 1_050_000, 128_000, OFF_LOW_TO_XHIGH, [2.0, 12.0, 0.2, 2.5]),
    model("gpt-5.6-luna", "GPT-5.6 Luna", 1_050_000, 128_000, OFF_LOW_TO_XHIGH, [0.2, 1.2, 0.02, 0.25]),
    model("gpt-5.5", "GPT-5.5", 1_050_000, 128_000, OFF_LOW_TO_XHIGH, [5.0, 30.0, 0.5, 5.0]),
    model("gpt-5.5-pro", "GPT-5.5 Pro", 1_050_000, 128_000, MEDIUM_TO_XHIGH, [30.0, 180.0, 30.0, 30.0]),
    model("gpt-5.4", "GPT-5.4", 1_050_000, 128_000, OFF_LOW_TO_XHIGH, [2.5, 15.0, 0.25, 2.5]),
    model("gpt-5.4-pro", "GPT-5.4 Pro", 1_050_000, 128_000, MEDIUM_TO_XHIGH, [30.0, 180.0, 30.0, 30.0]),
    model("gpt-5.4-mini", "GPT-5.4 mini", 400_000, 128_000, OFF_LOW_TO_XHIGH, [0.75, 4.5, 0.075, 0.75]),
    model("gpt-5.4-nano", "GPT-5.4 nano", 400_000, 128_000, OFF_LOW_TO_XHIGH, [0.2, 1.25, 0.02, 0.2]),
    model("gpt-5.3-codex", "GPT-5.3 Codex", 400_000, 128_000, OFF_LOW_TO_XHIGH, [1.75, 14.0, 0.175, 1.75]),
    model("gpt-5.2", "GPT-5.2", 400_000, 128_000, OFF_LOW_TO_XHIGH, [1.75, 14.0, 0.175, 1.75]),
    model("gpt-5.2-pro", "GPT-5.2 Pro", 400_000, 128_000, MEDIUM_TO_XHIGH, [21.0, 168.0, 21.0, 21.0]),
    model("gpt-5.1", "GPT-5.1", 400_000, 128_000, OFF_LOW_TO_HIGH, [1.25, 10.0, 0.125, 1.25]),
    model("gpt-5", "GPT-5", 400_000, 128_000, MINIMAL_TO_HIGH, [1.25, 10.0, 0.125, 1.25]),
    model("gpt-5-mini", "GPT-5 mini", 400_000, 128_000, MINIMAL_TO_HIGH, [0.25, 2.0, 0.025, 0.25]),
    model("gpt-5-nano", "GPT-5 nano", 400_000, 128_000, MINIMAL_TO_HIGH, [0.05, 0.4, 0.005, 0.05]),
    model("gpt-5-pro", "GPT-5 Pro", 400_000, 128_000, HIGH, [15.0, 120.0, 15.0, 15.0]),
    model("o3", "o3", 200_000, 100_000, LOW_TO_HIGH, [2.0, 8.0, 0.5, 2.0]),
    model("o3-pro", "o3-pro", 200_000, 100_000, LOW_TO_HIGH, [20.0, 80.0, 20.0, 20.0]),
    model("gpt-4.1", "GPT-4.1", 1_047_576, 32_768, NONE, [2.0, 8.0, 0.5, 2.0]),
    model("gpt-4.1-mini", "GPT-4.1 mini", 1_047_576, 32_768, NONE, [0.4, 1.6, 0.1, 0.4]),
    model("gpt-4o", "GPT-4o", 128_000, 16_384, NONE, [2.5, 10.0, 1.25, 2.5]),
    model("gpt-4o-mini", "GPT-4o mini", 128_000, 16_384, NONE, [0.15, 0.6, 0.075, 0.15]),
];
