//! Reading: the user's file, the workspace's, the environment, one laid over the other. What a workspace may say is decided here.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use vocab::{Fault, FaultKind, Mode};

use super::keys::{self, KEYS, SettingKey, SettingValue, Workspace};
use super::tree::{self, Node, TreeValue};
use super::{
    Configuration, Env, Home, LoadFrom, SettingSource, expand, flynn, home, lanes, lines, mcp_servers, model_entry,
    provider_entry, slugs, trust,
};

/// Larger configuration files are refused.
pub(super) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Unknown settings that are pointed out; of more only the number is told.
const UNKNOWN_TOLD_MAX: usize = 20;

impl Configuration {
    /// Reads files and environment. Flags are laid over it with [`Configuration::flag`].
    pub fn load(request: &LoadFrom<'_>) -> Result<Configuration, Fault> {
        Self::load_as_if(request, None)
    }

    /// As if this file of the user's said this, whatever it says or whether there is one: nothing is written that could not be
    /// read again.
    pub fn load_as_if(request: &LoadFrom<'_>, draft: Option<(&Path, &str)>) -> Result<Configuration, Fault> {
        let mut config = Configuration::default();
        let mut user = match request.file {
            Some(file) => vec![file.to_owned()],
            None => request.home.map(Home::user_files).unwrap_or_default(),
        };
        if let Some((file, _)) = draft.filter(|(file, _)| !user.iter().any(|it| it == file)) {
            user.insert(0, file.to_owned());
        }
        config.layer(&user, SettingSource::User, request, draft)?;
        config.workspace_layer(request);
        config.environment(request.env)?;
        if config.unknown > UNKNOWN_TOLD_MAX {
            config.warnings.push(format!("and {} more unknown settings", config.unknown - UNKNOWN_TOLD_MAX));
        }
        Ok(config)
    }

    /// A stranger may have written this one, or the agent itself: whatever is wrong with it keeps nobody from starting. It
    /// counts as a whole or not at all.
    fn workspace_layer(&mut self, request: &LoadFrom<'_>) {
        let before = self.clone();
        let files = home::workspace_files(request.workspace);
        if let Err(fault) = self.layer(&files, SettingSource::Workspace, request, None) {
            *self = before;
            self.warnings.push(format!("{}; the settings of this workspace are ignored", fault.message));
        }
    }

    /// The first file counts; others beside it are pointed out.
    fn layer(
        &mut self,
        files: &[PathBuf],
        source: fn(PathBuf) -> SettingSource,
        request: &LoadFrom<'_>,
        draft: Option<(&Path, &str)>,
    ) -> Result<(), Fault> {
        let Some((file, ignored)) = files.split_first() else { return Ok(()) };
        for other in ignored {
            self.warnings.push(format!("{} is ignored: {} is read", other.display(), file.display()));
        }
        let from = source(file.clone());
        if matches!(from, SettingSource::User(_)) {
            must_be_ours(file)?;
        }
        let text = match draft {
            Some((path, text)) if path == file => text.to_owned(),
            _ => read(file)?,
        };
        let node = tree::parse(file, &text).map_err(|what| {
            let text = format!("cannot read {}: {}", file.display(), what.trim_end());
            Fault::new(FaultKind::Invalid, text)
        })?;
        self.files.push(file.clone());
        let before = self.clone();
        let mut read = self.settings(node.clone(), &text, &from, request);
        // Where there is something to point at, it is read once more with its lines.
        let mut with_lines = node;
        if (read.is_err() || self.warnings.len() > before.warnings.len()) && lines::find(file, &text, &mut with_lines) {
            *self = before;
            read = self.settings(with_lines, &text, &from, request);
        }
        read?;
        self.kept_private(file);
        Ok(())
    }

    /// What one file says.
    fn settings(
        &mut self,
        mut node: Node,
        text: &str,
        from: &SettingSource,
        request: &LoadFrom<'_>,
    ) -> Result<(), Fault> {
        if matches!(from, SettingSource::User(_)) {
            self.own_words(&mut node, text, from, request.env)?;
        }
        let TreeValue::Map(pairs) = &node.value else {
            return Err(Fault::new(FaultKind::Invalid, format!("{}: wants a table of settings", place(from, None))));
        };
        self.table("", pairs, from, request.default_mode)
    }

    /// What only the user's own file can say: another program's way to write models, and variables.
    fn own_words(&mut self, node: &mut Node, text: &str, from: &SettingSource, env: Env<'_>) -> Result<(), Fault> {
        if let TreeValue::Map(pairs) = &mut node.value {
            let mut notes = Vec::new();
            flynn::understood(pairs, &mut notes);
            self.warnings.extend(notes.into_iter().map(|note| format!("{}: {}", place(from, note.line), note.text)));
        }
        self.references = expand::expand(node, env).map_err(|unset| {
            let reference = format!("${{{}}}", unset.name);
            // Not every format tells lines; a reference is found by its text.
            let line = unset.line.or_else(|| text.lines().position(|line| line.contains(&reference)).map(|at| at + 1));
            let text = format!("{}: {reference} is not set in the environment", place(from, line));
            Fault::new(FaultKind::Invalid, text).hint(format!("set {}, or write $${{ for the text itself", unset.name))
        })?;
        Ok(())
    }

    /// A token that others can read is none.
    fn kept_private(&mut self, file: &Path) {
        let has_token = matches!(self.get("server.token"), Some(SettingValue::Secret(Some(_))));
        let is_written = has_token && !self.references.secrets.contains("server.token");
        let mode = std::fs::metadata(file).map(|it| it.permissions().mode()).unwrap_or_default();
        if is_written && mode & 0o077 != 0 {
            self.warnings.push(format!("{}: others can read `server.token` in it; chmod 600", file.display()));
        }
    }

    fn table(
        &mut self,
        above: &str,
        pairs: &[(String, Node)],
        from: &SettingSource,
        default: Mode,
    ) -> Result<(), Fault> {
        for (spelled, node) in pairs {
            let name = flynn::renamed(format!("{above}{}", keys::snake(spelled)));
            if let Some(key) = keys::find(&name) {
                let setting = self.checked(key, node, from)?;
                if self.source(key.name) == Some(from) {
                    let place = place(from, node.line);
                    self.warnings.push(format!("{place}: `{}` stands there a second time; this one counts", key.name));
                }
                self.put(key, setting, from, default);
                continue;
            }
            if let Some(why) = flynn::without_effect(&name) {
                self.warnings.push(format!("{}: `{name}` has no effect: {why}", place(from, node.line)));
                continue;
            }
            let group = format!("{name}.");
            let is_group = KEYS.iter().any(|key| key.name.starts_with(&group));
            match &node.value {
                TreeValue::Map(pairs) if is_group => self.table(&group, pairs, from, default)?,
                TreeValue::Null => {}
                other if is_group => {
                    let text = format!("{}: `{name}` wants a table, has {}", place(from, node.line), other.kind());
                    return Err(Fault::new(FaultKind::Invalid, text));
                }
                _ => self.unknown(&name, node, from),
            }
        }
        Ok(())
    }

    fn unknown(&mut self, name: &str, node: &Node, from: &SettingSource) {
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
        let near = keys::nearest(name, KEYS.iter().flat_map(|key| keys::with_groups(key.name)));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        self.warnings.push(format!("{place}: unknown setting `{name}`{hint}"));
    }

    fn checked(&mut self, key: &SettingKey, node: &Node, from: &SettingSource) -> Result<SettingValue, Fault> {
        let invalid = |name: &str, line: Option<usize>, what: String| {
            Fault::new(FaultKind::Invalid, format!("{}: `{name}` {what}", place(from, line)))
        };
        if key.kind == keys::SettingKind::Models {
            let mut unknown = Vec::new();
            let read = model_entry::read(node, &mut unknown).map_err(|it| invalid(&it.key, it.line, it.what));
            self.warnings
                .extend(unknown.into_iter().map(|it| format!("{}: `{}`: {}", place(from, it.line), it.key, it.what)));
            return read.map(SettingValue::Models);
        }
        if key.kind == keys::SettingKind::Providers {
            let mut unknown = Vec::new();
            let read = provider_entry::read(node, from, &mut unknown).map_err(|it| invalid(&it.key, it.line, it.what));
            self.warnings
                .extend(unknown.into_iter().map(|it| format!("{}: `{}`: {}", place(from, it.line), it.key, it.what)));
            let named = |entry: provider_entry::ProviderEntry| {
                let variables = self.references.below(key.name, &entry.name);
                provider_entry::ProviderEntry { variables, ..entry }
            };
            return read.map(|entries| SettingValue::Providers(entries.into_iter().map(named).collect()));
        }
        if let keys::SettingKind::Slugs(which) = key.kind {
            let read = slugs::read(which, node).map_err(|it| invalid(&it.key, it.line, it.what));
            return read.map(SettingValue::Slugs);
        }
        if key.kind == keys::SettingKind::Lanes {
            let mut unknown = Vec::new();
            let read = lanes::read(key.name, node, &mut unknown).map_err(|it| invalid(&it.key, it.line, it.what));
            self.warnings
                .extend(unknown.into_iter().map(|it| format!("{}: `{}`: {}", place(from, it.line), it.key, it.what)));
            return read.map(SettingValue::Lanes);
        }
        if key.kind == keys::SettingKind::Servers {
            let read = mcp_servers::read(node).map_err(|it| invalid(&it.key, it.line, it.what));
            return read.map(SettingValue::Servers);
        }
        if let (keys::SettingKind::Secret, TreeValue::Text(text)) = (key.kind, &node.value)
            && !text.is_empty()
            && text.trim().is_empty()
        {
            self.warnings.push(format!("{}: `{}` is blank, which means none", place(from, node.line), key.name));
        }
        key.kind.check(node).ok_or_else(|| {
            let has = match &node.value {
                TreeValue::Text(text) if key.kind != keys::SettingKind::Secret => format!("`{text}`"),
                TreeValue::Int(number) => number.to_string(),
                other => other.kind().to_owned(),
            };
            invalid(key.name, node.line, format!("wants {}, has {has}", key.kind.wants()))
        })
    }

    /// Takes a setting over, unless its source has no say in it.
    fn put(&mut self, key: &'static SettingKey, mut setting: SettingValue, from: &SettingSource, default: Mode) {
        if key.name == "extensions" {
            setting = trust::placed(setting, from);
        }
        if let ("ca_file" | "server.tls.cert" | "server.tls.key", SettingValue::Text(path)) = (key.name, &setting) {
            setting = SettingValue::Text(trust::beside(path, from).display().to_string());
        }
        if let SettingSource::Workspace(file) = from {
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
        key: &'static SettingKey,
        setting: SettingValue,
        file: &Path,
        from: &SettingSource,
        default: Mode,
    ) -> Result<Option<SettingValue>, String> {
        match (key.workspace, setting) {
            (Workspace::Suggests, SettingValue::Text(model)) => {
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
            self.set.insert(key.name, (setting, SettingSource::Env(name)));
        }
        Ok(())
    }
}

fn place(from: &SettingSource, line: Option<usize>) -> String {
    line.map_or_else(|| from.to_string(), |line| format!("{from}:{line}"))
}

/// To pass over the user's own file would drop what it forbids, so nothing starts instead.
fn must_be_ours(file: &Path) -> Result<(), Fault> {
    let Some(why) = safefile::not_ours(file) else { return Ok(()) };
    let text = format!("{} is not obeyed: {why}, so somebody else could say what is run", file.display());
    Err(Fault::new(FaultKind::Invalid, text).hint("make it your own: `chown` and `chmod go-w` on it and its directory"))
}

pub(super) fn read(file: &Path) -> Result<String, Fault> {
    let cannot = |what: String| Fault::new(FaultKind::Invalid, format!("cannot read {}: {what}", file.display()));
    safefile::read_regular_text(file, FILE_BYTES_MAX).map_err(|error| cannot(error.to_string()))
}
