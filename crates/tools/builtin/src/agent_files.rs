//! The workspace's files for an agent that is not ours, by the rules our own tools keep: nothing outside, no link that
//! leads there, a write replaces the name and not the contents, and our own secrets are nobody's. Nobody is asked here, so
//! what needs more than writing in the workspace is refused with the reason.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use vocab::{Fault, FileRefused, Required, TextFiles};

use crate::workspace::{Access, Guard, ResolvedPath, Spot, Workspace, explain, replace};

pub struct AgentFiles(Workspace);

impl AgentFiles {
    pub fn open(root: &Path, guard: Guard) -> Result<Self, Fault> {
        Workspace::open(root, guard).map(Self)
    }

    fn spot(&self, path: &Path, access: Access) -> Result<Spot, FileRefused> {
        let shown = path.to_string_lossy();
        let place = self.0.place(&shown).map_err(FileRefused::Failed)?;
        match place {
            ResolvedPath::Outside(_) => Err(FileRefused::Outside),
            ResolvedPath::Inside(_) => {
                self.0.spot(&shown, access, Required::WorkspaceWrite).map_err(FileRefused::Failed)
            }
        }
    }
}

impl TextFiles for AgentFiles {
    fn open(&self, path: &Path) -> Result<Box<dyn Read + Send>, FileRefused> {
        let (file, _) = self.spot(path, Access::Read)?.open_file().map_err(|error| refused(path, &error))?;
        Ok(Box::new(file))
    }

    fn write(&self, path: &Path, content: &str) -> Result<(), FileRefused> {
        let spot = self.spot(path, Access::Write)?;
        let _lock = self.0.write_lock();
        let like = spot.facts().ok();
        let staged = replace::stage(&spot, content.as_bytes(), like.as_ref());
        staged.and_then(replace::Staged::place).map_err(|error| refused(path, &error))
    }
}

fn refused(path: &Path, error: &io::Error) -> FileRefused {
    match error.kind() {
        ErrorKind::NotFound => FileRefused::NotFound,
        _ => FileRefused::Failed(explain(&path.to_string_lossy(), error)),
    }
}
