//! Files that stand beside the database and belong to one session.

use std::io;
use std::path::{Path, PathBuf};

use vocab::SessionId;

/// Exports without a place of their own.
pub(crate) fn exports(home: &Path) -> PathBuf {
    home.join("exports")
}

/// Where tools put output that is too long for a result: a directory for each session.
pub fn spill_dir(home: &Path) -> PathBuf {
    home.join("spill")
}

/// A session's name for files. Sessions with odd ids may share one.
pub(crate) fn stem(session: &SessionId) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    session.as_str().chars().map(safe).collect()
}

/// Whatever of a session is here. Two odd ids that share a name share its files: the first that is deleted takes them.
pub(crate) fn remove(home: &Path, session: &SessionId) -> io::Result<()> {
    let stem = stem(session);
    if stem.is_empty() {
        return Ok(());
    }
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    gone(std::fs::remove_file(exports(home).join(format!("{stem}.md"))))?;
    gone(std::fs::remove_dir_all(spill_dir(home).join(stem)))
}
