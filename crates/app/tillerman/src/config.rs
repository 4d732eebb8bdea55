//! Settings: flag over environment over workspace over user over default. A file that came with the workspace can only
//! tighten, and wish for a model; it can never loosen anything or choose where prompts and keys are sent.

pub(crate) mod agent;
mod edit;
mod home;
mod keys;
mod models;
mod providers;
mod servers;
mod slugs;
#[cfg(test)]
mod tests;
mod tighten;
mod tree;
mod trust;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use vocab::{CompactionPolicy, Fault, FaultKind, McpServer, Mode, RetryPolicy, SyncLevel};

pub(crate) use edit::{Set, add, set, unset};
pub(crate) use home::Home;
pub(crate) use keys::{KEYS, Key, ROUNDS_USUAL, Setting};
pub(crate) use models::ModelEntry;
pub(crate) use providers::ProviderEntry;
pub(crate) use slugs::TIERS;

use crate::wiring::Suggestion;
use keys::Workspace;
use tree::{Node, Value};

/// Looks up an environment variable; a parameter so that tests need not touch the process.
pub(crate) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's own environment. Text that is not Unicode counts as unset.
pub(crate) fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Larger configuration files are refused.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Unknown settings that are pointed out; of more only the number is told.
const UNKNOWN_TOLD_MAX: usize = 20;

/// Where a setting comes from; later ones win.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Source {
    User(PathBuf),
    Workspace(PathBuf),
    Env(&'static str),
    Flag,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::User(path) | Source::Workspace(path) => write!(f, "{}", path.display()),
            Source::Env(name) => write!(f, "{name} in the environment"),
            Source::Flag => f.write_str("the command line"),
        }
    }
}

/// What to read.
pub(crate) struct Request<'a> {
    pub(crate) env: Env<'a>,
    pub(crate) home: Option<&'a Home>,
    pub(crate) workspace: &'a Path,
    /// `--config FILE`: read instead of the user's own.
    pub(crate) file: Option<&'a Path>,
    /// What the command does when nobody says anything; a workspace is measured against it.
    pub(crate) default_mode: Mode,
}

/// Everything that was set anywhere, checked.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Config {
    set: BTreeMap<&'static str, (Setting, Source)>,
    /// The model that the workspace would like, and its file.
    wish: Option<(String, PathBuf)>,
    /// Files that were read.
    pub(crate) files: Vec<PathBuf>,
    /// For stderr, one line each.
    pub(crate) warnings: Vec<String>,
    unknown: usize,
}

impl Config {
    /// Reads files and environment. Flags are laid over it with [`Config::flag`].
    pub(crate) fn load(request: &Request<'_>) -> Result<Config, Fault> {
        let mut config = Config::default();
        let user = match request.file {
            Some(file) => vec![file.to_owned()],
            None => request.home.map(Home::user_files).unwrap_or_default(),
        };
        config.layer(&user, Source::User, request.default_mode)?;
        config.workspace_layer(request);
        config.environment(request.env)?;
        if config.unknown > UNKNOWN_TOLD_MAX {
            config.warnings.push(format!("and {} more unknown settings", config.unknown - UNKNOWN_TOLD_MAX));
        }
        Ok(config)
    }

    /// A stranger may have written this one, or the agent itself: whatever is wrong with it keeps nobody from starting. It
    /// counts as a whole or not at all.
    fn workspace_layer(&mut self, request: &Request<'_>) {
        let before = self.clone();
        let files = home::workspace_files(request.workspace);
        if let Err(fault) = self.layer(&files, Source::Workspace, request.default_mode) {
            *self = before;
            self.warnings.push(format!("{}; the settings of this workspace are ignored", fault.message));
        }
    }

    /// The first file counts; others beside it are pointed out.
    fn layer(&mut self, files: &[PathBuf], source: fn(PathBuf) -> Source, default: Mode) -> Result<(), Fault> {
        let Some((file, ignored)) = files.split_first() else { return Ok(()) };
        for other in ignored {
            self.warnings.push(format!("{} is ignored: {} is read", other.display(), file.display()));
        }
        let from = source(file.clone());
        if matches!(from, Source::User(_)) {
            must_be_ours(file)?;
        }
        let text = read(file)?;
        let node = tree::parse(file, &text).map_err(|what| {
            let text = format!("cannot read {}: {}", file.display(), what.trim_end());
            Fault::new(FaultKind::Invalid, text)
        })?;
        self.files.push(file.clone());
        let Value::Map(pairs) = &node.value else {
            return Err(Fault::new(FaultKind::Invalid, format!("{}: wants a table of settings", file.display())));
        };
        self.table("", pairs, &from, default)
    }

    fn table(&mut self, above: &str, pairs: &[(String, Node)], from: &Source, default: Mode) -> Result<(), Fault> {
        for (spelled, node) in pairs {
            let name = format!("{above}{}", keys::snake(spelled));
            if let Some(key) = keys::find(&name) {
                let setting = self.checked(key, node, from)?;
                self.put(key, setting, from, default);
                continue;
            }
            let group = format!("{name}.");
            let is_group = KEYS.iter().any(|key| key.name.starts_with(&group));
            match &node.value {
                Value::Map(pairs) if is_group => self.table(&group, pairs, from, default)?,
                Value::Null => {}
                other if is_group => {
                    let text = format!("{}: `{name}` wants a table, has {}", place(from, node.line), other.kind());
                    return Err(Fault::new(FaultKind::Invalid, text));
                }
                _ => self.unknown(&name, node, from),
            }
        }
        Ok(())
    }

    fn unknown(&mut self, name: &str, node: &Node, from: &Source) {
        let place = place(from, node.line);
        if keys::is_secret(name) {
            let text = format!(
                "{place}: `{name}` is ignored: keys are not read from files; set one in the environment, or name a `key_file` or a `secret_command` in [providers.NAME]"
            );
            return self.warnings.push(text);
        }
        self.unknown += 1;
        if self.unknown > UNKNOWN_TOLD_MAX {
            return;
        }
        let near = keys::nearest(name, KEYS.iter().map(|key| key.name));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        self.warnings.push(format!("{place}: unknown setting `{name}`{hint}"));
    }

    fn checked(&mut self, key: &Key, node: &Node, from: &Source) -> Result<Setting, Fault> {
        let invalid = |name: &str, line: Option<usize>, what: String| {
            Fault::new(FaultKind::Invalid, format!("{}: `{name}` {what}", place(from, line)))
        };
        if key.kind == keys::Kind::Models {
            let mut unknown = Vec::new();
            let read = models::read(node, &mut unknown).map_err(|it| invalid(&it.key, it.line, it.what));
            self.warnings
                .extend(unknown.into_iter().map(|it| format!("{}: `{}`: {}", place(from, it.line), it.key, it.what)));
            return read.map(Setting::Models);
        }
        if key.kind == keys::Kind::Providers {
            let mut unknown = Vec::new();
            let read = providers::read(node, from, &mut unknown).map_err(|it| invalid(&it.key, it.line, it.what));
            self.warnings
                .extend(unknown.into_iter().map(|it| format!("{}: `{}`: {}", place(from, it.line), it.key, it.what)));
            return read.map(Setting::Providers);
        }
        if let keys::Kind::Slugs(which) = key.kind {
            let read = slugs::read(which, node).map_err(|it| invalid(&it.key, it.line, it.what));
            return read.map(Setting::Slugs);
        }
        if key.kind == keys::Kind::Servers {
            let read = servers::read(node).map_err(|it| invalid(&it.key, it.line, it.what));
            return read.map(Setting::Servers);
        }
        key.kind.check(node).ok_or_else(|| {
            let has = match &node.value {
                Value::Text(text) => format!("`{text}`"),
                Value::Int(number) => number.to_string(),
                other => other.kind().to_owned(),
            };
            invalid(key.name, node.line, format!("wants {}, has {has}", key.kind.wants()))
        })
    }

    /// Takes a setting over, unless its source has no say in it.
    fn put(&mut self, key: &'static Key, mut setting: Setting, from: &Source, default: Mode) {
        if key.name == "extensions" {
            setting = trust::placed(setting, from);
        }
        if let ("ca_file", Setting::Text(path)) = (key.name, &setting) {
            setting = Setting::Text(trust::beside(path, from).display().to_string());
        }
        if let Source::Workspace(file) = from {
            match self.what_counts(key, setting, file, from, default) {
                Ok(Some(counts)) => setting = counts,
                Ok(None) => return,
                Err(why) => return self.warnings.push(format!("{from}: `{}` is ignored: {why}", key.name)),
            }
        }
        self.set.insert(key.name, (setting, from.clone()));
    }

    /// What counts of a workspace's setting; the error says why it does not.
    fn what_counts(
        &mut self,
        key: &'static Key,
        setting: Setting,
        file: &Path,
        from: &Source,
        default: Mode,
    ) -> Result<Option<Setting>, String> {
        match (key.workspace, setting) {
            (Workspace::Suggests, Setting::Text(model)) => {
                self.wish = Some((model, file.to_owned()));
                Ok(None)
            }
            (Workspace::Never | Workspace::Suggests, _) => Err("a workspace cannot choose it".to_owned()),
            (Workspace::Tightens(way), setting) => way.tightened(self.get(key.name), setting, default).map(Some),
            // Beside the user's own, not instead of them.
            (Workspace::Trusted, setting) if trust::is_trusted(self.texts("trusted_workspaces"), from) => {
                Ok(Some(trust::joined(self.get(key.name), setting)))
            }
            (Workspace::Trusted, _) => {
                Err("nothing from a workspace is run unless `trusted_workspaces` in your own configuration names it"
                    .to_owned())
            }
        }
    }

    fn environment(&mut self, env: Env<'_>) -> Result<(), Fault> {
        for key in KEYS {
            let Some(name) = key.env else { continue };
            let Some(text) = env(name).filter(|text| !text.trim().is_empty()) else { continue };
            let setting = key.kind.check_text(&text).ok_or_else(|| {
                Fault::new(FaultKind::Invalid, format!("{name} wants {}, has `{text}`", key.kind.wants()))
            })?;
            self.set.insert(key.name, (setting, Source::Env(name)));
        }
        Ok(())
    }

    /// Lays a command-line flag over everything else.
    pub(crate) fn flag(&mut self, name: &str, setting: Option<Setting>) {
        if let (Some(setting), Some(key)) = (setting, keys::find(name)) {
            self.set.insert(key.name, (setting, Source::Flag));
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Setting> {
        self.set.get(name).map(|(setting, _)| setting)
    }

    pub(crate) fn source(&self, name: &str) -> Option<&Source> {
        self.set.get(name).map(|(_, source)| source)
    }

    // ---- typed --------------------------------------------------------------------------------------------------

    fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Setting::Text(text)) => Some(text),
            _ => None,
        }
    }
    fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Setting::Count(number)) => Some(*number),
            _ => None,
        }
    }
    /// A number, or the usual one. A workspace's counts only where it is tighter than that, too.
    fn limit(&self, name: &str, usual: u64) -> u64 {
        let Some(number) = self.count(name) else { return usual };
        match (keys::find(name).map(|key| key.workspace), self.source(name)) {
            (Some(Workspace::Tightens(way)), Some(Source::Workspace(_))) => way.tighter(number, usual),
            _ => number,
        }
    }
    fn switch(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            Some(Setting::Bool(yes)) => Some(*yes),
            _ => None,
        }
    }

    pub(crate) fn model(&self) -> Option<&str> {
        self.text("model")
    }
    /// The model that the workspace would like, where nobody demands one for this run.
    pub(crate) fn suggestion(&self) -> Option<Suggestion> {
        let demanded = matches!(self.source("model"), Some(Source::Env(_) | Source::Flag));
        let (model, file) = self.wish.clone().filter(|_| !demanded)?;
        Some(Suggestion { model, file })
    }
    pub(crate) fn base_url(&self) -> Option<&str> {
        self.text("base_url")
    }
    /// Certificates to trust besides the system's.
    pub(crate) fn ca_file(&self) -> Option<PathBuf> {
        self.text("ca_file").map(PathBuf::from)
    }
    /// An address or a name of `accounts`.
    pub(crate) fn account(&self, name: &str) -> Option<String> {
        self.text(&format!("accounts.{name}")).map(str::to_owned)
    }
    pub(crate) fn oauth_port(&self) -> Option<u16> {
        self.count("accounts.oauth_port").and_then(|port| u16::try_from(port).ok())
    }
    pub(crate) fn mode(&self) -> Option<Mode> {
        match self.get("mode") {
            Some(Setting::Mode(mode)) => Some(*mode),
            _ => None,
        }
    }
    pub(crate) fn sync(&self) -> Option<SyncLevel> {
        match self.get("sync") {
            Some(Setting::Sync(level)) => Some(*level),
            _ => None,
        }
    }
    pub(crate) fn thinking(&self) -> Option<&str> {
        self.text("thinking")
    }
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        self.count("max_tokens")
    }
    pub(crate) fn max_iterations(&self, usual: u32) -> u32 {
        u32::try_from(self.limit("max_iterations", usual.into())).unwrap_or(usual)
    }
    pub(crate) fn context_window(&self) -> Option<u64> {
        self.count("context_window")
    }
    pub(crate) fn shutdown_grace_s(&self) -> Option<u64> {
        self.count("shutdown_grace_s")
    }
    pub(crate) fn idle_timeout_s(&self) -> Option<u64> {
        self.count("idle_timeout_s")
    }
    fn texts(&self, name: &str) -> Option<&[String]> {
        match self.get(name) {
            Some(Setting::Texts(texts)) => Some(texts),
            _ => None,
        }
    }
    pub(crate) fn only_tools(&self) -> Option<&[String]> {
        self.texts("tools.only")
    }
    /// Absolute where the file that named them is known.
    pub(crate) fn extensions(&self) -> impl Iterator<Item = PathBuf> {
        self.texts("extensions").unwrap_or_default().iter().map(PathBuf::from)
    }
    /// Directories whose own files the user trusts.
    pub(crate) fn trusted_workspaces(&self) -> Vec<PathBuf> {
        self.texts("trusted_workspaces").unwrap_or_default().iter().map(|path| trust::expanded(path)).collect()
    }
    pub(crate) fn models(&self) -> &[ModelEntry] {
        match self.get("models") {
            Some(Setting::Models(models)) => models,
            _ => &[],
        }
    }
    /// Servers of tools for every session.
    pub(crate) fn servers(&self) -> &[McpServer] {
        match self.get("servers") {
            Some(Setting::Servers(servers)) => servers,
            _ => &[],
        }
    }
    /// Model servers that the user described.
    pub(crate) fn providers(&self) -> &[ProviderEntry] {
        match self.get("providers") {
            Some(Setting::Providers(entries)) => entries,
            _ => &[],
        }
    }
    /// Names of `aliases` or `tiers`.
    pub(crate) fn slugs(&self, name: &str) -> &[(String, Vec<String>)] {
        match self.get(name) {
            Some(Setting::Slugs(names)) => names,
            _ => &[],
        }
    }
    /// What is not set is as usual.
    pub(crate) fn retry(&self, usual: RetryPolicy) -> RetryPolicy {
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
    pub(crate) fn compaction(&self, usual: CompactionPolicy) -> CompactionPolicy {
        let percent = |name: &str| self.count(name).and_then(|number| u8::try_from(number).ok());
        CompactionPolicy {
            auto: self.switch("compaction.auto").unwrap_or(usual.auto),
            threshold_pct: percent("compaction.threshold_pct").unwrap_or(usual.threshold_pct),
            keep_pct: percent("compaction.keep_pct").unwrap_or(usual.keep_pct),
            ..usual
        }
    }
}

/// The setting of this name, in any spelling.
pub(crate) fn find(name: &str) -> Result<&'static Key, Fault> {
    let snake = keys::snake(name);
    keys::find(&snake).ok_or_else(|| {
        let mut fault = Fault::new(FaultKind::NotFound, format!("unknown setting `{name}`"));
        if let Some(near) = keys::nearest(&snake, KEYS.iter().map(|key| key.name)) {
            fault = fault.hint(format!("did you mean `{near}`?"));
        }
        fault.hint("`tillerman config get` lists all settings")
    })
}

fn place(from: &Source, line: Option<usize>) -> String {
    line.map_or_else(|| from.to_string(), |line| format!("{from}:{line}"))
}

/// To pass over the user's own file would drop what it forbids, so nothing starts instead.
fn must_be_ours(file: &Path) -> Result<(), Fault> {
    let Some(why) = safefile::not_ours(file) else { return Ok(()) };
    let text = format!("{} is not obeyed: {why}, so somebody else could say what is run", file.display());
    Err(Fault::new(FaultKind::Invalid, text).hint("make it your own: `chown` and `chmod go-w` on it and its directory"))
}

fn read(file: &Path) -> Result<String, Fault> {
    let cannot = |what: String| Fault::new(FaultKind::Invalid, format!("cannot read {}: {what}", file.display()));
    let meta = std::fs::metadata(file).map_err(|error| cannot(error.to_string()))?;
    if !meta.is_file() {
        // A pipe under this name would make us wait for ever.
        return Err(cannot("it is not a file".to_owned()));
    }
    if meta.len() > FILE_BYTES_MAX {
        return Err(cannot(format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    std::fs::read_to_string(file).map_err(|error| cannot(error.to_string()))
}
