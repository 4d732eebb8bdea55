//! What the disk says to a command line that reads by its text: where its words lead once links are followed, what a
//! pattern could match, and whether git would only read here. Asked when a call is planned, and again when it runs.
//!
//! What this cannot hold: a link or a configuration that changes between this look and the moment at which the
//! started command opens its file. Tools of a session cannot make links; another program that writes in the workspace can.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use vocab::Required;

use crate::sys::FileKind;
use crate::workspace::{Access, ResolvedPath, Workspace};

use super::classify::{ReadOnlyLine, Word};
use super::git_safety::{self, is_absence};

/// Directory entries looked at for the patterns of one word; a pattern that could mean more is not reading.
const PATTERN_ENTRIES_MAX: usize = 4096;

/// Whether the command line, run in this directory of the workspace, stays in the workspace and runs nothing else.
pub(super) fn holds(reading: &ReadOnlyLine, workspace: &Workspace, dir: &Path) -> bool {
    let look = DiskCheck { workspace, dir };
    let words = reading.commands.iter().all(|words| look.command(words));
    let git = reading.commands.iter().any(|words| words.first().is_some_and(|name| name.text == "git"));
    words && (!git || git_safety::is_inert(dir, workspace))
}

struct DiskCheck<'a> {
    workspace: &'a Workspace,
    /// Relative to the workspace, without links.
    dir: &'a Path,
}

impl DiskCheck<'_> {
    fn command(&self, words: &[Word]) -> bool {
        let Some((name, arguments)) = words.split_first() else { return false };
        // Of two directories it compares all files, through links.
        let files_only = name.text == "diff";
        arguments.iter().all(|word| {
            let literal = readings(&word.text).all(|path| self.stays(path, files_only));
            literal && (!word.glob || (!files_only && self.pattern_stays(&word.text)))
        })
    }

    fn stays(&self, path: &str, files_only: bool) -> bool {
        match self.place(self.dir, OsStr::new(path)) {
            Some(place) if files_only => self.is_no_dir(place),
            Some(_) => true,
            None => false,
        }
    }

    /// Where a name in a directory leads, if that may be read as part of the workspace.
    fn place(&self, dir: &Path, name: &OsStr) -> Option<PathBuf> {
        let place = self.workspace.place(dir.join(name).to_str()?).ok()?;
        match (self.workspace.required(&place, Access::Read), place) {
            (Required::ReadOnly, ResolvedPath::Inside(rel)) => Some(rel),
            _ => None,
        }
    }

    /// What cannot be looked at could be one.
    fn is_no_dir(&self, rel: PathBuf) -> bool {
        let spot = self.workspace.spot_at(ResolvedPath::Inside(rel));
        match spot.and_then(|spot| spot.facts()) {
            Ok(facts) => facts.kind != FileKind::Dir,
            Err(error) => is_absence(&error),
        }
    }

    /// Whether nothing that the shell could make of a pattern leads out of the workspace. Patterns are taken to match more
    /// than they do: a name fits when it begins and ends with what stands before and behind the special characters.
    fn pattern_stays(&self, text: &str) -> bool {
        let mut left = PATTERN_ENTRIES_MAX;
        let (start, text) = match Path::new(text).strip_prefix(self.workspace.path()) {
            Ok(rel) => (PathBuf::new(), rel.to_str().unwrap_or_default()),
            Err(_) => (self.dir.to_owned(), text),
        };
        let mut dirs = vec![start];
        for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
            let mut next = Vec::new();
            for dir in &dirs {
                match self.expand(dir, part, &mut left) {
                    Some(found) => next.extend(found),
                    None => return false,
                }
            }
            dirs = next;
        }
        true
    }

    /// What one part of a pattern could stand for in a directory. `None` when something of it leads away, or it is too much.
    fn expand(&self, dir: &Path, part: &str, left: &mut usize) -> Option<Vec<PathBuf>> {
        let Some(first) = part.find(SPECIAL) else {
            return Some(vec![self.place(dir, OsStr::new(part))?]);
        };
        let (before, behind) = (&part[..first], part.rsplit(SPECIAL).next().unwrap_or_default());
        let spot = self.workspace.spot_at(ResolvedPath::Inside(dir.to_owned())).ok()?;
        let (entries, more) = match spot.entries(*left) {
            Ok(found) => found,
            // No directory: no names.
            Err(error) => return is_absence(&error).then(Vec::new),
        };
        *left -= entries.len();
        if more {
            return None;
        }
        let fits = |name: &str| name.starts_with(before) && name.ends_with(behind);
        let fitting = entries.into_iter().filter(|entry| entry.name.to_str().is_none_or(fits));
        fitting
            .map(
                |entry| {
                    if entry.kind == FileKind::Link {
                        self.place(dir, &entry.name)
                    } else {
                        Some(dir.join(&entry.name))
                    }
                },
            )
            .collect()
    }
}

/// Characters that make a pattern, and the one that ends a set of them.
const SPECIAL: [char; 4] = ['*', '?', '[', ']'];

/// Everything in a word that some command could take for a path: the word, what stands behind `=`, `:` or `,` and between
/// them, and what stands behind the letters of short options. Most of it is no path at all, and then leads nowhere.
fn readings(text: &str) -> impl Iterator<Item = &str> {
    const JOINS: [char; 3] = ['=', ':', ','];
    let behind = text.match_indices(JOINS).map(|(at, _)| &text[at + 1..]);
    let between = text.split(JOINS);
    let letters = text.starts_with('-') && !text.starts_with("--");
    let values = text.char_indices().skip(2).filter(move |_| letters).map(|(at, _)| &text[at..]);
    let all = std::iter::once(text).chain(behind).chain(between).chain(values);
    all.filter(move |path| !path.is_empty() && text != "/dev/null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_as_every_path_it_could_be() {
        let all = |text: &'static str| readings(text).collect::<Vec<_>>();
        assert_eq!(all("a/b"), ["a/b", "a/b"]);
        assert!(all("--file=a:b/c").contains(&"a:b/c"));
        assert!(all("--file=a:b/c").contains(&"b/c"));
        assert!(all("-nfa/b").contains(&"a/b"));
        assert!(all("a,b,c").contains(&"b"));
        assert!(all("").is_empty() && all("/dev/null").is_empty());
    }
}
