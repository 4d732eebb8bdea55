//! Vendors that speak other vendors' formats: a handful of their models each, for their own lists tell the rest.

use super::levels::*;
use super::{Tiers, Vendor, model, text};
use crate::Api;

pub(super) const DEEPSEEK: Vendor = Vendor {
    name: "deepseek",
    url: "https://api.deepseek.com/v1",
    apis: &[Api::Completions, Api::Anthropic],
    tiers: Tiers { fast: "deepseek-flash", default: "deepseek-flash", complex: "deepseek-v4-pro" },
    aliases: &[("deepseek", "deepseek-flash")],
    models: &[
        model("deepseek-flash", "DeepSeek V4.1 Flash", 1_000_000, 384_000, OFF_LOW_HIGH, [0.3, 1.2, 0.006, 0.3]),
        text("deepseek-v4-pro", "DeepSeek V4 Pro", 1_000_000, 384_000, OFF_HIGH, [1.32, 3.96, 0.044, 1.32]),
    ],
};

/// It names no limit for an answer but the window.
pub(super) const XAI: Vendor = Vendor {
    name: "xai",
    url: "https://api.x.ai/v1",
    apis: &[Api::Responses, Api::Completions],
    tiers: Tiers { fast: "grok-4.3", default: "grok-4.7", complex: "grok-4.7" },
    aliases: &[("grok", "grok-4.7")],
    models: &[
        model("grok-4.7", "Grok 4.7", 500_000, 0, LOW_TO_XHIGH, [2.0, 6.0, 0.5, 2.0]),
        model("grok-4.6", "Grok 4.6", 500_000, 0, LOW_TO_XHIGH, [2.0, 6.0, 0.5, 2.0]),
        model("grok-4.5", "Grok 4.5", 500_000, 0, LOW_TO_XHIGH, [2.0, 6.0, 0.3, 2.0]),
        model("grok-4.3", "Grok 4.3", 1_000_000, 0, OFF_LOW_TO_XHIGH, [1.25, 2.5, 0.2, 1.25]),
    ],
};

/// It names no limit for an answer but the window.
pub(super) const MISTRAL: Vendor = Vendor {
    name: "mistral",
    url: "https://api.mistral.ai/v1",
    apis: &[Api::Completions],
    tiers: Tiers { fast: "mistral-small-latest", default: "mistral-medium-latest", complex: "mistral-medium-latest" },
    aliases: &[("mistral", "mistral-medium-latest"), ("devstral", "devstral-latest")],
    models: &[
        model("mistral-medium-latest", "Mistral Medium", 262_144, 0, OFF_HIGH, [1.5, 7.5, 0.15, 1.5]),
        model("mistral-small-latest", "Mistral Small", 262_144, 0, OFF_HIGH, [0.15, 0.6, 0.015, 0.15]),
        model("mistral-large-latest", "Mistral Large", 262_144, 0, NONE, [0.5, 1.5, 0.05, 0.5]),
        text("devstral-latest", "Devstral", 256_000, 0, NONE, [0.4, 2.0, 0.04, 0.4]),
    ],
};

pub(super) const GROQ: Vendor = Vendor {
    name: "groq",
    url: "https://api.groq.com/openai/v1",
    apis: &[Api::Completions, Api::Responses],
    tiers: Tiers { fast: "openai/gpt-oss-20b", default: "openai/gpt-oss-120b", complex: "openai/gpt-oss-120b" },
    aliases: &[("gpt-oss", "openai/gpt-oss-120b")],
    models: &[
        text("openai/gpt-oss-120b", "GPT OSS 120B", 131_072, 65_536, LOW_TO_HIGH, [0.15, 0.6, 0.075, 0.15]),
        text("openai/gpt-oss-20b", "GPT OSS 20B", 131_072, 65_536, LOW_TO_HIGH, [0.075, 0.3, 0.0375, 0.075]),
        model("qwen/qwen3.8-27b", "Qwen3.8 27B", 131_072, 16_384, OFF_LOW_TO_HIGH, [0.8, 4.0, 0.8, 0.8]),
    ],
};
