//! From the settings to what a session starts with, where its command says nothing else.

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{CompactionPolicy, Mode, ModelInfo, RetryPolicy, Settings};

use crate::{Configuration, ConfiguredModel, ROUNDS_USUAL};

/// Five tries in all, spread so that many of us do not come back at once. Dialects whose family tries otherwise say so.
const RETRY: RetryPolicy =
    RetryPolicy { retries_max: 4, base_ms: 500, wait_ms_max: 30_000, server_wait_ms_max: 120_000, jitter: true };

impl Configuration {
    /// Everything but the model, which is another's to choose.
    pub fn session_settings(&self, workspace: PathBuf, default_mode: Mode) -> Settings {
        let mut settings = Settings::new(workspace, "");
        settings.mode = self.mode().unwrap_or(default_mode);
        settings.thinking = self.thinking().map(Arc::from);
        settings.max_tokens = self.max_tokens();
        settings.max_iterations = self.max_iterations(ROUNDS_USUAL);
        settings.retry = self.retry(RETRY);
        settings.compaction = self.compaction(CompactionPolicy::default());
        settings.sync = self.sync().unwrap_or_default();
        settings.on_restart = self.on_restart().unwrap_or_default();
        settings.unanswered = self.unanswered();
        settings.budget = self.budget();
        settings.only_tools = self.only_tools().map(|names| names.iter().map(|name| tool_name(name)).collect());
        settings
    }

    /// What `models` says, whoever serves them.
    pub fn known_models(&self) -> Vec<ModelInfo> {
        self.models().iter().map(model_info).collect()
    }

    /// Extensions of the configuration first (none of them where `no_own`), then those that were given, each once.
    pub fn with_extensions(&self, given: &[PathBuf], no_own: bool) -> Vec<PathBuf> {
        let configured = self.extensions().filter(|_| !no_own);
        // From where we stand now: an extension itself starts in the workspace.
        let given = given.iter().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        let mut all: Vec<PathBuf> = Vec::new();
        for path in configured.chain(given) {
            if !all.contains(&path) {
                all.push(path);
            }
        }
        all
    }
}

fn tool_name(name: &str) -> Arc<str> {
    vocab::names::canonical(name).unwrap_or(name).into()
}

fn model_info(entry: &ConfiguredModel) -> ModelInfo {
    ModelInfo {
        max_output: entry.max_output,
        prices: entry.prices,
        images: entry.images.unwrap_or(true),
        thinking: entry.thinking.unwrap_or(true),
        levels: entry.levels.as_ref().map(|levels| levels.iter().map(|level| Arc::from(level.as_str())).collect()),
        name: entry.name.as_deref().unwrap_or(&entry.slug).into(),
        // 0: the server's list may know it, or the built-in table.
        ..ModelInfo::named(entry.slug.as_str(), entry.context_window.unwrap_or(0))
    }
}
