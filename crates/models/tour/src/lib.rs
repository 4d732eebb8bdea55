//! The built-in model `tour` and the recorded model `script:FILE`.
//!
//! Both follow rules instead of thinking, and say so. They stream, call tools and can be told to misbehave, so that
//! one piece of code is demo, test double and conformance target. They know the messages pushed to them and the
//! tools offered with a call; they touch no network, no workspace and no clock but the one that delays words.
//! `docs/tour.md` and `docs/script.md` are the manuals.
//!
//! A call on its way: [`Tour`] or [`Script`] -> a chat -> a reply made of beats (`beat.rs`), read from the prompt
//! (`grammar.rs`), found by a friendly rule (`natural.rs`) or recorded (`script.rs`) -> `player.rs` streams it.

mod beat;
mod chat;
mod compact;
mod grammar;
mod memory;
mod natural;
mod offer;
mod parts;
mod player;
mod script;

use std::sync::Arc;

use vocab::{Chat, Fault, FaultKind, Later, ModelInfo, Prices, Provider};

pub use script::Script;

/// How the tour presents itself.
#[derive(Clone, PartialEq, Debug)]
pub struct TourOptions {
    /// The models on offer. They behave alike and differ in name and window.
    pub models: Vec<ModelInfo>,
    /// The wait between two deltas, unless a script says otherwise. With 0 nothing ever sleeps.
    pub word_delay_ms: u64,
}

impl Default for TourOptions {
    fn default() -> Self {
        Self { models: vec![model("tour", 128_000), model("tour-mini", 32_000)], word_delay_ms: 0 }
    }
}

/// A rule-based model of this name and window.
pub fn model(slug: impl Into<Arc<str>>, context_window: u64) -> ModelInfo {
    ModelInfo {
        provider: "tour".into(),
        api: "tour".into(),
        // Known, not unknown: it runs here and costs nothing.
        prices: Some(Prices { input: 0.0, cache_read: 0.0, cache_write: 0.0, output: 0.0 }),
        images: false,
        ..ModelInfo::named(slug, context_window)
    }
}

/// The built-in model.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tour {
    options: TourOptions,
}

impl Tour {
    pub fn new(options: TourOptions) -> Self {
        Self { options }
    }
}

impl Provider for Tour {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        let models = &self.options.models;
        models.iter().find(|model| &*model.slug == slug).cloned().ok_or_else(|| unknown(slug, models))
    }

    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(std::future::ready(Ok(self.options.models.clone())))
    }

    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        self.resolve(&model.slug)?;
        Ok(Box::new(chat::TourChat::new(self.options.word_delay_ms)))
    }
}

fn unknown(slug: &str, models: &[ModelInfo]) -> Fault {
    let names: Vec<&str> = models.iter().map(|model| &*model.slug).collect();
    let exist = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Fault::new(FaultKind::UnknownModel, format!("no model `{slug}`; there is: {exist}"))
}
