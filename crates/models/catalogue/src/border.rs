//! What session files from elsewhere may decide here: a model that the user's own provider serves, a directory within the
//! one that we were started in.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use vocab::{Border, Fault, FaultKind, Mode};

use crate::catalogue::Catalogue;
use crate::suggest::granted;

/// Different notes that one process tells; a file can name any number of models.
const NOTES_MAX: usize = 16;

pub struct FileBorder {
    catalogue: Arc<Catalogue>,
    /// The model that sessions start with.
    own: Arc<str>,
    /// The mode that they start in.
    mode: Mode,
    /// As the file system knows it.
    workspace: PathBuf,
    /// Many work here, each somewhere else: nobody can start it somewhere else for one of them.
    is_shared: bool,
    told: Mutex<HashSet<String>>,
    note: fn(&str),
}

impl FileBorder {
    pub fn new(catalogue: Arc<Catalogue>, own: Arc<str>, workspace: PathBuf, mode: Mode, note: fn(&str)) -> Self {
        let workspace = std::fs::canonicalize(&workspace).unwrap_or(workspace);
        Self { catalogue, own, mode, workspace, is_shared: false, told: Mutex::default(), note }
    }

    /// The same for a process that many share.
    pub fn shared(self) -> Self {
        Self { is_shared: true, ..self }
    }
}

impl Border for FileBorder {
    fn model(&self, slug: &str) -> Result<(), String> {
        let granted = granted(&self.catalogue, &self.own, slug).map(|_| ());
        granted.map_err(|why| format!("{why}; name it with --model if you want it"))
    }

    fn workspace(&self, named: &Path) -> Result<PathBuf, Fault> {
        let here = self.workspace.display();
        let refused = |what: String| {
            let hint = match self.is_shared {
                true => {
                    format!("a gateway takes in files of {here} and below; without --attach it goes on where it works")
                }
                false => format!("start in {} to go on with it, or with --workspace", named.display()),
            };
            Fault::new(FaultKind::Invalid, what).hint(hint)
        };
        let place = std::fs::canonicalize(named)
            .map_err(|error| refused(format!("the session works in {}: {error}", named.display())))?;
        match place.starts_with(&self.workspace) {
            true => Ok(place),
            false => Err(refused(format!("the session works in {}, outside of {here}", place.display()))),
        }
    }

    fn own_model(&self) -> Arc<str> {
        self.own.clone()
    }

    fn own_mode(&self) -> Mode {
        self.mode
    }

    fn here(&self) -> &Path {
        &self.workspace
    }

    fn note(&self, text: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < NOTES_MAX && told.insert(text.to_owned()) {
            (self.note)(text);
        }
    }
}

/// For a file that is only shown: nothing goes on, so it may say what it likes.
pub struct OnlyShown {
    pub own: Arc<str>,
    pub here: PathBuf,
    pub note: fn(&str),
}

impl Border for OnlyShown {
    fn model(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
    fn workspace(&self, named: &Path) -> Result<PathBuf, Fault> {
        Ok(named.to_owned())
    }
    fn own_model(&self) -> Arc<str> {
        self.own.clone()
    }
    fn here(&self) -> &Path {
        &self.here
    }
    fn note(&self, text: &str) {
        (self.note)(text);
    }
}
