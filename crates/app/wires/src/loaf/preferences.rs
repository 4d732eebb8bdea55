//! What a client of loaf selected, from one process to the next: `loaf.json` in the data directory. Nothing in it is worth
//! failing for, so a file that cannot be read counts as empty.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dialect_loaf::prefer;
use vocab::{Fault, FaultKind};

const FILE_NAME: &str = "loaf.json";
/// A larger file was not written by us.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// What an earlier process left.
#[derive(Default, Debug)]
pub struct LoafPreferences {
    pub model: Option<String>,
    pub thinking: Option<String>,
    pub route: Option<String>,
    pub onboarded: bool,
    /// Why there is nothing, where something should be; for people.
    pub trouble: Option<String>,
}

/// Keeps what [`prefer`] names.
pub struct PreferencesFile {
    path: PathBuf,
    /// One change at a time.
    writing: Mutex<()>,
}

impl PreferencesFile {
    pub fn open(data: &Path) -> (PreferencesFile, LoafPreferences) {
        let path = data.join(FILE_NAME);
        let (values, trouble) = match read(&path) {
            Ok(values) => (values, None),
            Err(why) => {
                let place = path.display();
                (BTreeMap::new(), Some(format!("{place} is damaged and counts as empty: {why}")))
            }
        };
        let said = |key: &str| values.get(key).filter(|value| !value.trim().is_empty()).cloned();
        let kept = LoafPreferences {
            model: said(prefer::MODEL),
            thinking: said(prefer::THINKING),
            route: said(prefer::ROUTE),
            onboarded: said(prefer::ONBOARDED).as_deref() == Some("true"),
            trouble,
        };
        (PreferencesFile { path, writing: Mutex::new(()) }, kept)
    }

    fn write(&self, values: &BTreeMap<String, String>) -> Result<(), Fault> {
        let cannot = |what: &dyn std::fmt::Display| {
            Fault::new(FaultKind::Store, format!("cannot write {}: {what}", self.path.display()))
        };
        let mut bytes = serde_json::to_vec_pretty(values).map_err(|error| cannot(&error))?;
        bytes.push(b'\n');
        if let Some(directory) = self.path.parent() {
            safefile::private_dir(directory).map_err(|error| cannot(&error))?;
        }
        safefile::replace(&self.path, &bytes).map_err(|error| cannot(&error))
    }

    /// Writes it; returns the file.
    pub fn save(&self, key: &str, value: &str) -> Result<PathBuf, Fault> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        // What another process has kept meanwhile stays; what cannot be read is lost already.
        let mut values = read(&self.path).unwrap_or_default();
        // Blank is how a key is forgotten.
        match value.trim().is_empty() {
            true => values.remove(key),
            false => values.insert(key.to_owned(), value.to_owned()),
        };
        self.write(&values)?;
        Ok(self.path.clone())
    }
}

/// A file that is not there is an empty one.
fn read(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let bytes = match safefile::read_regular(path, FILE_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error.to_string()),
    };
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}
