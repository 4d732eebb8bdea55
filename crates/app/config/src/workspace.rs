//! The directory that a session works in, and what is worth a word about it.

use std::path::{Path, PathBuf};

use vocab::{Fault, FaultKind, Which};

/// The directory that was named, or the one we stand in.
pub fn workspace(asked: Option<&Path>) -> Result<PathBuf, Fault> {
    let asked = asked.unwrap_or(Path::new("."));
    let cannot = |what: String| {
        Fault::new(FaultKind::Invalid, format!("no such workspace: {} ({what})", asked.display()))
            .hint("--workspace takes an existing directory")
    };
    let path = std::fs::canonicalize(asked).map_err(|error| cannot(error.to_string()))?;
    if !path.is_dir() {
        return Err(cannot("not a directory".into()));
    }
    Ok(path)
}

/// A workspace that holds more than work is pointed out: its user may not have meant it.
pub fn too_wide(workspace: &Path, home: Option<&Path>) -> Option<String> {
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    let what = match () {
        () if workspace == Path::new("/") => "the whole file system",
        () if home.is_some_and(|home| home.starts_with(workspace)) => "your home directory",
        () => return None,
    };
    Some(format!(
        "the workspace is {what}: tools may read all of it; start in a project directory, or name one with --workspace"
    ))
}

/// Which session `--resume` means. A bare word that names a file is that file; otherwise as [`Which::parse`] reads it.
pub fn resumed(text: &str, workspace: &Path) -> Which {
    match Which::parse(text) {
        Which::Id(name) if workspace.join(&name).is_file() => Which::Path(name.into()),
        which => which,
    }
}
