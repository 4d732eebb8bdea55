//! The agent directory that pi and its kin share: `models.json`, `models.yml` and `settings.json` in it. They are read,
//! never written, and nothing that is wrong with them keeps us from starting.

mod compat;
mod jsonc;
mod models;
mod settings;
#[cfg(test)]
mod tests;
mod word;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(super) use compat::compat;
#[cfg(test)]
pub use models::CustomModel;
pub use models::{CustomProvider, DescribedModels, Unspoken};
pub use settings::{AgentSettings, LEVELS};
pub use word::Word;

use super::tree::{self, Node};
use super::{Env, Home};

/// The variable that moves the directory, in pi and omp alike.
pub const DIR_ENV: &str = "PI_CODING_AGENT_DIR";

/// All of them are read; of a provider that two describe the first one counts.
const MODEL_FILES: [&str; 3] = ["models.json", "models.yml", "models.yaml"];
const SETTINGS_FILE: &str = "settings.json";

/// Where the directory is: as the environment says, else pi's own where it exists, else one of ours.
pub fn directory(env: Env<'_>, home: &Home) -> PathBuf {
    let said = env(DIR_ENV).filter(|path| !path.trim().is_empty());
    if let Some(path) = said {
        return expand(path.trim(), env);
    }
    let pi = env("HOME").map(PathBuf::from).filter(|home| home.is_absolute()).map(|home| home.join(".pi"));
    // One that is there and cannot be entered is pi's all the same: its reader says what is wrong.
    let pi = pi.filter(|pi| pi.symlink_metadata().is_ok()).map(|pi| pi.join("agent"));
    pi.filter(|path| !matches!(is_absent(path), Ok(true))).unwrap_or_else(|| home.data.join("agent"))
}

/// A path as users write it: `~` is their home, a relative one is taken from where we stand.
pub fn expand(path: &str, env: Env<'_>) -> PathBuf {
    let home = || env("HOME").map(PathBuf::from);
    let path = match path.strip_prefix('~') {
        Some("") => home().unwrap_or_else(|| path.into()),
        Some(rest) if rest.starts_with('/') => home().map_or_else(|| path.into(), |home| home.join(&rest[1..])),
        _ => path.into(),
    };
    std::path::absolute(&path).unwrap_or(path)
}

pub fn models(directory: &Path, env: Env<'_>) -> DescribedModels {
    let mut models = DescribedModels::default();
    let mut described = models::Described::new();
    // Said once, and not of each file.
    let wrong = match is_absent(directory) {
        Ok(false) if directory.is_file() => Some(format!("cannot read {}: it is a file", directory.display())),
        looked => looked.err(),
    };
    if let Some(wrong) = wrong {
        models.leave(wrong);
        return models;
    }
    for name in MODEL_FILES {
        match read(&directory.join(name)) {
            Ok(None) => {}
            Ok(Some((shown, root))) => models.add(&shown, &root, &mut described, env),
            Err(wrong) => models.leave(wrong),
        }
    }
    models
}

pub fn settings(directory: &Path) -> AgentSettings {
    match read(&directory.join(SETTINGS_FILE)) {
        Ok(None) => AgentSettings::default(),
        Ok(Some((shown, root))) => AgentSettings::read(&shown, &root),
        Err(wrong) => AgentSettings { notes: vec![format!("{wrong}; it is ignored")], ..AgentSettings::default() },
    }
}

/// Whether nothing stands at a path. A link that leads nowhere does, at its end or on the way: somebody has put it there.
fn is_absent(path: &Path) -> Result<bool, String> {
    let cannot = |what: &str| format!("cannot read {}: {what}", path.display());
    match path.symlink_metadata() {
        Ok(_) => path.metadata().map(|_| false).map_err(|error| match error.kind() {
            ErrorKind::NotFound => cannot("it is a link that leads nowhere"),
            _ => cannot(&error.to_string()),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            path.parent().map_or(Ok(true), |parent| is_absent(parent).map(|_| true))
        }
        Err(error) => Err(cannot(&error.to_string())),
    }
}

/// `None`: there is no such file. The error is one line that names file and place.
fn read(file: &Path) -> Result<Option<(String, Node)>, String> {
    if is_absent(file)? {
        return Ok(None);
    }
    let shown = file.display().to_string();
    if let Some(why) = safefile::not_ours(file) {
        return Err(format!("{shown} is not obeyed: {why}; `chown` and `chmod go-w` help"));
    }
    let text = super::load::read(file).map_err(|fault| fault.message)?;
    let text = if file.extension().is_some_and(|ending| ending == "json") { jsonc::plain(&text) } else { text };
    let root = tree::parse(file, &text).map_err(|what| {
        let what = what.trim_end().replace('\n', " ");
        format!("cannot read {shown}: {what}")
    })?;
    Ok(Some((shown, root)))
}
