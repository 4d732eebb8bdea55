//! Which directories can hold skills.

use std::path::{Path, PathBuf};

use crate::{Origin, Places};

/// Directories between the root of a repository and the one we are in that are looked at, counted from the inner one; a
/// deeper nesting loses its outermost.
const LEVELS_MAX: usize = 64;
const AGENTS: &str = ".agents/skills";

/// One place to look, and how far a link in it may lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Root {
    /// Trusted as it is.
    pub(crate) anchor: PathBuf,
    /// From the anchor to the skills; a link on this way must stay below the anchor. Empty: the anchor itself.
    pub(crate) below: PathBuf,
    /// The user's own. It is listed even when it is not there.
    pub(crate) own: bool,
}

impl Root {
    pub(crate) fn path(&self) -> PathBuf {
        if self.below.as_os_str().is_empty() { self.anchor.clone() } else { self.anchor.join(&self.below) }
    }

    /// Whose skills lie here. Names are compared as the file system knows them, so that a link cannot stand in.
    pub(crate) fn origin(&self, trusted: &[PathBuf]) -> Origin {
        if self.own {
            return Origin::Own;
        }
        let place = self.path();
        let level = place.ancestors().nth(Path::new(AGENTS).components().count());
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        match level.and_then(real).is_some_and(|level| trusted.iter().any(|it| real(it).as_ref() == Some(&level))) {
            true => Origin::Trusted,
            false => Origin::Stranger,
        }
    }
}

/// The most important first: the user's own, which nobody else replaces, then the repository, from its root down to
/// where we are.
pub(crate) fn roots(places: &Places) -> Vec<Root> {
    let repository = repository(&places.cwd).unwrap_or(&places.cwd);
    let levels = places.cwd.ancestors().take_while(|level| level.starts_with(repository)).take(LEVELS_MAX);
    let mut came_along: Vec<Root> = levels
        .map(|level| {
            // Somebody else may have written the repository: its skills are what lies in it, wherever links lead.
            let way = level.strip_prefix(repository).unwrap_or(Path::new(""));
            Root { anchor: repository.to_owned(), below: way.join(AGENTS), own: false }
        })
        .collect();
    came_along.reverse();
    let own = |anchor: PathBuf| Root { anchor, below: PathBuf::new(), own: true };
    let data = places.data_dir.iter().map(|data| own(data.join("skills")));
    let home = places.home.iter().map(|home| own(home.join(AGENTS)));
    data.chain(home).chain(came_along).collect()
}

/// Whether any of the places is there at all: a few looks at the disk, and nothing is read. Where none is, [`crate::scan`]
/// would find nothing.
pub fn is_any(places: &Places) -> bool {
    roots(places).iter().any(|root| root.path().symlink_metadata().is_ok())
}

/// The nearest directory upward that is a repository. `.git` may be a file: that is how worktrees look.
fn repository(cwd: &Path) -> Option<&Path> {
    cwd.ancestors().find(|level| level.join(".git").symlink_metadata().is_ok())
}
