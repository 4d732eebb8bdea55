//! `.gitignore`, `.ignore` and `.git/info/exclude`, read through handles and judged by ripgrep's rules. They count
//! in every workspace, git repository or not. Files above the workspace are outside it and are not read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::workspace::Spot;

/// A larger ignore file is not read: its patterns would cost more than they save.
const IGNORE_FILE_BYTES_MAX: u64 = 256 * 1024;

/// The rules of one directory and of those above it; the nearest rule that speaks decides.
pub(super) struct Ignores {
    rules: Gitignore,
    above: Option<Rc<Ignores>>,
}

impl Ignores {
    /// The rules of all directories above a start.
    pub(super) fn above(start: &Spot) -> Option<Rc<Ignores>> {
        let mut dirs = Vec::new();
        let mut at = start.parent();
        while let Some(dir) = at {
            at = dir.parent();
            dirs.push(dir);
        }
        dirs.iter().rev().fold(None, |above, dir| Ignores::at(dir, above))
    }

    /// Adds the rules that stand in `dir`.
    pub(super) fn at(dir: &Spot, above: Option<Rc<Ignores>>) -> Option<Rc<Ignores>> {
        let mut builder = GitignoreBuilder::new(pseudo(dir));
        let git = dir.child(OsStr::new(".git"));
        // Later lines win over earlier ones, so the weakest file comes first.
        let files = [
            git.child(OsStr::new("info")).child(OsStr::new("exclude")),
            dir.child(OsStr::new(".gitignore")),
            dir.child(OsStr::new(".ignore")),
        ];
        let mut any = false;
        for file in files {
            let Ok((bytes, _)) = file.read_all(IGNORE_FILE_BYTES_MAX) else { continue };
            for line in String::from_utf8_lossy(&bytes).lines() {
                // A pattern that is none ignores nothing, as in git.
                any |= builder.add_line(None, line).is_ok();
            }
        }
        match any.then(|| builder.build()) {
            Some(Ok(rules)) => Some(Rc::new(Ignores { rules, above })),
            _ => above,
        }
    }

    pub(super) fn covers(&self, spot: &Spot, is_dir: bool) -> bool {
        let path = pseudo(spot);
        let mut at = Some(self);
        while let Some(ignores) = at {
            let verdict = ignores.rules.matched(&path, is_dir);
            if !verdict.is_none() {
                return verdict.is_ignore();
            }
            at = ignores.above.as_deref();
        }
        false
    }
}

/// The matcher wants absolute paths and compares them as text; it never opens them.
fn pseudo(spot: &Spot) -> PathBuf {
    Path::new("/").join(spot.rel())
}
