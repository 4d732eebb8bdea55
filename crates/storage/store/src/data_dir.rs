//! Files that stand below the data directory, beside the sessions themselves, and belong to one session.

use std::io;
use std::path::{Path, PathBuf};

use vocab::SessionId;

/// Exports without a place of their own.
pub fn exports_dir(home: &Path) -> PathBuf {
    home.join("exports")
}

/// Where tools put output that is too long for a result: a directory for each session.
pub fn spill_dir(home: &Path) -> PathBuf {
    home.join("spill")
}

/// A session's name for files: no two have the same ([`SessionId::file_stem`]).
pub fn file_stem(session: &SessionId) -> String {
    session.file_stem()
}

/// Removes what there is of a session.
pub fn remove_files(home: &Path, session: &SessionId) -> io::Result<()> {
    let stem = file_stem(session);
    if stem.is_empty() {
        return Ok(());
    }
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    gone(std::fs::remove_file(exports_dir(home).join(format!("{stem}.md"))))?;
    gone(std::fs::remove_dir_all(spill_dir(home).join(stem)))
}
