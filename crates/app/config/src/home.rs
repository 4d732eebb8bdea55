//! Where things are. `TILLERMAN_HOME` moves everything to one directory; otherwise the XDG rules hold.

use std::path::{Path, PathBuf};

use vocab::{Fault, FaultKind};

use super::Env;

/// Names tried in order; the first that exists is read.
const USER_NAMES: [&str; 4] = ["config.toml", "config.json", "config.yaml", "config.yml"];
const WORKSPACE_NAMES: [&str; 4] = [".tillerman.toml", ".tillerman.json", ".tillerman.yaml", ".tillerman.yml"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    /// Holds the user's configuration.
    pub config: PathBuf,
    /// Holds sessions, history, spilled output.
    pub data: PathBuf,
}

impl Home {
    /// `None` when neither `TILLERMAN_HOME` nor `HOME` says where to go.
    pub fn find(env: Env<'_>) -> Option<Home> {
        let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(home) = env("TILLERMAN_HOME").filter(|home| !home.is_empty()) {
            // A relative one is taken from where we stand now, so that a later change of directory cannot move it.
            let home = std::path::absolute(&home).unwrap_or_else(|_| PathBuf::from(&home));
            return Some(Home { config: home.clone(), data: home });
        }
        let under = |xdg: &str, rest: &str| {
            // The XDG rules: a relative path counts as unset.
            absolute(xdg).or_else(|| Some(absolute("HOME")?.join(rest))).map(|base| base.join("tillerman"))
        };
        Some(Home { config: under("XDG_CONFIG_HOME", ".config")?, data: under("XDG_DATA_HOME", ".local/share")? })
    }

    /// The file that `config set` writes.
    pub fn config_file(&self) -> PathBuf {
        self.config.join(USER_NAMES[0])
    }

    /// The same, where it can be changed without losing anything: one in another format would be passed over then.
    pub fn editable(&self) -> Result<PathBuf, Fault> {
        let file = self.config_file();
        match self.user_files().into_iter().find(|other| *other != file) {
            Some(other) if !file.exists() => {
                let text = format!(
                    "your configuration is {}, and only TOML can be edited without losing comments",
                    other.display()
                );
                Err(Fault::new(FaultKind::Invalid, text).hint("edit it by hand, or rewrite it as config.toml"))
            }
            _ => Ok(file),
        }
    }

    pub fn history_file(&self) -> PathBuf {
        self.data.join("history")
    }

    /// A link that leads nowhere is one of them: somebody has put it there, and is to hear that it cannot be read.
    pub fn user_files(&self) -> Vec<PathBuf> {
        paths(&self.config, &USER_NAMES).filter(|path| path.symlink_metadata().is_ok()).collect()
    }
}

pub(super) fn workspace_files(workspace: &Path) -> Vec<PathBuf> {
    paths(workspace, &WORKSPACE_NAMES).filter(|path| path.exists()).collect()
}

fn paths(directory: &Path, names: &[&str]) -> impl Iterator<Item = PathBuf> {
    names.iter().map(|name| directory.join(name))
}
