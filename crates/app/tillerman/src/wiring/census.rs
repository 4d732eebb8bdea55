//! Every source of models in one line: who it is, where, what it speaks, where its key comes from. Never the key itself.

use std::sync::Arc;

use providers::Api;

use super::catalogue::Catalogue;

/// One source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Standpoint {
    pub(crate) name: Arc<str>,
    pub(crate) api: Arc<str>,
    pub(crate) base_url: Arc<str>,
    /// Where its key comes from, or that there is none.
    pub(crate) key: String,
    /// How many models are known without asking it.
    pub(crate) models: usize,
    /// Its key could not be had.
    pub(crate) failed: bool,
}

impl Catalogue {
    /// All of them, in the order in which names are looked up.
    pub(super) fn census(&self) -> Vec<Standpoint> {
        let mut all: Vec<Standpoint> = Vec::new();
        for (name, failed) in self.custom().providers() {
            let models = || self.custom().models().iter().filter(|model| model.provider == *name);
            let Some(first) = models().next() else { continue };
            let key = if self.custom().has_key(name) { "its key is described" } else { "described, without a key" };
            all.push(Standpoint {
                name: name.clone(),
                api: first.api.clone(),
                base_url: first.base_url.clone(),
                key: key.to_owned(),
                models: models().count(),
                failed,
            });
        }
        for source in self.sources().iter() {
            all.push(Standpoint {
                name: source.name().clone(),
                api: source.api.as_str().into(),
                base_url: source.server().into(),
                key: source.origin.to_string(),
                models: source.known().len(),
                failed: source.failed(),
            });
        }
        if let Some(remote) = self.remote() {
            let key = if remote.has_key() { "OPENAI_API_KEY is set" } else { "without a key" };
            all.push(Standpoint {
                name: remote.provider().clone(),
                api: Api::Completions.as_str().into(),
                base_url: remote.server().into(),
                key: key.to_owned(),
                models: remote.known().len(),
                failed: false,
            });
        }
        all.extend(self.links().census());
        all
    }
}
