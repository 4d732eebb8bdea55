//! Every source of models in one line: who it is, where, what it speaks, where its key comes from. Never the key itself.

use std::sync::Arc;

use crate::source::SourceKind;

/// One provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceReport {
    pub kind: SourceKind,
    pub name: Arc<str>,
    pub api: Arc<str>,
    pub base_url: Arc<str>,
    /// Where its key comes from, or that there is none.
    pub key: String,
    pub has_key: bool,
    /// How many models are known without asking it.
    pub models: usize,
    /// Its key could not be had.
    pub failed: bool,
}

/// What is known about the way to a model, without touching the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Nothing but the built-in tour.
    NoProvider,
    /// There is a server, and a key where it wants one.
    Connected,
    /// There is a server, but no key for it.
    AuthError,
}

/// How things stand with one provider.
pub(crate) fn standing(provider: &str, reports: &[SourceReport]) -> Standing {
    let of_it = || reports.iter().filter(|report| *report.name == *provider);
    // OpenAI and OpenRouter answer nobody without a key; other servers may.
    let keyless = matches!(provider, "openai" | "openrouter")
        && of_it().next().is_some()
        && of_it().all(|report| report.kind == SourceKind::Server && !report.has_key);
    match keyless || of_it().any(|report| report.failed) {
        true => Standing::AuthError,
        false => Standing::Connected,
    }
}
