//! One advisory lock file per open session: the answer to "does its owner still live?" that no crash can falsify,
//! because the kernel drops the lock with the process.
//!
//! The file is empty and says nothing; who owns a session is written in the database.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use vocab::SessionId;

/// A held lock. Dropping it unlocks and removes the file.
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

/// Tries again this often when the file was removed between opening and locking it; each try needs another process
/// to have come and gone in that instant, so the bound is only there to be one. At it the session counts as busy.
const RACES_MAX: usize = 100;

impl Lock {
    /// `None` while another store holds it, be it in this process or in another one.
    pub(crate) fn take(home: &Path, session: &SessionId) -> io::Result<Option<Lock>> {
        let directory = home.join("locks");
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let path = directory.join(file_name(session.as_str()));
        for _ in 0..RACES_MAX {
            let file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            if has_name(&file, &path)? {
                return Ok(Some(Lock { file, path }));
            }
        }
        Ok(None)
    }
}

/// The last holder may have removed the file after we opened it; then our lock is on a nameless file that no other store
/// will ever meet.
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

/// Removes the lock files that killed processes left behind.
pub(crate) fn sweep(home: &Path) {
    let Ok(names) = std::fs::read_dir(home.join("locks")) else { return };
    for path in names.filter_map(|name| Some(name.ok()?.path())).take(SWEPT_MAX) {
        if path.extension().is_some_and(|it| it == "lock")
            && let Ok(file) = OpenOptions::new().read(true).write(true).open(&path)
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && has_name(&file, &path).is_ok_and(|has| has)
        {
            // As by its owner: the name goes while the lock is held.
            drop(Lock { file, path });
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still held, so that a store that locks the old file sees that its name is gone. A file that stays
        // behind does no harm.
        let _ = std::fs::remove_file(&self.path);
        // Said aloud and not left to `close`: a child between fork and exec shares this lock for a moment.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Longest escaped id that is used as a file name; longer ones are cut and told apart by a hash.
const NAME_BYTES_MAX: usize = 120;

/// A file name for any text. Two ids share a name only if both are long and their hashes meet, and then one of them
/// is merely reported as busy while the other is open.
fn file_name(id: &str) -> String {
    let mut name = String::with_capacity(id.len() + 5);
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.len() > NAME_BYTES_MAX {
        name.truncate(NAME_BYTES_MAX);
        name.push_str(&format!("~{:016x}", fnv64(id.as_bytes())));
    }
    name.push_str(".lock");
    name
}

/// FNV-1a. The standard library's hash may change between versions, and two versions must agree on a name.
fn fnv64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_leaves_the_directory_or_meets_another() {
        let long = "x".repeat(5000);
        let longer = "x".repeat(5001);
        let ids = ["", ".", "..", "../../etc/passwd", "a/b", "a%2fb", "nul\0", "\u{fc}", "plain-ID_7", &long, &longer];
        let names: Vec<String> = ids.iter().map(|id| file_name(id)).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(name.len() < 200 && !name.contains(['/', '\0']), "{name}");
            assert!(!names[..at].contains(name), "{name} twice");
        }
    }

    #[test]
    fn locks_of_the_dead_are_swept_and_those_of_the_living_are_not() {
        let home = tempfile::tempdir().unwrap();
        let held = Lock::take(home.path(), &SessionId::from("alive")).unwrap().unwrap();
        std::fs::write(home.path().join("locks/dead.lock"), "").unwrap();
        sweep(home.path());
        let left: Vec<_> = std::fs::read_dir(home.path().join("locks")).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(left, std::slice::from_ref(&held.path));
        assert!(Lock::take(home.path(), &SessionId::from("alive")).unwrap().is_none());
    }

    #[test]
    fn a_lock_is_held_once_and_ends_with_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let id = SessionId::from("s");
        let first = Lock::take(home.path(), &id).unwrap().unwrap();
        assert!(Lock::take(home.path(), &id).unwrap().is_none());
        assert!(Lock::take(home.path(), &SessionId::from("t")).unwrap().is_some());
        drop(first);
        assert!(Lock::take(home.path(), &id).unwrap().is_some());
    }
}
