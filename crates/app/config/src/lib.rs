//! Settings: flag over environment over workspace over user over default. A file that came with the workspace can only
//! tighten, and wish for a model; it can never loosen anything or choose where prompts and keys are sent.

mod addresses;
pub mod agent;
mod edit;
mod expand;
mod flynn;
mod guarded;
mod home;
mod keys;
mod lanes;
mod lines;
mod load;
mod mcp_servers;
mod model_entry;
mod outside;
mod played;
mod provider_entry;
mod redact;
mod schema;
mod server;
mod session_settings;
mod slugs;
#[cfg(test)]
mod tests;
mod tighten;
mod tree;
mod trust;
mod user_file;
mod values;
mod workspace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use vocab::{Fault, FaultKind, Mode};

pub use edit::{Set, add, set, unset};
pub use guarded::Guarded;
pub use home::Home;
pub use keys::{KEYS, ROUNDS_USUAL, SettingKey, SettingValue};
pub use model_entry::ConfiguredModel;
pub use outside::{OutsideEdit, OutsideRefused, plan_outside};
pub use played::{SCRIPT_PREFIX, TOUR_PREFIX, is_script};
pub use provider_entry::ProviderEntry;
pub use redact::SettingChange;
pub use schema::schema;
pub use server::{
    AcpConfig, FEATURES, NodesConfig, PairingConfig, ProactiveConfig, QueueConfig, ServerConfig, TailscaleConfig,
    TlsFiles, ToolLists,
};
pub use slugs::TIERS;
pub use user_file::UserFile;
pub use workspace::{resumed, too_wide, workspace};

/// Looks up an environment variable; a parameter so that tests need not touch the process.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's own environment. Text that is not Unicode counts as unset.
pub fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Where a setting comes from; later ones win.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SettingSource {
    User(PathBuf),
    Workspace(PathBuf),
    Env(&'static str),
    Flag,
}

impl std::fmt::Display for SettingSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SettingSource::User(path) | SettingSource::Workspace(path) => write!(f, "{}", path.display()),
            SettingSource::Env(name) => write!(f, "{name} in the environment"),
            SettingSource::Flag => f.write_str("the command line"),
        }
    }
}

/// A model that the workspace's own settings name, and the file that does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suggestion {
    pub model: String,
    pub file: PathBuf,
}

/// What to read.
pub struct LoadFrom<'a> {
    pub env: Env<'a>,
    pub home: Option<&'a Home>,
    pub workspace: &'a Path,
    /// `--config FILE`: read instead of the user's own.
    pub file: Option<&'a Path>,
    /// What the command does when nobody says anything; a workspace is measured against it.
    pub default_mode: Mode,
}

/// Everything that was set anywhere, checked.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Configuration {
    set: BTreeMap<&'static str, (SettingValue, SettingSource)>,
    /// The model that the workspace would like, and its file.
    wish: Option<(String, PathBuf)>,
    /// Files that were read.
    pub files: Vec<PathBuf>,
    /// For stderr, one line each.
    pub warnings: Vec<String>,
    unknown: usize,
    /// Which variables the user's file names, and where.
    references: expand::References,
}

impl Configuration {
    /// Lays a command-line flag over everything else.
    pub fn flag(&mut self, name: &str, setting: Option<SettingValue>) {
        if let (Some(setting), Some(key)) = (setting, keys::find(name)) {
            self.set.insert(key.name, (setting, SettingSource::Flag));
        }
    }

    pub fn get(&self, name: &str) -> Option<&SettingValue> {
        self.set.get(name).map(|(setting, _)| setting)
    }

    /// How many settings nobody knows.
    pub fn unknown_settings(&self) -> usize {
        self.unknown
    }

    pub fn source(&self, name: &str) -> Option<&SettingSource> {
        self.set.get(name).map(|(_, source)| source)
    }
}

/// The setting of this name, in any spelling.
pub fn find(name: &str) -> Result<&'static SettingKey, Fault> {
    let snake = keys::snake(name);
    keys::find(&snake).ok_or_else(|| {
        let mut fault = Fault::new(FaultKind::NotFound, format!("unknown setting `{name}`"));
        if let Some(near) = keys::nearest(&snake, KEYS.iter().map(|key| key.name)) {
            fault = fault.hint(format!("did you mean `{near}`?"));
        }
        fault.hint("`tillerman config get` lists all settings")
    })
}
