//! A checked place, and reading through it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{OFlags, RawMode};
use rustix::io::Errno;

use crate::sys::{self, DirEntry, FileKind};

/// A path that was checked and may be used: a directory handle and a path below it without `..` or symlinks.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    root: Arc<OwnedFd>,
    rel: PathBuf,
    shown: String,
}

/// What stands at a spot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) kind: FileKind,
    pub(crate) bytes: u64,
    pub(crate) mode: RawMode,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Spot {
    pub(super) fn new(root: Arc<OwnedFd>, rel: PathBuf, shown: String) -> Self {
        Self { root, rel, shown }
    }

    /// Relative to the workspace with `/`, absolute when outside.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn file_name(&self) -> Option<&OsStr> {
        self.rel.file_name()
    }

    /// Below the handle; two spots of one workspace are the same file when these are equal.
    pub(crate) fn rel(&self) -> &Path {
        &self.rel
    }

    pub(super) fn is_below(&self, root: &Arc<OwnedFd>) -> bool {
        Arc::ptr_eq(&self.root, root)
    }

    pub(crate) fn child(&self, name: &OsStr) -> Spot {
        let shown = match self.shown.as_str() {
            "." => name.to_string_lossy().into_owned(),
            dir if dir.ends_with('/') => format!("{dir}{}", name.to_string_lossy()),
            dir => format!("{dir}/{}", name.to_string_lossy()),
        };
        Spot { root: self.root.clone(), rel: self.rel.join(name), shown }
    }

    /// The directory above, unless this is the top of what the handle shows.
    pub(crate) fn parent(&self) -> Option<Spot> {
        let rel = self.rel.parent()?.to_owned();
        let shown = match self.shown.rfind('/') {
            Some(0) => "/".to_owned(),
            Some(at) => self.shown[..at].to_owned(),
            None => ".".to_owned(),
        };
        Some(Spot { root: self.root.clone(), rel, shown })
    }

    pub(super) fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        sys::open_beneath(self.root.as_fd(), &self.rel, flags)
    }

    /// A handle of the directory, for whoever is to work in it.
    pub(crate) fn open_dir(&self) -> io::Result<OwnedFd> {
        self.open(sys::HANDLE | OFlags::DIRECTORY)
    }

    pub(crate) fn facts(&self) -> io::Result<Facts> {
        facts_of(&self.open(sys::HANDLE)?)
    }

    /// Opens a regular file. Anything else is looked at but not opened: a pipe would block, a device might act.
    pub(crate) fn open_file(&self) -> io::Result<(File, Facts)> {
        let seen = self.facts()?;
        if seen.kind == FileKind::Dir {
            return Err(Errno::ISDIR.into());
        }
        if seen.kind != FileKind::File {
            return Err(io::Error::other("not a regular file (a device, pipe or socket)"));
        }
        // Not blocking, in case it became a pipe since then.
        let fd = self.open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let facts = facts_of(&fd)?;
        if facts.kind != FileKind::File {
            return Err(io::Error::other("not a regular file any more"));
        }
        Ok((File::from(fd), facts))
    }

    /// The whole file; an error when it is larger than `max`, however large it was when we looked.
    pub(crate) fn read_all(&self, max: u64) -> io::Result<(Vec<u8>, Facts)> {
        let (file, facts) = self.open_file()?;
        let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {max} bytes"));
        if facts.bytes > max {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(facts.bytes).unwrap_or(0));
        file.take(max + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max {
            return Err(too_large());
        }
        Ok((bytes, facts))
    }

    /// Entries of a directory, unsorted; `true` when there are more than `max`.
    pub(crate) fn entries(&self, max: usize) -> io::Result<(Vec<DirEntry>, bool)> {
        let dir = self.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
        sys::entries(&dir, max)
    }

    /// Where the symlink of this name in this directory points, as written there.
    pub(crate) fn link_target(&self, name: &OsStr) -> Option<String> {
        let dir = self.open(sys::HANDLE | OFlags::DIRECTORY).ok()?;
        Some(sys::read_link(dir.as_fd(), name)?.to_string_lossy().into_owned())
    }
}

pub(super) fn facts_of(fd: &OwnedFd) -> io::Result<Facts> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(Facts {
        kind: FileKind::of_mode(stat.st_mode),
        bytes: u64::try_from(stat.st_size).unwrap_or(0),
        mode: stat.st_mode,
        uid: stat.st_uid,
        gid: stat.st_gid,
    })
}

/// An error of the system, told to a model: which path, what is wrong, what to try.
pub(crate) fn explain(path: &str, error: &io::Error) -> String {
    let errno = Errno::from_io_error(error);
    let text = match errno {
        Some(Errno::NOENT) => "no such file or directory".to_owned(),
        Some(Errno::NOTDIR) => "a part of the path is a file, not a directory".to_owned(),
        Some(Errno::ISDIR) => "is a directory".to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => "permission denied by the operating system".to_owned(),
        Some(Errno::NAMETOOLONG) => "a name in the path is too long for the filesystem".to_owned(),
        Some(Errno::NOSPC) => "no space left on the device".to_owned(),
        Some(Errno::ROFS) => "the filesystem is read-only".to_owned(),
        Some(Errno::LOOP | Errno::XDEV) => {
            "the path led elsewhere while it was being opened (a symlink appeared); nothing was touched, try again"
                .to_owned()
        }
        _ => error.to_string(),
    };
    let hint = if errno == Some(Errno::NOENT) && path.starts_with('~') {
        "; ~ is not expanded, write the path out"
    } else {
        ""
    };
    format!("{path}: {text}{hint}")
}

/// Entries looked at for similar names; the rest of a huge directory is not compared.
const SIMILAR_ENTRIES_MAX: usize = 2_000;
/// Similar names told.
const SIMILAR_NAMES_MAX: usize = 3;
/// How alike a name must be, from 0 to 1.
const SIMILAR_CUTOFF: f32 = 0.6;

/// An error at a spot. A missing file comes with similar names from its directory.
pub(crate) fn explain_at(path: &str, spot: &Spot, error: &io::Error) -> String {
    let mut text = explain(path, error);
    if Errno::from_io_error(error) != Some(Errno::NOENT) {
        return text;
    }
    let (Some(dir), Some(name)) = (spot.parent(), spot.file_name()) else { return text };
    match dir.entries(SIMILAR_ENTRIES_MAX) {
        Err(_) => text.push_str(&format!("; the directory {} does not exist either", dir.shown())),
        Ok((entries, _)) => {
            let mut names: Vec<_> = entries.iter().map(|entry| entry.name.to_string_lossy()).collect();
            names.sort();
            let names: Vec<&str> = names.iter().map(|name| &**name).collect();
            let close = similar::get_close_matches(&*name.to_string_lossy(), &names, SIMILAR_NAMES_MAX, SIMILAR_CUTOFF);
            if !close.is_empty() {
                text.push_str(&format!("; similar names in {}: {}", dir.shown(), close.join(", ")));
            }
        }
    }
    text
}
