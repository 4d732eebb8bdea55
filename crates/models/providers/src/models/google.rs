//! Google's Gemini models. Nothing is charged for writing the cache: that price is the one of input.
//!
//! Gemini 4 has its first price, which holds until the end of November 2026 and doubles then. Its output limit is that of
//! one streamed request. Names that move on to the next model by themselves have no price.

use super::levels::*;
use super::{Facts, Tiers, Vendor, model, unpriced};
use crate::Api;

pub(super) const VENDOR: Vendor = Vendor {
    name: "google",
    url: "https://generativelanguage.googleapis.com/v1beta",
    apis: &[Api::Gemini],
    tiers: Tiers { fast: "gemini-3.8-flash", default: "gemini-4-argon", complex: "gemini-4-carbon" },
    aliases: &[
        ("gemini", "gemini-4-argon"),
        ("argon", "gemini-4-argon"),
        ("carbon", "gemini-4-carbon"),
        ("flash", "gemini-3.8-flash"),
        ("flash-lite", "gemini-3.5-flash-lite"),
    ],
    models: MODELS,
};

/// All of them have the same.
const WINDOW: u64 = 1_048_576;
const OUTPUT: u64 = 65_536;

const MODELS: &[Facts] = &[
    model("gemini-4-argon", "Gemini 4 Argon", WINDOW, OUTPUT, LOW_TO_HIGH, [2.0, 10.0, 0.1, 2.0]),
    model("gemini-4-carbon", "Gemini 4 Carbon", WINDOW, OUTPUT, LOW_TO_HIGH, [2.0, 10.0, 0.1, 2.0]),
    model("gemini-3.8-flash", "Gemini 3.8 Flash", WINDOW, OUTPUT, LOW_TO_HIGH, [0.75, 3.75, 0.075, 0.75]),
    model("gemini-3.7-flash", "Gemini 3.7 Flash", WINDOW, OUTPUT, LOW_TO_HIGH, [0.75, 3.75, 0.075, 0.75]),
    model("gemini-3.6-flash", "Gemini 3.6 Flash", WINDOW, OUTPUT, MINIMAL_TO_HIGH, [0.75, 3.75, 0.075, 0.75]),
    model("gemini-3.5-flash", "Gemini 3.5 Flash", WINDOW, OUTPUT, MINIMAL_TO_HIGH, [1.5, 9.0, 0.15, 1.5]),
    model("gemini-3.5-flash-lite", "Gemini 3.5 Flash-Lite", WINDOW, OUTPUT, MINIMAL_TO_HIGH, [0.3, 2.5, 0.03, 0.3]),
    model("gemini-3.1-pro-preview", "Gemini 3.1 Pro Preview", WINDOW, OUTPUT, LOW_TO_HIGH, [2.0, 12.0, 0.2, 2.0]),
    model("gemini-3.1-flash-lite", "Gemini 3.1 Flash-Lite", WINDOW, OUTPUT, MINIMAL_TO_HIGH, [0.25, 1.5, 0.025, 0.25]),
    model("gemini-3-flash-preview", "Gemini 3 Flash Preview", WINDOW, OUTPUT, MINIMAL_TO_HIGH, [0.5, 3.0, 0.05, 0.5]),
    model("gemini-2.5-pro", "Gemini 2.5 Pro", WINDOW, OUTPUT, MINIMAL_TO_HIGH, [1.25, 10.0, 0.125, 1.25]),
    model("gemini-2.5-flash", "Gemini 2.5 Flash", WINDOW, OUTPUT, OFF_MINIMAL_TO_HIGH, [0.3, 2.5, 0.03, 0.3]),
    model("gemini-2.5-flash-lite", "Gemini 2.5 Flash-Lite", WINDOW, OUTPUT, OFF_MINIMAL_TO_HIGH, [0.1, 0.4, 0.01, 0.1]),
    unpriced("gemini-pro-latest", "Gemini Pro (latest)", WINDOW, OUTPUT, LOW_TO_HIGH),
    unpriced("gemini-flash-latest", "Gemini Flash (latest)", WINDOW, OUTPUT, LOW_TO_HIGH),
];
