//! Writing by replacing: the new contents go to a temporary file in the same directory, which then takes the name.
//!
//! A crash of this program leaves the old file or the new one, never half of it; a replaced file is synced first, so
//! that a power cut does the same (a brand-new file may be empty then). Permission bits and, where we may, owner and
//! group are kept; access lists and extended attributes are not. A hard link is broken on purpose: its other name
//! may be outside the workspace.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, RawMode, Uid};
use rustix::io::Errno;

use super::access::{Facts, Spot, facts_of};
use crate::sys::{self, FileKind};

/// Names tried for a temporary file; more collisions than this mean somebody plays with us.
const TEMP_TRIES_MAX: usize = 16;
/// Mode of a new file, before the umask.
const NEW_FILE_MODE: RawMode = 0o644;
/// Mode of a new directory, before the umask.
const NEW_DIR_MODE: RawMode = 0o755;
/// The bits that survive a replacement: not set-uid and set-gid, which a changed program must not inherit.
const KEPT_BITS: RawMode = 0o777;

/// New contents, written out but not yet under their name. Dropping it takes them away again.
pub(crate) struct Staged {
    dir: OwnedFd,
    temp: OsString,
    name: OsString,
    replaces: bool,
    placed: bool,
}

/// Writes `bytes` beside the spot. `like` gives the permission bits of a file that is replaced or moved.
pub(crate) fn stage(spot: &Spot, bytes: &[u8], like: Option<&Facts>) -> io::Result<Staged> {
    let name = spot.file_name().ok_or(Errno::ISDIR)?.to_owned();
    let parent = spot.parent().ok_or(Errno::ISDIR)?;
    let dir = make_dirs(&parent)?;
    let replaces = check_replaceable(&dir, &name)?;
    let (temp, fd) = make_temp(&dir, like)?;
    // From here on the guard cleans up.
    let staged = Staged { dir, temp, name, replaces, placed: false };
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    if replaces {
        file.sync_data()?;
    }
    Ok(staged)
}

impl Staged {
    /// Puts the contents under their name.
    pub(crate) fn place(mut self) -> io::Result<()> {
        if self.replaces {
            // Somebody may have made it a directory, a link or a device since; replacing a link is harmless.
            check_replaceable(&self.dir, &self.name)?;
        }
        rustix::fs::renameat(&self.dir, &self.temp, &self.dir, &self.name)?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.placed {
            let _ = rustix::fs::unlinkat(&self.dir, &self.temp, AtFlags::empty());
        }
    }
}

/// Everything that stands before a write by somebody else: the directory, and a name that may be taken.
pub(crate) fn make_ready(spot: &Spot) -> io::Result<()> {
    let name = spot.file_name().ok_or(Errno::ISDIR)?;
    let dir = make_dirs(&spot.parent().ok_or(Errno::ISDIR)?)?;
    check_replaceable(&dir, name).map(drop)
}

/// Takes a file away. Directories are refused.
pub(crate) fn remove(spot: &Spot) -> io::Result<()> {
    let name = spot.file_name().ok_or(Errno::ISDIR)?;
    let dir = spot.parent().ok_or(Errno::ISDIR)?.open(sys::HANDLE | OFlags::DIRECTORY)?;
    Ok(rustix::fs::unlinkat(&dir, name, AtFlags::empty())?)
}

/// Opens a directory below the handle, making what is missing on the way.
fn make_dirs(dir: &Spot) -> io::Result<OwnedFd> {
    let flags = sys::HANDLE | OFlags::DIRECTORY;
    match dir.open(flags) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => {}
        other => return other,
    }
    let above = make_dirs(&dir.parent().ok_or(Errno::NOENT)?)?;
    let name = dir.file_name().ok_or(Errno::NOENT)?;
    match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(NEW_DIR_MODE)) {
        Ok(()) | Err(Errno::EXIST) => sys::open_beneath(above.as_fd(), name.as_ref(), flags),
        Err(error) => Err(error.into()),
    }
}

/// Whether there is a file to replace. A read-only file is refused although its directory would let us: whoever
/// took the write bit away meant it.
fn check_replaceable(dir: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let facts = match sys::open_beneath(dir.as_fd(), name.as_ref(), sys::HANDLE) {
        Ok(fd) => facts_of(&fd)?,
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => return Ok(false),
        Err(error) => return Err(error),
    };
    match facts.kind {
        FileKind::Dir => return Err(Errno::ISDIR.into()),
        FileKind::File => {}
        FileKind::Link | FileKind::Other => return Err(io::Error::other("not a regular file; it is left alone")),
    }
    match rustix::fs::accessat(dir, name, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(Errno::ACCESS) => Err(io::Error::other("the file is read-only; change its mode first if that is wanted")),
        _ => Ok(true),
    }
}

fn make_temp(dir: &OwnedFd, like: Option<&Facts>) -> io::Result<(OsString, OwnedFd)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Private until it has the right owner; a new file gets its mode from the kernel, which knows the umask.
    let mode = if like.is_some() { 0o600 } else { NEW_FILE_MODE };
    for _ in 0..TEMP_TRIES_MAX {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temp = OsString::from(format!(".tillerman-{}-{count}.tmp", std::process::id()));
        let fd = match rustix::fs::openat(dir, &temp, flags, Mode::from_raw_mode(mode)) {
            Err(Errno::EXIST) => continue,
            other => other?,
        };
        if let Some(like) = like {
            // Only root may give a file away; for everybody else the file becomes theirs, as with any editor.
            let _ = rustix::fs::fchown(&fd, Some(Uid::from_raw(like.uid)), Some(Gid::from_raw(like.gid)));
            if let Err(error) = rustix::fs::fchmod(&fd, Mode::from_raw_mode(like.mode & KEPT_BITS)) {
                let _ = rustix::fs::unlinkat(dir, &temp, AtFlags::empty());
                return Err(error.into());
            }
        }
        return Ok((temp, fd));
    }
    Err(io::Error::other("no free name for a temporary file"))
}
