//! What can be known of a project before a session works in it: the instructions that lie in it for agents, how its
//! repository stands, and the briefing that a model gets of both. Nothing of the project is run or obeyed to learn that.

mod briefing;
mod instructions;
mod repository;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use briefing::{Briefer, BriefingSettings};
pub use instructions::{BYTES_MAX, InstructionSearch, Instructions, Text, search};
pub use repository::{Repository, repository};

/// What a repository has at its root: a directory, or a file in worktrees and submodules.
const MARK: &str = ".git";

/// The root of the repository that holds `directory`, which is canonical. Whatever belongs to somebody else, lies on another
/// file system, or is the home directory or the root of all is none: there a repository is no project, and its settings may be a stranger's.
pub fn root(directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let owned = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.uid()));
    let here = owned(directory)?;
    for path in directory.ancestors() {
        if path.parent().is_none() || home.is_some_and(|home| home.starts_with(path)) || owned(path) != Some(here) {
            return None;
        }
        if path.join(MARK).symlink_metadata().is_ok() {
            return Some(path.to_owned());
        }
    }
    None
}

/// The repository around a directory, for the user who runs this process.
pub fn enclosing(directory: &Path) -> Option<PathBuf> {
    let home = std::env::home_dir().and_then(|home| std::fs::canonicalize(home).ok());
    root(directory, home.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_repository_around_a_directory_is_its_project_but_never_the_home_directory() {
        let place = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(place.path()).unwrap();
        let deep = top.join("home/src/repo/crates/one");
        std::fs::create_dir_all(&deep).unwrap();
        let home = top.join("home");
        assert_eq!(root(&deep, Some(&home)), None);
        // A home directory under version control is no project of everything in it.
        std::fs::create_dir(home.join(".git")).unwrap();
        std::fs::create_dir(top.join(".git")).unwrap();
        assert_eq!(root(&deep, Some(&home)), None);
        assert_eq!(root(&home, Some(&home)), None);
        assert_eq!(root(&deep, None), Some(home.clone()));
        let repo = top.join("home/src/repo");
        std::fs::write(repo.join(".git"), "gitdir: elsewhere\n").unwrap();
        assert_eq!(root(&deep, Some(&home)), Some(repo.clone()));
        assert_eq!(root(&repo, Some(&home)), Some(repo));
        assert_eq!(root(&top.join("nowhere"), None), None);
    }
}
