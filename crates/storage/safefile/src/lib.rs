//! Files that nobody else may read, and that a crash leaves whole; a lock that ends with its owner. Knows nothing of
//! what is in them.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

mod lock;
mod ours;

pub use lock::Lock;
pub use ours::not_ours;

/// Replaces a small file: whoever reads it sees the old content or the new one, also after a power cut. The file is
/// readable by its owner only, from its first byte on. A link is followed, so that a config file kept elsewhere stays
/// there.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_by_steps(path, bytes, &mut |_| Ok(()))
}

/// The steps of a replacement, each of which may be the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Create,
    WriteHalf,
    WriteRest,
    SyncFile,
    Rename,
    SyncDirectory,
}

/// `before` may stop the work in front of any step.
fn replace_by_steps(path: &Path, bytes: &[u8], before: &mut dyn FnMut(Step) -> io::Result<()>) -> io::Result<()> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    before(Step::Create)?;
    let (mut file, leftover) = temporary(directory, name)?;
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    before(Step::WriteHalf)?;
    file.write_all(half)?;
    before(Step::WriteRest)?;
    file.write_all(rest)?;
    before(Step::SyncFile)?;
    file.sync_all()?;
    before(Step::Rename)?;
    std::fs::rename(&leftover.0, &path)?;
    leftover.keep();
    before(Step::SyncDirectory)?;
    File::open(directory)?.sync_all()
}

/// Removes a temporary file unless it has become the real one.
struct Leftover(PathBuf);

impl Leftover {
    fn keep(self) {
        std::mem::forget(self);
    }
}
impl Drop for Leftover {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Names tried before giving up; a clash needs somebody who guesses 64 random bits.
const NAMES_MAX: usize = 8;

fn temporary(directory: &Path, name: &std::ffi::OsStr) -> io::Result<(File, Leftover)> {
    let mut clash = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAMES_MAX {
        // Keyed by the operating system's randomness, so the name cannot be prepared by somebody else.
        let random = RandomState::new().build_hasher().finish();
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{random:016x}"));
        let path = directory.join(temporary);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((file, Leftover(path))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => clash = error,
            Err(error) => return Err(error),
        }
    }
    Err(clash)
}

/// Makes a directory for its owner only. One that exists is left as it is.
pub fn private_dir(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const STEPS: [Step; 6] =
        [Step::Create, Step::WriteHalf, Step::WriteRest, Step::SyncFile, Step::Rename, Step::SyncDirectory];

    #[test]
    fn a_stop_at_any_step_leaves_the_old_content_or_the_new() {
        for stop in STEPS {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("config.toml");
            replace(&path, b"old content").unwrap();
            let mut seen = Vec::new();
            let result = replace_by_steps(&path, b"something new", &mut |step| {
                // What a crash here would leave behind, looked at before anything is cleaned up.
                let content = std::fs::read(&path).unwrap();
                assert!(content == b"old content" || content == b"something new", "before {step:?}: {content:?}");
                seen.push(step);
                if step == stop { Err(io::Error::other("injected")) } else { Ok(()) }
            });
            assert!(result.is_err());
            assert_eq!(seen.last(), Some(&stop));
            let renamed = stop == Step::SyncDirectory;
            let expected: &[u8] = if renamed { b"something new" } else { b"old content" };
            assert_eq!(std::fs::read(&path).unwrap(), expected, "stopped before {stop:?}");
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "a temporary file stayed: {stop:?}");
            replace(&path, b"and on").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"and on");
        }
    }

    #[test]
    fn the_steps_come_in_the_only_safe_order() {
        let directory = tempfile::tempdir().unwrap();
        let mut seen = Vec::new();
        replace_by_steps(&directory.path().join("f"), b"x", &mut |step| {
            seen.push(step);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, STEPS);
    }

    #[test]
    fn a_private_file_is_private_and_a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        replace(&real, b"1").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        replace(&link, b"2").unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), b"2");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
