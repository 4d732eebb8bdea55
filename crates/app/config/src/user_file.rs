//! `/save` writes where `config set` does.

use std::path::PathBuf;

use vocab::{Fault, Preferences};

/// The user's own configuration file.
pub struct UserFile(pub PathBuf);

impl Preferences for UserFile {
    fn save(&self, key: &str, value: &str) -> Result<PathBuf, Fault> {
        crate::set(&self.0, key, value)?;
        Ok(self.0.clone())
    }
}
