//! Walks a directory tree through handles, in the order of the full paths. Says of every entry whether it is hidden or
//! ignored; the caller decides what that means. Never follows a symlink.
//!
//! ripgrep's own walker goes by path names, so a directory swapped for a symlink at the right moment would lead it
//! out of the workspace. This one opens every directory below the handle, and borrows the rules for ignoring.

mod ignores;

use std::cmp::Ordering;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

use crate::blocking::Cancel;
use crate::sys::{DirEntry, FileKind};
use crate::workspace::Spot;
use ignores::Ignores;

/// Entries seen in one walk; the walk stops there and the report says so.
const ENTRIES_MAX: usize = 1_000_000;
/// Entries of one directory, which are sorted in memory; the rest of it is left out and the report says so.
const DIR_ENTRIES_MAX: usize = 100_000;
/// Directories below each other; deeper ones are left out and the report says so.
const DEPTH_MAX: usize = 128;

pub(crate) struct WalkEntry {
    pub(crate) spot: Spot,
    pub(crate) kind: FileKind,
    /// 1 for what is in the start directory.
    pub(crate) depth: usize,
    pub(crate) hidden: bool,
    pub(crate) ignored: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WalkStep {
    /// Into it, when it is a directory.
    On,
    /// Not into it.
    Skip,
    Stop,
}

#[derive(Default)]
pub(crate) struct Report {
    /// A bound was reached and something was left out.
    pub(crate) incomplete: bool,
    /// Directories that could not be opened.
    pub(crate) unreadable: usize,
}

struct Level {
    dir: Spot,
    ignores: Option<Rc<Ignores>>,
    /// Reversed, so that the next one is popped.
    entries: Vec<DirEntry>,
}

/// Fails only when the start cannot be read.
pub(crate) fn walk(
    start: &Spot,
    cancel: &Cancel,
    each: &mut dyn FnMut(&WalkEntry) -> WalkStep,
) -> std::io::Result<Report> {
    let mut report = Report::default();
    let mut stack = vec![level(start.clone(), Ignores::above(start), &mut report)?];
    let mut seen = 0;
    while let Some(top) = stack.last_mut() {
        let Some(entry) = top.entries.pop() else {
            stack.pop();
            continue;
        };
        seen += 1;
        report.incomplete |= seen > ENTRIES_MAX;
        if cancel.is_set() || seen > ENTRIES_MAX {
            break;
        }
        let spot = top.dir.child(&entry.name);
        let is_dir = entry.kind == FileKind::Dir;
        let ignored = top.ignores.as_ref().is_some_and(|ignores| ignores.covers(&spot, is_dir));
        let ignores = top.ignores.clone();
        let hidden = entry.name.as_bytes().starts_with(b".");
        let found = WalkEntry { spot, kind: entry.kind, depth: stack.len(), hidden, ignored };
        match each(&found) {
            WalkStep::Stop => break,
            WalkStep::On if is_dir && stack.len() >= DEPTH_MAX => report.incomplete = true,
            WalkStep::On if is_dir => match level(found.spot, ignores, &mut report) {
                Ok(level) => stack.push(level),
                Err(_) => report.unreadable += 1,
            },
            WalkStep::On | WalkStep::Skip => {}
        }
    }
    Ok(report)
}

fn level(dir: Spot, ignores: Option<Rc<Ignores>>, report: &mut Report) -> std::io::Result<Level> {
    let (mut entries, more) = dir.entries(DIR_ENTRIES_MAX)?;
    report.incomplete |= more;
    entries.sort_unstable_by(|one, two| by_path(two, one));
    let ignores = Ignores::at(&dir, ignores);
    Ok(Level { dir, ignores, entries })
}

/// Compares as the paths below would compare: `a.py` before `a/x`, `a/x` before `ab`.
fn by_path(one: &DirEntry, two: &DirEntry) -> Ordering {
    fn key(entry: &DirEntry) -> impl Iterator<Item = u8> + '_ {
        let slash = (entry.kind == FileKind::Dir).then_some(b'/');
        entry.name.as_bytes().iter().copied().chain(slash)
    }
    key(one).cmp(key(two))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Guard, ResolvedPath, Workspace};

    fn paths(cancel: &Cancel) -> Vec<String> {
        let temp = tempfile::tempdir().unwrap();
        for path in ["ab/x", "a/x", "a.py/y", "a-b", "a/b/c"] {
            std::fs::create_dir_all(temp.path().join(path)).unwrap();
        }
        let workspace = Workspace::open(temp.path(), Guard::default()).unwrap();
        let start = workspace.spot_at(ResolvedPath::Inside("".into())).unwrap();
        let mut paths = Vec::new();
        walk(&start, cancel, &mut |found| {
            paths.push(format!("{}/", found.spot.shown()));
            WalkStep::On
        })
        .unwrap();
        paths
    }

    #[test]
    fn the_order_is_the_order_of_the_full_paths() {
        let walked = paths(&Cancel::default());
        let mut sorted = walked.clone();
        sorted.sort();
        assert_eq!(walked.len(), 9);
        assert_eq!(walked, sorted);
    }

    #[test]
    fn a_cancelled_walk_sees_nothing() {
        assert!(paths(&Cancel::cancelled()).is_empty());
    }
}
