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
        // A gateway lets nobody look into it but root: its keys are there.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok(is_listed(&read_to_string("/proc/locks").unwrap_or_default(), pid, lock.ino()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
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

/// Whether the process that calls itself by this number has the lock, as far as we can see. One in a container has another number
/// here; one that we are in a container from is not in our list, and is believed.
pub(crate) fn may_hold(lock: &Path, pid: u32) -> bool {
    if LockHolder::find(lock, pid).is_ok_and(|found| found.is_some()) {
        return true;
    }
    let Ok(inode) = std::fs::metadata(lock).map(|meta| meta.ino()) else { return false };
    let locks = read_to_string("/proc/locks").unwrap_or_default();
    let mut pids = listed(&locks, inode).filter(|holder| holder.parse::<u32>().is_ok_and(|pid| pid > 0)).peekable();
    let status = |holder: &str| read_to_string(Path::new("/proc").join(holder).join("status")).unwrap_or_default();
    pids.peek().is_none() || pids.any(|holder| calls_itself(&status(holder), pid))
}

/// Whether a process has this number in one of the containers that it is in, by what the system says of it.
fn calls_itself(status: &str, pid: u32) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    numbers.split_whitespace().any(|number| number.parse() == Ok(pid))
}

/// The process that has this lock, by the system's list; `None`: it is not in the list as we see it (another container's), or
/// several could be it. To be told to people: who is signalled is held and looked at.
pub(crate) fn pid_of(lock: &Path) -> Option<u32> {
    let inode = std::fs::metadata(lock).ok()?.ino();
    only_one(&read_to_string("/proc/locks").ok()?, inode)
}

fn only_one(locks: &str, inode: u64) -> Option<u32> {
    let mut pids = listed(locks, inode).filter_map(|pid| pid.parse::<u32>().ok().filter(|pid| *pid > 0));
    let first = pids.next()?;
    pids.all(|pid| pid == first).then_some(first)
}

/// Whether the system's list of locks has one of this process on a file of this number.
fn is_listed(locks: &str, pid: Pid, inode: u64) -> bool {
    let pid = pid.to_string();
    listed(locks, inode).any(|holder| holder == pid)
}

/// Who has a lock on a file of this number. The file's device is not compared: the list and the file name it differently where
/// one device has several file systems.
fn listed(locks: &str, inode: u64) -> impl Iterator<Item = &str> {
    locks.lines().filter_map(move |line| {
        let mut words = line.split_whitespace().skip(1);
        // Who waits for a lock has an arrow before its kind.
        let [kind, _, access, holder, file] = std::array::from_fn(|_| words.next().unwrap_or_default());
        let number = file.rsplit(':').next().and_then(|it| it.parse().ok());
        ((kind, access, number) == ("FLOCK", "WRITE", Some(inode))).then_some(holder)
    })
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

    #[test]
    fn a_process_in_a_container_calls_itself_by_another_number() {
        let status = "Name:\ttillerman\nPid:\t4711\nNSpid:\t4711\t1\nThreads:\t1\n";
        assert!(calls_itself(status, 1) && calls_itself(status, 4711));
        assert!(!calls_itself(status, 47) && !calls_itself("", 1));
    }

    #[test]
    fn the_list_of_the_system_knows_who_has_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let us = rustix::process::getpid();
        let listed = |pid| {
            let inode = std::fs::metadata(&path).unwrap().ino();
            is_listed(&read_to_string("/proc/locks").unwrap(), pid, inode)
        };
        let held = Lock::try_take(&path).unwrap().unwrap();
        assert!(listed(us) && !listed(Pid::INIT));
        drop(held);
        assert!(!listed(us));
        let rows = "1: FLOCK  ADVISORY  WRITE 12 fe:00:34 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 13 fe:00:34 0 EOF\n\
                    2: POSIX  ADVISORY  WRITE 14 fe:00:34 0 EOF\n3: FLOCK  ADVISORY  READ 15 fe:00:34 0 EOF\n4:";
        let who: Vec<i32> = (11..17).filter(|pid| is_listed(rows, Pid::from_raw(*pid).unwrap(), 34)).collect();
        assert_eq!(who, [12], "not who waits, nor who has another kind of lock");
        assert!(!is_listed(rows, Pid::from_raw(12).unwrap(), 35));
        assert_eq!((only_one(rows, 34), only_one(rows, 35)), (Some(12), None));
        let second = format!("{rows}\n5: FLOCK  ADVISORY  WRITE 16 fe:01:34 0 EOF");
        assert_eq!(only_one(&second, 34), None, "it may be the one or the other");
        assert_eq!(only_one(&rows.replace(" 12 ", " 0 "), 34), None, "it is in another container");
    }
}
