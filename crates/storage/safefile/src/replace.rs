//! Writing a file whole or not at all: the content goes into a temporary file beside it, is synced, and takes its name.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::private_dir;

/// Replaces a small file: a reader sees the old content or the new one, also after a power cut. The file is
/// readable by its owner only, from its first byte on. A link is followed, so that a config file kept elsewhere stays
/// there.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_by_steps(path, bytes, &mut |_| Ok(()))
}

/// The steps of a replacement, each of which may be the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReplaceStep {
    Create,
    WriteHalf,
    WriteRest,
    SyncFile,
    Rename,
    SyncDirectory,
}

/// `before` may stop the work in front of any step.
fn replace_by_steps(
    path: &Path,
    bytes: &[u8],
    before: &mut dyn FnMut(ReplaceStep) -> io::Result<()>,
) -> io::Result<()> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let leftover = write_beside(&path, bytes, before)?;
    before(ReplaceStep::Rename)?;
    std::fs::rename(&leftover.0, &path)?;
    leftover.keep();
    before(ReplaceStep::SyncDirectory)?;
    sync_directory_of(&path)
}

/// Writes a file that was not there, or was empty, and the directories above it. A reader sees nothing or all of it.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    private_dir(directory_of(path))?;
    let leftover = write_beside(path, bytes, &mut |_| Ok(()))?;
    // A link never replaces what another process has put there meanwhile; an empty file is no loss.
    match std::fs::hard_link(&leftover.0, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && std::fs::metadata(path)?.len() > 0 => {
            return Err(error);
        }
        // It exists and is empty, or this file system has no links.
        Err(_) => {
            std::fs::rename(&leftover.0, path)?;
            leftover.keep();
        }
        Ok(()) => drop(leftover),
    }
    sync_directory_of(path)
}

/// Puts a new content in place of a file, which stays beside it under the name `kept` unless that is taken. A link is
/// replaced, not followed.
pub fn replace_keeping(path: &Path, kept: &Path, bytes: &[u8]) -> io::Result<()> {
    let leftover = write_beside(path, bytes, &mut |_| Ok(()))?;
    if !kept.exists() {
        std::fs::hard_link(path, kept).or_else(|_| std::fs::copy(path, kept).map(|_| ()))?;
    }
    std::fs::rename(&leftover.0, path)?;
    leftover.keep();
    sync_directory_of(path)
}

/// A temporary file beside `path` with this content, on the disk.
fn write_beside(
    path: &Path,
    bytes: &[u8],
    before: &mut dyn FnMut(ReplaceStep) -> io::Result<()>,
) -> io::Result<Leftover> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    before(ReplaceStep::Create)?;
    let (mut file, leftover) = temporary(directory_of(path), name)?;
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    before(ReplaceStep::WriteHalf)?;
    file.write_all(half)?;
    before(ReplaceStep::WriteRest)?;
    file.write_all(rest)?;
    before(ReplaceStep::SyncFile)?;
    file.sync_all()?;
    Ok(leftover)
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn sync_directory_of(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
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

/// Names tried before giving up; a clash needs a process that guesses 64 random bits.
const NAMES_MAX: usize = 8;

fn temporary(directory: &Path, name: &std::ffi::OsStr) -> io::Result<(File, Leftover)> {
    let mut clash = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAMES_MAX {
        // Keyed by the operating system's randomness, so the name cannot be prepared by another process.
        let random = RandomState::new().build_hasher().finish();
        let mut temporary = OsString::from(".");
        temporary.push(name);
        // Behind the name, so that a listing by ending (`.jsonl`) does not see it.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const STEPS: [ReplaceStep; 6] = [
        ReplaceStep::Create,
        ReplaceStep::WriteHalf,
        ReplaceStep::WriteRest,
        ReplaceStep::SyncFile,
        ReplaceStep::Rename,
        ReplaceStep::SyncDirectory,
    ];

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
            let renamed = stop == ReplaceStep::SyncDirectory;
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

    #[test]
    fn a_file_is_made_once_and_leaves_no_temporary() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/session.jsonl");
        create(&path, b"one").unwrap();
        assert_eq!(create(&path, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        std::fs::write(&path, b"").unwrap();
        create(&path, b"three").unwrap();
        let kept = path.with_extension("bak");
        replace_keeping(&path, &kept, b"four").unwrap();
        replace_keeping(&path, &kept, b"five").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&kept).unwrap()), (b"five".into(), b"three".into()));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
