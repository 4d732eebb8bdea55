//! The few system calls under [`crate::workspace`]: opening below a directory handle, and reading a directory
//! through its handle. Knows nothing of workspaces, permissions or tools.
//!
//! A path given to [`open_beneath`] must already be free of `..` and of symlinks; whatever else stands there at the
//! moment of the call is refused by the kernel, so a check made earlier cannot be raced.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{Dir, FileType, Mode, OFlags};

/// A handle that names a file without opening it.
#[cfg(target_os = "linux")]
pub(crate) const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const HANDLE: OFlags = OFlags::RDONLY;

/// Opens a directory by its ordinary name, once; everything below goes through the handle.
pub(crate) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, HANDLE | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens `rel` below `root`. Fails with `ELOOP` or `EXDEV` when any part of it is a symlink or leads away.
pub(crate) fn open_beneath(root: BorrowedFd<'_>, rel: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    if linux::has_openat2() {
        return linux::open_beneath(root, rel, flags);
    }
    open_step_by_step(root, rel, flags)
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::sync::OnceLock;

    use rustix::fs::{CWD, ResolveFlags, openat2};

    /// Tries when the kernel says that a rename somewhere made it unsure; then the error stands.
    const UNSURE_TRIES_MAX: usize = 8;

    /// Old kernels lack the call, old container filters forbid it.
    pub(super) fn has_openat2() -> bool {
        static ANSWER: OnceLock<bool> = OnceLock::new();
        *ANSWER.get_or_init(|| {
            openat2(CWD, "/", HANDLE | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_MAGICLINKS).is_ok()
        })
    }

    pub(super) fn open_beneath(root: BorrowedFd<'_>, rel: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        let rel = if rel.as_os_str().is_empty() { Path::new(".") } else { rel };
        for _ in 1..UNSURE_TRIES_MAX {
            match openat2(root, rel, flags, Mode::empty(), resolve) {
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                other => return Ok(other?),
            }
        }
        Ok(openat2(root, rel, flags, Mode::empty(), resolve)?)
    }
}

/// The portable way: one directory handle per part, each opened without following. A swapped part is seen when it is
/// opened, and a part that was opened is held, so there is no gap between looking and going.
fn open_step_by_step(root: BorrowedFd<'_>, rel: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut here: Option<OwnedFd> = None;
    let mut parts = rel.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(rustix::io::Errno::XDEV.into());
        };
        let flags = if parts.peek().is_some() { HANDLE | OFlags::DIRECTORY | OFlags::CLOEXEC } else { flags };
        let from = here.as_ref().map_or(root, AsFd::as_fd);
        let next = rustix::fs::openat(from, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
        // With O_PATH the kernel hands out the symlink itself instead of refusing it.
        if FileType::from_raw_mode(rustix::fs::fstat(&next)?.st_mode) == FileType::Symlink {
            return Err(rustix::io::Errno::LOOP.into());
        }
        here = Some(next);
    }
    match here {
        Some(fd) => Ok(fd),
        None => Ok(rustix::fs::openat(root, ".", flags, Mode::empty())?),
    }
}

/// The target of the symlink `name` in `dir`; `None` when it is anything else or not there.
pub(crate) fn read_link(dir: BorrowedFd<'_>, name: &OsStr) -> Option<OsString> {
    let target = rustix::fs::readlinkat(dir, name, Vec::new()).ok()?;
    Some(OsStr::from_bytes(target.as_bytes()).to_owned())
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileKind {
    File,
    Dir,
    Link,
    Other,
}

impl FileKind {
    pub(crate) fn of_mode(mode: rustix::fs::RawMode) -> Self {
        Self::of(FileType::from_raw_mode(mode))
    }
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Dir,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Other,
        }
    }
}

pub(crate) struct DirEntry {
    pub(crate) name: OsString,
    pub(crate) kind: FileKind,
}

/// Reads a directory through its handle, unsorted, without `.` and `..`. Stops after `max` entries and says so.
pub(crate) fn entries(dir: &OwnedFd, max: usize) -> io::Result<(Vec<DirEntry>, bool)> {
    let mut found = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if found.len() == max {
            return Ok((found, true));
        }
        let kind = match entry.file_type() {
            // Some filesystems do not tell.
            FileType::Unknown => rustix::fs::statat(dir, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileKind::Other, |stat| FileKind::of_mode(stat.st_mode)),
            known => FileKind::of(known),
        };
        found.push(DirEntry { name: name.to_owned(), kind });
    }
    Ok((found, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Both ways of opening must agree on every trick; the portable one is what macOS and old kernels get.
    #[test]
    fn both_ways_refuse_the_same_paths() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("root");
        std::fs::create_dir_all(root.join("dir")).unwrap();
        std::fs::write(root.join("dir/file"), "in").unwrap();
        std::fs::write(temp.path().join("out"), "out").unwrap();
        symlink("../out", root.join("link")).unwrap();
        symlink("dir", root.join("dirlink")).unwrap();
        symlink("..", root.join("up")).unwrap();
        let handle = open_root(&root).unwrap();
        for (path, works) in [
            ("dir/file", true),
            ("dir", true),
            ("", true),
            ("link", false),
            ("dirlink/file", false),
            ("up/out", false),
            ("../out", false),
            ("dir/../../out", false),
            ("/etc/passwd", false),
            ("missing", false),
            ("dir/file/x", false),
        ] {
            for flags in [HANDLE, OFlags::RDONLY] {
                let kernel = open_beneath(handle.as_fd(), Path::new(path), flags);
                let steps = open_step_by_step(handle.as_fd(), Path::new(path), flags | OFlags::CLOEXEC);
                assert_eq!(kernel.is_ok(), works, "{path}: {kernel:?}");
                assert_eq!(steps.is_ok(), works, "{path}: {steps:?}");
            }
        }
    }
}
