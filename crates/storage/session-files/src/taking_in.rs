//! Session files for a process that keeps its sessions in the store alone: they are taken in when somebody names one, and
//! neither made nor written.

use std::path::{Path, PathBuf};

use vocab::{Archive, Exported, Fault, FaultKind, Later, Principal, SessionId};

use crate::archive::{FoundFile, look};
use crate::shared::SharedMirrors;
use crate::store::{MirrorSetup, Mirrored};

/// An [`Archive`] around another. A session that is taken in goes on in the store; its file stays as it is, and follows when
/// the session is opened by it where files do ([`Mirrored`]).
pub struct FileIntake(Mirrored);

impl FileIntake {
    pub fn new(setup: MirrorSetup) -> Self {
        Self(Mirrored::new(setup))
    }
}

impl Archive for FileIntake {
    fn export(&self, session: &SessionId, file: Option<&Path>) -> Later<'static, Result<Exported, Fault>> {
        self.0.shared.setup.archive.export(session, file)
    }

    fn import_for(&self, file: &Path, by: Option<Principal>) -> Later<'static, Result<SessionId, Fault>> {
        let (shared, file) = (self.0.shared.clone(), file.to_owned());
        Box::pin(async move {
            let looked = tokio::task::spawn_blocking(move || look(file)).await;
            let (file, what) = looked.map_err(|_| Fault::new(FaultKind::Internal, "the reader failed"))?;
            match what {
                FoundFile::NewIn => {
                    let message = format!("{} has no session file, and none is made here", file.display());
                    Err(Fault::new(FaultKind::NotFound, message)
                        .hint("sessions are kept in the store, under their ids"))
                }
                FoundFile::Nothing => shared.kept_under(&file, by).await,
                FoundFile::Ours => shared.setup.archive.import_for(&file, by).await,
                FoundFile::Session => shared.open(file, by).await,
            }
        })
    }

    fn path_of(&self, session: &SessionId) -> PathBuf {
        self.0.shared.setup.archive.path_of(session)
    }
}

impl SharedMirrors {
    /// The session that the store has, whose file is not there (any more).
    async fn kept_under(&self, file: &Path, by: Option<Principal>) -> Result<SessionId, Fault> {
        let refused = match self.setup.archive.import_for(file, by).await {
            Ok(session) => return Ok(session),
            Err(fault) => fault,
        };
        self.named_by(file).await?.ok_or(refused)
    }
}
