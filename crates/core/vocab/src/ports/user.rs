//! What a user wants to be the default.

use std::path::PathBuf;

use crate::Fault;

/// What a user wants to be the default from now on.
pub trait Preferences: Send + Sync {
    /// Writes one setting (`model`, `mode`) to the user's configuration; returns the file.
    fn save(&self, key: &str, value: &str) -> Result<PathBuf, Fault>;
}
