//! Looking a program up as `execvp` would, so that "not found" is known before anything is started.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file that a name stands for. A name with a slash is a path from `cwd`; others are looked for along `path`.
pub fn find_program(name: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if name.as_bytes().contains(&b'/') {
        return Some(cwd.join(name)).filter(runs);
    }
    if name.is_empty() {
        return None;
    }
    let path = path.map_or_else(OsString::new, OsStr::to_owned);
    std::env::split_paths(&path).map(|dir| cwd.join(dir).join(name)).find(runs)
}
