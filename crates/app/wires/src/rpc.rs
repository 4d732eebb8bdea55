//! `rpc`: which session its host starts with, how sessions behave there, which prompts it can call by name.

mod session;
mod settle;
mod templates;

use std::path::{Path, PathBuf};

use config::agent;

pub use session::{FILES, Files, SessionContext, SessionPlan, plan};
pub use settle::{compact_at, prompts, settle, strangers};
pub use templates::load as load_templates;

/// A path that is no text is taken as it is.
pub fn expand(path: &Path) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |text| agent::expand(text, &config::process_env))
}
