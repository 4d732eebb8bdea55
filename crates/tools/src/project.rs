//! What can be known of a project before anybody works in it: the instructions that lie in it for whoever does, and how its
//! repository stands. Nothing of the project is run or obeyed to learn that.

mod instructions;
mod repository;

use std::path::{Path, PathBuf};

pub use instructions::{BYTES_MAX, Instructions, Search, Text, search};
pub use repository::{Repository, repository};

/// The top of the repository around a directory, as git would find it.
fn top(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|top| top.join(".git").symlink_metadata().is_ok()).map(Path::to_owned)
}
