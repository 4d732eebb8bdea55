//! The process that holds a home's lock. A number in a file may be anybody's by now, so who is signalled is looked at first, and
//! held meanwhile: a process that ends in between takes its signal with it.

use std::fs::{read_dir, read_to_string};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

pub(crate) struct LockHolder(OwnedFd);

impl LockHolder {
    /// The process of this number, if it holds this lock.
    pub(crate) fn find(lock: &Path, pid: u32) -> io::Result<Option<Self>> {
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
        let held = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) => held,
            Err(rustix::io::Errno::SRCH) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(holds(lock, pid)?.then_some(Self(held)))
    }

    pub(crate) fn ask_to_end(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::TERM)?)
    }
}

/// Whether one of its descriptors is this file and has the lock on it. Whoever only looks has it open, too.
fn holds(lock: &Path, pid: Pid) -> io::Result<bool> {
    let lock = std::fs::metadata(lock)?;
    let process = Path::new("/proc").join(pid.to_string());
    let descriptors = match read_dir(process.join("fd")) {
        Ok(descriptors) => descriptors,
        // It is another user's, or gone: not ours in any case.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    let is_lock = |entry: &std::fs::DirEntry| {
        let open = std::fs::metadata(entry.path());
        open.is_ok_and(|open| (open.dev(), open.ino()) == (lock.dev(), lock.ino()))
    };
    let has_it = |entry: &std::fs::DirEntry| {
        let info = read_to_string(process.join("fdinfo").join(entry.file_name())).unwrap_or_default();
        info.lines().any(|line| line.starts_with("lock:") && line.contains("FLOCK") && line.contains("WRITE"))
    };
    Ok(descriptors.flatten().any(|entry| is_lock(&entry) && has_it(&entry)))
}

#[cfg(test)]
mod tests {
    use safefile::Lock;

    use super::*;

    #[test]
    fn only_who_has_the_lock_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let us = std::process::id();
        let held = Lock::try_take(&path).unwrap().unwrap();
        assert!(LockHolder::find(&path, us).unwrap().is_some());
        assert!(LockHolder::find(&path, std::os::unix::process::parent_id()).unwrap().is_none());
        assert!(LockHolder::find(&path, 0).unwrap().is_none() && LockHolder::find(&path, u32::MAX).unwrap().is_none());
        drop(held);
        let _open = std::fs::File::open(&path).unwrap();
        assert!(LockHolder::find(&path, us).unwrap().is_none(), "who has it open only looks");
    }
}
