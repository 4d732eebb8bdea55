//! `--export FILE`: a page from a session file.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use catalogue::Wanted;
use vocab::{Fault, FaultKind};

use crate::compose::{self, SessionFiles};

/// Larger files are no sessions, in whichever of both formats.
const COPY_BYTES_MAX: u64 = 1 << 30;

/// A page beside us from a session file; nothing of it stays in the store. The file itself is only read: opening one for
/// good may mend it.
pub(super) async fn export(mut setup: compose::Setup, file: &Path) -> Result<u8, Fault> {
    let base = file.file_name().unwrap_or_default();
    let page = PathBuf::from(format!("tillerman-session-{}.html", Path::new(base).with_extension("").display()));
    let scratch = scratch(file)?;
    let copy = scratch.0.join(base);
    safefile::copy_regular(file, &copy, COPY_BYTES_MAX).map_err(|error| cannot_export(file, &error))?;
    setup.settings.ephemeral = true;
    setup.session_files = Some(SessionFiles { dir: scratch.0.clone(), fixed: true, only_shown: true });
    setup.models.wanted = Wanted { model: Some("tour".to_owned()), ..Wanted::default() };
    let wired = compose::build(setup).await?;
    let session = wired.ports.archive.import(&copy).await?;
    let page = std::path::absolute(&page).unwrap_or(page);
    let exported = wired.ports.archive.export(&session, Some(&page)).await?;
    super::say(&format!("Exported to: {}\n", exported.path.display()))
}

fn cannot_export(file: &Path, error: &std::io::Error) -> Fault {
    Fault::new(FaultKind::Invalid, format!("cannot export {}: {error}", file.display()))
}

/// A directory of our own, gone when it is dropped.
struct ScratchDir(PathBuf);

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // What cannot be removed is the system's to sweep.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn scratch(file: &Path) -> Result<ScratchDir, Fault> {
    let dir = std::env::temp_dir().join(format!("tillerman-{}", compose::identity::new_uuid().simple()));
    let made = std::fs::DirBuilder::new().mode(0o700).create(&dir);
    made.map(|()| ScratchDir(dir)).map_err(|error| cannot_export(file, &error))
}
