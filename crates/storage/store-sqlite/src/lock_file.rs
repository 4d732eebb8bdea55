//! One advisory lock file per owner: the answer to "does it still live?" that no crash can falsify, because the kernel drops
//! the lock with the process. However many sessions an owner has, it is one descriptor.
//!
//! The file is empty and says nothing; who owns a session is written in the database. The owner has it exclusively.
//! Whoever asks takes it shared and for an instant, so that two who ask at once do not take each other for the owner.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use vocab::{FnvSum, SessionId};

use super::database::FILE_NAME;

/// A held lock. Dropping it unlocks and removes the file.
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

/// Tries again this often when somebody looked at the new file, or swept it away, before it was locked; the bound is only
/// there to be one.
const RACES_MAX: usize = 100;

/// What a lock says of the owner whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockState {
    Held,
    /// Nobody has it, or it is not there.
    Free,
    /// This file system has no locks.
    Unknown,
}

/// Where the locks of a database are: beside the file itself, also where its name is a link, so that all who use it meet there,
/// whatever they call it.
pub(crate) fn directory(database: &Path) -> PathBuf {
    let database = database.canonicalize().unwrap_or_else(|_| database.to_owned());
    match database.file_name() {
        // Another one in that directory has locks of its own.
        Some(name) if name != FILE_NAME => {
            let mut name = name.to_owned();
            name.push(".locks");
            database.with_file_name(name)
        }
        _ => database.with_file_name("locks"),
    }
}

/// No session's name has this beginning ([`session_file_name`]).
fn owner_file_name(owner: i64) -> String {
    format!("@{owner:016x}.lock")
}

impl Lock {
    /// For an owner that is new. `None` where the file system has no locks.
    pub(crate) fn make(locks: &Path, owner: i64) -> io::Result<Option<Lock>> {
        DirBuilder::new().recursive(true).mode(0o700).create(locks)?;
        let path = locks.join(owner_file_name(owner));
        for _ in 0..RACES_MAX {
            // Never one that is there, and never one behind a link: this name is nobody else's.
            let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if has_name(&file, &path)? => return Ok(Some(Lock { file, path })),
                Ok(()) => {}
                // The file stays: whoever looks at it cannot lock it either, and asks for the time to live instead.
                Err(error) if is_unsupported(error) => return Ok(None),
                Err(error) => {
                    std::fs::remove_file(&path).or_else(|error| match error.kind() {
                        io::ErrorKind::NotFound => Ok(()),
                        _ => Err(error),
                    })?;
                    match error {
                        Errno::WOULDBLOCK => {}
                        error => return Err(error.into()),
                    }
                }
            }
        }
        Err(io::Error::other("a new lock is taken by others again and again"))
    }
}

/// Whether the owner has its lock.
pub(crate) fn look(locks: &Path, owner: i64) -> io::Result<LockState> {
    look_at(&locks.join(owner_file_name(owner)))
}

/// Whether a version that locked each session by itself has this one. It did so in the home, whatever the database's name led to.
pub(crate) fn look_for_older(home: &Path, session: &SessionId) -> io::Result<LockState> {
    look_at(&home.join("locks").join(session_file_name(session.as_str())))
}

fn look_at(path: &Path) -> io::Result<LockState> {
    match open(path) {
        Ok(file) => shared(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(LockState::Free),
        Err(error) => Err(error),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let no_links = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(no_links).open(path)
}

/// Free: nobody has it exclusively while `file` is open.
fn shared(file: &File) -> io::Result<LockState> {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(LockState::Free),
        Err(Errno::WOULDBLOCK) => Ok(LockState::Held),
        Err(error) if is_unsupported(error) => Ok(LockState::Unknown),
        Err(error) => Err(error.into()),
    }
}

fn is_unsupported(error: Errno) -> bool {
    [Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS, Errno::NOLCK].contains(&error)
}

/// A sweep may have removed the file before it was locked; then our lock is on a nameless file that nobody will ever
/// meet.
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(named) => Ok(named.ino() == ours.ino() && named.dev() == ours.dev()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Lock files looked at by one sweep; the rest is for the next one.
const SWEPT_MAX: usize = 4096;

/// Removes the lock files that killed processes left behind. `is_left`: whether one that looks free belongs to nobody who lives,
/// by its owner and by how long ago it was made; from here a lock of another machine may look free.
pub(crate) fn sweep(locks: &Path, is_left: impl Fn(Option<i64>, Duration) -> bool) {
    let Ok(names) = std::fs::read_dir(locks) else { return };
    for path in names.filter_map(|name| Some(name.ok()?.path())).take(SWEPT_MAX) {
        if path.extension().is_some_and(|it| it == "lock") && is_left(owner_of(&path), age(&path)) {
            remove_free(&path);
        }
    }
}

/// `None`: it is that of a session, from an older version.
fn owner_of(path: &Path) -> Option<i64> {
    let name = path.file_stem()?.to_str()?;
    i64::from_str_radix(name.strip_prefix('@')?, 16).ok()
}

fn age(path: &Path) -> Duration {
    let made = std::fs::symlink_metadata(path).and_then(|it| it.modified());
    made.ok().and_then(|made| SystemTime::now().duration_since(made).ok()).unwrap_or_default()
}

/// Removes what is left of a dead owner's.
pub(crate) fn remove(locks: &Path, owner: i64) {
    remove_free(&locks.join(owner_file_name(owner)));
}

fn remove_free(path: &Path) {
    if let Ok(file) = open(path)
        && shared(&file).is_ok_and(|state| state == LockState::Free)
        && has_name(&file, path).is_ok_and(|has| has)
    {
        // While it is locked: one that is just being made notices that its name is gone.
        let _ = std::fs::remove_file(path);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays behind does no harm.
        let _ = std::fs::remove_file(&self.path);
        // Said aloud and not left to `close`: a child between fork and exec shares this lock for a moment.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Longest escaped id that is used as a file name; longer ones are cut and told apart by a hash.
const NAME_BYTES_MAX: usize = 120;

/// The lock file of one session, by which versions up to schema 6 kept it. Two ids share a name only if both are long and
/// their hashes meet.
fn session_file_name(id: &str) -> String {
    let mut name = String::with_capacity(id.len() + 5);
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.len() > NAME_BYTES_MAX {
        name.truncate(NAME_BYTES_MAX);
        name.push_str(&format!("~{:016x}", FnvSum::of(id.as_bytes())));
    }
    name.push_str(".lock");
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_leaves_the_directory_or_meets_another() {
        let long = "x".repeat(5000);
        let longer = "x".repeat(5001);
        let owner = owner_file_name(7);
        let ids = ["", ".", "..", "../../etc/passwd", "a/b", "a%2fb", "nul\0", "\u{fc}", "plain-ID_7", &long, &longer];
        let ids = [&ids[..], &[owner.trim_end_matches(".lock")]].concat();
        let names: Vec<String> = ids.iter().map(|id| session_file_name(id)).chain([owner.clone()]).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(name.len() < 200 && !name.contains(['/', '\0']), "{name}");
            assert!(!names[..at].contains(name), "{name} twice");
        }
    }

    #[test]
    fn locks_of_the_dead_are_swept_and_those_of_the_living_are_not() {
        let home = tempfile::tempdir().unwrap();
        let held = Lock::make(home.path(), 1).unwrap().unwrap();
        for dead in ["dead.lock", "@00000000000000ff.lock", "@00000000000000fe.lock"] {
            std::fs::write(home.path().join(dead), "").unwrap();
        }
        let left = || {
            let names =
                std::fs::read_dir(home.path()).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        sweep(home.path(), |owner, age| owner != Some(0xfe) && age < Duration::from_secs(60));
        assert_eq!(left(), [owner_file_name(1), owner_file_name(0xfe)], "one of another machine looks free");
        sweep(home.path(), |_, _| true);
        assert_eq!(left(), [owner_file_name(1)]);
        assert!(held.path.exists());
        assert_eq!(look(home.path(), 1).unwrap(), LockState::Held);
    }

    #[test]
    fn a_lock_is_held_once_and_ends_with_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let state = |owner| look(home.path(), owner).unwrap();
        assert_eq!(state(1), LockState::Free);
        let first = Lock::make(home.path(), 1).unwrap().unwrap();
        assert_eq!((state(1), state(2)), (LockState::Held, LockState::Free));
        assert!(Lock::make(home.path(), 1).is_err(), "its name is its owner's alone");
        drop(first);
        assert_eq!(state(1), LockState::Free);
    }

    #[test]
    fn a_link_is_neither_made_into_a_lock_nor_believed() {
        let home = tempfile::tempdir().unwrap();
        let elsewhere = home.path().join("elsewhere");
        std::fs::write(&elsewhere, "x").unwrap();
        std::os::unix::fs::symlink(&elsewhere, home.path().join(owner_file_name(1))).unwrap();
        assert!(Lock::make(home.path(), 1).is_err());
        assert!(look(home.path(), 1).is_err());
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"x");
    }

    #[test]
    fn two_who_ask_at_once_do_not_take_each_other_for_the_owner() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(owner_file_name(1));
        std::fs::write(&path, "").unwrap();
        let other = open(&path).unwrap();
        assert_eq!((shared(&other).unwrap(), look(home.path(), 1).unwrap()), (LockState::Free, LockState::Free));
    }
}
