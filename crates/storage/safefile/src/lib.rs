//! Files that no other user may read, and that a crash leaves whole; a lock that ends with its owner; reading what
//! somebody else has named. Knows nothing of what is in them.

mod lock;
mod ours;
mod regular;
mod replace;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

pub use lock::Lock;
pub use ours::not_ours;
pub use regular::{open_regular, read_regular, read_regular_text};
pub use replace::{create, replace, replace_keeping};

/// Makes a directory for its owner only. One that exists is left as it is.
pub fn private_dir(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
