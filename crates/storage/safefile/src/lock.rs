//! An advisory lock on a file of its own. The kernel drops it with its owner, so no crash leaves it held.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A held lock. Dropping it unlocks; the empty file stays, because removing it would let two owners hold two files of
/// the same name.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// `None` while another holder has it, be it in this process or in another one.
    pub fn try_take(path: &Path) -> io::Result<Option<Lock>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether somebody holds it. Any number may look at once and none takes another for the holder; who wants to take it in
    /// that moment has to try again. Makes no file.
    pub fn is_held(path: &Path) -> io::Result<bool> {
        let file = match OpenOptions::new().read(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                drop(Lock(file));
                Ok(false)
            }
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Said aloud and not left to `close`: a child between fork and exec shares this lock for a moment.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_ends_with_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let first = Lock::try_take(&path).unwrap().unwrap();
        assert!(Lock::try_take(&path).unwrap().is_none());
        drop(first);
        assert!(Lock::try_take(&path).unwrap().is_some());
    }

    #[test]
    fn those_who_look_do_not_see_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        assert!(!Lock::is_held(&path).unwrap() && !path.exists());
        drop(Lock::try_take(&path).unwrap());
        let looks = || (0..2_000).filter(|_| Lock::is_held(&path).unwrap()).count();
        let seen: usize = std::thread::scope(|scope| {
            let lookers: Vec<_> = (0..8).map(|_| scope.spawn(looks)).collect();
            lookers.into_iter().map(|it| it.join().unwrap()).sum()
        });
        assert_eq!(seen, 0);
        let held = Lock::try_take(&path).unwrap().unwrap();
        assert!(Lock::is_held(&path).unwrap());
        drop(held);
    }
}
