//! Which directories may name programs that we start, and where those programs are.

use std::path::{Path, PathBuf};

use super::SettingSource;
use super::keys::SettingValue;

/// `~/x` is the user's; a relative path is taken from the directory of the file that names it.
pub(super) fn placed(setting: SettingValue, from: &SettingSource) -> SettingValue {
    let (SettingValue::Texts(paths), SettingSource::User(file) | SettingSource::Workspace(file)) = (&setting, from)
    else {
        return setting;
    };
    let base = file.parent().unwrap_or(Path::new(""));
    let place = |path: &String| base.join(expanded(path)).to_string_lossy().into_owned();
    SettingValue::Texts(paths.iter().map(place).collect())
}

/// One path, by the same rules.
pub(super) fn beside(path: &str, from: &SettingSource) -> PathBuf {
    let base = match from {
        SettingSource::User(file) | SettingSource::Workspace(file) => file.parent().unwrap_or(Path::new("")),
        SettingSource::Env(_) | SettingSource::Flag => Path::new(""),
    };
    base.join(expanded(path))
}

pub(super) fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// Whether the user has named the directory this file is in. Names are compared as the file system knows them, so that a
/// link cannot stand in for a trusted directory.
pub(super) fn is_trusted(trusted: Option<&[String]>, from: &SettingSource) -> bool {
    let SettingSource::Workspace(file) = from else { return true };
    let Some(Ok(here)) = file.parent().map(std::fs::canonicalize) else { return false };
    let is_here = |path: &String| std::fs::canonicalize(expanded(path)).is_ok_and(|path| path == here);
    trusted.unwrap_or_default().iter().any(is_here)
}

/// What the user has set, and what a trusted workspace adds. Whose word counts about a server's tools is the user's alone.
pub(super) fn joined(before: Option<&SettingValue>, mut more: SettingValue) -> SettingValue {
    if let SettingValue::Servers(servers) = &mut more {
        servers.iter_mut().for_each(|server| server.trust_hints = false);
    }
    match (before, more) {
        (Some(SettingValue::Texts(before)), SettingValue::Texts(more)) => {
            SettingValue::Texts(before.iter().cloned().chain(more).collect())
        }
        // Of two with one name the user's own counts.
        (Some(SettingValue::Servers(before)), SettingValue::Servers(more)) => {
            let more = more.into_iter().filter(|it| !before.iter().any(|own| own.name == it.name));
            SettingValue::Servers(before.iter().cloned().chain(more).collect())
        }
        (_, more) => more,
    }
}
