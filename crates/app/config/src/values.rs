//! The settings by name and type, for those who build something from them.

use std::path::PathBuf;

use vocab::{
    Budget, BudgetSpan, BudgetUnit, CompactionPolicy, McpServer, Mode, OnRestart, RetryPolicy, SyncLevel, Unanswered,
};

use super::keys::{self, SettingValue, Workspace};
use super::{Configuration, ConfiguredModel, ProviderEntry, SettingSource, Suggestion, trust};

impl Configuration {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(SettingValue::Text(text)) => Some(text),
            _ => None,
        }
    }
    pub(super) fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(SettingValue::Count(number)) => Some(*number),
            _ => None,
        }
    }
    /// A number, or the usual one. A workspace's counts only where it is tighter than that, too.
    fn limit(&self, name: &str, usual: u64) -> u64 {
        let Some(number) = self.count(name) else { return usual };
        match (keys::find(name).map(|key| key.workspace), self.source(name)) {
            (Some(Workspace::Tightens(way)), Some(SettingSource::Workspace(_))) => way.tighter(number, usual),
            _ => number,
        }
    }
    pub(super) fn switch(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            Some(SettingValue::Bool(yes)) => Some(*yes),
            _ => None,
        }
    }

    pub fn model(&self) -> Option<&str> {
        self.text("model")
    }
    /// The model that the workspace would like, where nobody demands one for this run.
    pub fn suggestion(&self) -> Option<Suggestion> {
        let demanded = matches!(self.source("model"), Some(SettingSource::Env(_) | SettingSource::Flag));
        let (model, file) = self.wish.clone().filter(|_| !demanded)?;
        Some(Suggestion { model, file })
    }
    pub fn base_url(&self) -> Option<&str> {
        self.text("base_url")
    }
    /// Certificates to trust besides the system's.
    pub fn ca_file(&self) -> Option<PathBuf> {
        self.text("ca_file").map(PathBuf::from)
    }
    /// An address or a name of `accounts`.
    pub fn account(&self, name: &str) -> Option<String> {
        self.text(&format!("accounts.{name}")).map(str::to_owned)
    }
    pub fn oauth_port(&self) -> Option<u16> {
        self.count("accounts.oauth_port").and_then(|port| u16::try_from(port).ok())
    }
    pub fn mode(&self) -> Option<Mode> {
        match self.get("mode") {
            Some(SettingValue::Mode(mode)) => Some(*mode),
            _ => None,
        }
    }
    pub fn sync(&self) -> Option<SyncLevel> {
        match self.get("sync") {
            Some(SettingValue::Sync(level)) => Some(*level),
            _ => None,
        }
    }
    pub fn on_restart(&self) -> Option<OnRestart> {
        self.text("on_restart").and_then(OnRestart::parse)
    }
    pub fn unanswered(&self) -> Option<Unanswered> {
        self.text("unanswered").and_then(Unanswered::parse)
    }
    /// What may be spent before somebody is asked.
    pub fn budget(&self) -> Budget {
        let mut budget = Budget::default();
        for span in BudgetSpan::ALL {
            for unit in BudgetUnit::ALL {
                if let Some(SettingValue::Limit(text)) =
                    self.get(&format!("budget.{}.{}", span.as_str(), unit.as_str()))
                {
                    budget.set(span, unit, unit.amount(text).ok());
                }
            }
        }
        budget
    }
    pub fn thinking(&self) -> Option<&str> {
        self.text("thinking")
    }
    pub fn max_tokens(&self) -> Option<u64> {
        self.count("max_tokens")
    }
    pub fn max_iterations(&self, usual: u32) -> u32 {
        u32::try_from(self.limit("max_iterations", usual.into())).unwrap_or(usual)
    }
    pub fn context_window(&self) -> Option<u64> {
        self.count("context_window")
    }
    pub fn shutdown_grace_s(&self) -> Option<u64> {
        self.count("shutdown_grace_s")
    }
    pub fn idle_timeout_s(&self) -> Option<u64> {
        self.count("idle_timeout_s")
    }
    pub(super) fn texts(&self, name: &str) -> Option<&[String]> {
        match self.get(name) {
            Some(SettingValue::Texts(texts)) => Some(texts),
            _ => None,
        }
    }
    pub fn only_tools(&self) -> Option<&[String]> {
        self.texts("tools.only")
    }
    /// Absolute where the file that named them is known.
    pub fn extensions(&self) -> impl Iterator<Item = PathBuf> {
        self.texts("extensions").unwrap_or_default().iter().map(PathBuf::from)
    }
    /// Directories whose own files the user trusts.
    pub fn trusted_workspaces(&self) -> Vec<PathBuf> {
        self.texts("trusted_workspaces").unwrap_or_default().iter().map(|path| trust::expanded(path)).collect()
    }
    pub fn models(&self) -> &[ConfiguredModel] {
        match self.get("models") {
            Some(SettingValue::Models(models)) => models,
            _ => &[],
        }
    }
    /// Servers of tools for every session.
    pub fn servers(&self) -> &[McpServer] {
        match self.get("servers") {
            Some(SettingValue::Servers(servers)) => servers,
            _ => &[],
        }
    }
    /// Model servers that the user described.
    pub fn providers(&self) -> &[ProviderEntry] {
        match self.get("providers") {
            Some(SettingValue::Providers(entries)) => entries,
            _ => &[],
        }
    }
    /// Names of `aliases` or `tiers`.
    pub fn slugs(&self, name: &str) -> &[(String, Vec<String>)] {
        match self.get(name) {
            Some(SettingValue::Slugs(names)) => names,
            _ => &[],
        }
    }
    /// What is not set is as usual.
    pub fn retry(&self, usual: RetryPolicy) -> RetryPolicy {
        let retries = self.limit("retry.retries_max", usual.retries_max.into());
        RetryPolicy {
            retries_max: u32::try_from(retries).unwrap_or(usual.retries_max),
            base_ms: self.limit("retry.base_ms", usual.base_ms),
            wait_ms_max: self.limit("retry.wait_ms_max", usual.wait_ms_max),
            server_wait_ms_max: self.limit("retry.server_wait_ms_max", usual.server_wait_ms_max),
            jitter: self.switch("retry.jitter").unwrap_or(usual.jitter),
        }
    }
    /// What is not set is as usual.
    pub fn compaction(&self, usual: CompactionPolicy) -> CompactionPolicy {
        let percent = |name: &str| self.count(name).and_then(|number| u8::try_from(number).ok());
        CompactionPolicy {
            auto: self.switch("compaction.auto").unwrap_or(usual.auto),
            threshold_pct: percent("compaction.threshold_pct").unwrap_or(usual.threshold_pct),
            keep_pct: percent("compaction.keep_pct").unwrap_or(usual.keep_pct),
            ..usual
        }
    }
}
