//! `AGENTS.md` and `CLAUDE.md`: what a user, and what a project, wants of an agent. Those of a project came with the code, and
//! the code may be a stranger's, so only what the user trusts is read; of the rest it is only told that it is there. Files
//! are read through the repository's handle: a link that leads out of it is not followed, and our own secrets stay shut.
//! `@path` in such a file is text like any other: nothing is imported.

use std::io::Read;
use std::path::{Path, PathBuf};

use vocab::Required;

use super::root;
use crate::workspace::{Access, Guard, Workspace};

/// In each directory, in this order.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Bytes of all these files together that a model is given. The nearest ones come first to it; what does not fit is cut, and
/// the model and people are told.
pub const BYTES_MAX: usize = 64 * 1024;

/// Where to look, and what may be read.
pub struct InstructionSearch<'a> {
    /// Where the session works, or the directory within it that matters.
    pub workspace: &'a Path,
    /// See [`Guard`]: what no tool reads is not read here.
    pub guard: Guard,
    /// The directory with the user's own.
    pub own: Option<&'a Path>,
    /// Directories that the user trusts.
    pub trusted: &'a [PathBuf],
    /// The user's home: a repository that holds it holds more than one project.
    pub home: Option<&'a Path>,
}

/// One file, as far as it fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    pub path: PathBuf,
    pub text: String,
    /// Bytes that did not fit.
    pub cut: usize,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Instructions {
    /// The user's own first, then from the top of the repository down to the workspace.
    pub texts: Vec<Text>,
    /// Files that are there and were not looked into, because nobody trusts where they came from.
    pub untrusted: Vec<PathBuf>,
    /// The directory that has to be trusted for that.
    pub to_trust: PathBuf,
    /// Files that could not be read, and why.
    pub refused: Vec<String>,
}

/// Looks at the disk, now. Blocks.
pub fn search(search: &InstructionSearch<'_>) -> Instructions {
    let workspace = real(search.workspace);
    let home = search.home.map(real);
    let root = root(&workspace, home.as_deref()).unwrap_or_else(|| workspace.clone());
    let mut found = Instructions { to_trust: root.clone(), ..Instructions::default() };
    if let Some(dir) = search.own {
        found.texts.extend(NAMES.iter().filter_map(|name| read_own(dir.join(name))));
    }
    if let Ok(handle) = Workspace::open(&root, search.guard.clone()) {
        for dir in levels(&root, &workspace) {
            let trusted = is_trusted(search, &root, &dir);
            for path in NAMES.map(|name| dir.join(name)).into_iter().filter(|path| path.symlink_metadata().is_ok()) {
                match trusted {
                    true => take(&handle, &root, path, &mut found),
                    false => found.untrusted.push(path),
                }
            }
        }
    }
    found.texts = fitted(found.texts);
    found
}

fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// From the top down to where the session works.
fn levels(root: &Path, workspace: &Path) -> Vec<PathBuf> {
    let mut levels: Vec<PathBuf> =
        workspace.ancestors().take_while(|dir| dir.starts_with(root)).map(Path::to_owned).collect();
    levels.reverse();
    levels
}

/// Who trusts the top of a repository trusts what came with it.
fn is_trusted(search: &InstructionSearch<'_>, root: &Path, dir: &Path) -> bool {
    let named =
        |dir: &Path| search.trusted.iter().any(|path| std::fs::canonicalize(path).is_ok_and(|path| path == dir));
    named(dir) || named(root)
}

/// The user's own may be a link to wherever the user keeps such things.
fn read_own(path: PathBuf) -> Option<Text> {
    let file = safefile::open_regular(&path).ok()?;
    whole(path, file)
}

fn take(handle: &Workspace, root: &Path, path: PathBuf, found: &mut Instructions) {
    let shown = path.display().to_string();
    let Some(below) = path.strip_prefix(root).ok().and_then(Path::to_str) else {
        return found.refused.push(format!("{shown}: its path is no text"));
    };
    let spot = handle.spot(below, Access::Read, Required::ReadOnly);
    match spot.and_then(|spot| spot.open_file().map_err(|error| error.to_string())) {
        Ok((file, _)) => found.texts.extend(whole(path, file)),
        Err(_) if leads_out(root, &path) => {
            found.refused.push(format!("{shown}: it is a link that leads out of {}", root.display()));
        }
        Err(why) => found.refused.push(format!("{shown}: {why}")),
    }
}

fn leads_out(root: &Path, path: &Path) -> bool {
    std::fs::canonicalize(path).is_ok_and(|real| !real.starts_with(root))
}

/// As much of a file as anybody could be given, unless it says nothing.
fn whole(path: PathBuf, file: std::fs::File) -> Option<Text> {
    let length = usize::try_from(file.metadata().ok()?.len()).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    file.take(BYTES_MAX as u64).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then(|| Text { path, text, cut: length.saturating_sub(bytes.len()) })
}

/// Each text once, and as much of them as fits: the nearest are served first.
fn fitted(texts: Vec<Text>) -> Vec<Text> {
    let mut once: Vec<Text> = Vec::new();
    for text in texts {
        // A link to the other name, or a copy of it.
        if !once.iter().any(|known| known.text == text.text) {
            once.push(text);
        }
    }
    let mut room = BYTES_MAX;
    for Text { text, cut, .. } in once.iter_mut().rev() {
        let fits = text.floor_char_boundary(room.min(text.len()));
        *cut += text.len() - fits;
        text.truncate(fits);
        room -= fits;
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, text: String) -> Text {
        Text { path: path.into(), text, cut: 0 }
    }

    #[test]
    fn what_does_not_fit_is_cut_from_the_farthest() {
        let near = text("near", "n".repeat(BYTES_MAX - 3));
        let far = text("far", "ää".to_owned());
        let shown = fitted(vec![far, near.clone()]);
        assert_eq!(shown[1], near);
        assert_eq!((&*shown[0].text, shown[0].cut), ("ä", 2), "not in the middle of a letter");
    }

    #[test]
    fn the_same_words_are_said_once() {
        let twice = vec![text("AGENTS.md", "x".into()), text("CLAUDE.md", "x".into()), text("b/AGENTS.md", "y".into())];
        let paths: Vec<PathBuf> = fitted(twice).into_iter().map(|text| text.path).collect();
        assert_eq!(paths, [PathBuf::from("AGENTS.md"), "b/AGENTS.md".into()]);
    }
}
