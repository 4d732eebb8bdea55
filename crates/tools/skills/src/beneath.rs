//! Opening what lies below a directory, and nothing else: a link that leads out of it is an error of its own kind.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// A directory that nothing opened through it can leave.
pub(crate) struct Beneath {
    directory: OwnedFd,
    /// For systems that cannot hold the border by themselves.
    path: PathBuf,
}

/// Why something could not be opened.
#[derive(Debug)]
pub(crate) enum Refused {
    NotThere,
    /// It is something else: a file where a directory was meant, or the other way round.
    OtherKind,
    LeadsOut,
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        use rustix::io::Errno;
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOENT) => Refused::NotThere,
            Some(Errno::NOTDIR | Errno::ISDIR) => Refused::OtherKind,
            Some(Errno::XDEV) => Refused::LeadsOut,
            _ => Refused::Io(error),
        }
    }
}

impl Beneath {
    pub(crate) fn open(path: &Path) -> Result<Beneath, Refused> {
        let directory = rustix::fs::open(path, DIRECTORY, Mode::empty()).map_err(io::Error::from)?;
        Ok(Beneath { directory, path: path.to_owned() })
    }

    /// Why the user's own skills are not taken from here: somebody else could have put them there.
    pub(crate) fn not_ours(&self) -> Option<String> {
        let stat = rustix::fs::fstat(&self.directory).ok()?;
        let (owner, mode) = (stat.st_uid, stat.st_mode);
        if owner != 0 && owner != rustix::process::geteuid().as_raw() {
            return Some(format!("belongs to another user (uid {owner}), so nothing is taken from it"));
        }
        (mode & 0o022 != 0)
            .then(|| "can be written by others, so nothing is taken from it; chmod go-w helps".to_owned())
    }

    /// A border further in.
    pub(crate) fn narrow(&self, below: &Path) -> Result<Beneath, Refused> {
        Ok(Beneath { directory: self.directory(below)?, path: self.path.join(below) })
    }

    pub(crate) fn directory(&self, below: &Path) -> Result<OwnedFd, Refused> {
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        self.resolve(below, DIRECTORY)
    }

    /// Never waits: somebody may have put a pipe there.
    pub(crate) fn file(&self, below: &Path) -> Result<OwnedFd, Refused> {
        self.resolve(below, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY)
    }

    #[cfg(target_os = "linux")]
    fn resolve(&self, below: &Path, flags: OFlags) -> Result<OwnedFd, Refused> {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(self.directory.as_fd(), below, flags, Mode::empty(), resolve) {
            // An old kernel, or a sandbox that does not know the call.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => self.resolve_by_name(below, flags),
            opened => Ok(opened.map_err(io::Error::from)?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn resolve(&self, below: &Path, flags: OFlags) -> Result<OwnedFd, Refused> {
        self.resolve_by_name(below, flags)
    }

    /// The weaker way: somebody who swaps a directory for a link between the two steps gets through.
    fn resolve_by_name(&self, below: &Path, flags: OFlags) -> Result<OwnedFd, Refused> {
        let (border, path) = (self.path.canonicalize()?, self.path.join(below).canonicalize()?);
        if !path.starts_with(border) {
            return Err(Refused::LeadsOut);
        }
        Ok(rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(io::Error::from)?)
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn both_ways_follow_links_inside_and_refuse_those_that_lead_out() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        for path in [&inside, &outside] {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("file"), "x").unwrap();
        }
        symlink("file", inside.join("near")).unwrap();
        symlink("../out/file", inside.join("far")).unwrap();
        symlink(outside.join("file"), inside.join("absolute")).unwrap();
        symlink("../out", inside.join("directory")).unwrap();
        let beneath = Beneath::open(&inside).unwrap();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        for open in [Beneath::resolve, Beneath::resolve_by_name] {
            let open = |name: &str| open(&beneath, Path::new(name), flags);
            assert!(open("file").is_ok() && open("near").is_ok());
            for name in ["far", "absolute", "directory/file", "../out/file"] {
                assert!(matches!(open(name), Err(Refused::LeadsOut)), "{name}: {:?}", open(name));
            }
            assert!(matches!(open("none"), Err(Refused::NotThere)));
            assert!(matches!(open("file/below"), Err(Refused::OtherKind)));
        }
    }
}
