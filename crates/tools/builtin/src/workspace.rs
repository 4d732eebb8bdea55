//! The directory a session works in, held by a handle that is opened once. Decides which paths are inside, which are
//! protected, and hands out [`Spot`]s: the only way the tools touch a file. Knows nothing of tools or their arguments.
//!
//! A path is first resolved here, part by part and through the handle, into one that has no `..` and no symlink;
//! then it is opened with a call that accepts neither. Whoever swaps a directory for a symlink between the two gets
//! an error, never another file, and a protected file cannot be reached under another name.
//!
//! Hard links cannot be told from ordinary names: a file inside whose second name is outside reads as a file inside.
//! Writing never reaches the second name, because every write replaces the name and not the contents ([`replace`]).

mod access;
mod git;
mod protect;
pub(crate) mod replace;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::OFlags;
use tokio::sync::{Mutex, MutexGuard, OwnedMutexGuard};
use vocab::{Fault, FaultKind, Required};

pub(crate) use access::{Facts, Spot, explain, explain_at};
use protect::Protected;

use crate::sys;

/// Longer paths are refused before any system call; no filesystem we know takes them.
pub const PATH_BYTES_MAX: usize = 4096;
/// Told of a path to our own keys and conversations.
const SECRET: &str =
    "tillerman keeps its own keys or conversations there; no tool reads or changes it, whatever is granted";
/// Symlinks followed for one path; beyond it the path is refused, as the kernel does.
const LINKS_MAX: usize = 40;

/// Where a path leads once every symlink is followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResolvedPath {
    /// Relative to the workspace, normalised; empty for the workspace itself.
    Inside(PathBuf),
    /// Absolute.
    Outside(PathBuf),
}

impl ResolvedPath {
    /// For people and for the log: relative with `/` when inside, absolute when outside.
    pub fn shown(&self) -> String {
        match self {
            ResolvedPath::Inside(rel) if rel.as_os_str().is_empty() => ".".to_owned(),
            ResolvedPath::Inside(path) | ResolvedPath::Outside(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// What a call wants to do at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
}

/// What a workspace is opened with.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// The user's home; its shell start-up files are protected when it lies in the workspace.
    pub home: Option<PathBuf>,
    /// More paths that only full access may write: our data and config directories, programs that the configuration
    /// names. A relative one is taken from the workspace.
    pub protected: Vec<PathBuf>,
    /// Absolute paths that no tool reads or writes, whatever was granted: our own keys and conversations.
    pub secret: Vec<PathBuf>,
    /// Where long outputs of this session are spilled. Reading there needs no more than reading the workspace.
    pub spill_dir: Option<PathBuf>,
}

/// A directory as one session sees it.
#[derive(Debug)]
pub struct Workspace {
    handle: Arc<WorkspaceHandle>,
    /// See [`Guard::spill_dir`].
    spill_dir: Option<PathBuf>,
}

/// What all sessions in one directory share.
#[derive(Debug)]
pub(crate) struct WorkspaceHandle {
    root: Arc<OwnedFd>,
    /// The real path of the root, and the one it was asked for by.
    path: PathBuf,
    asked: PathBuf,
    guard: Guard,
    /// Made of `guard` when the first path is asked for: following every name costs a start most of a millisecond.
    watched: OnceLock<GuardedPaths>,
    /// One writer at a time, whichever session it works for, so that two edits of one file cannot lose each other's work.
    writing: Arc<Mutex<()>>,
}

/// What is guarded, as it really is.
#[derive(Debug)]
struct GuardedPaths {
    home: Option<PathBuf>,
    protected: Protected,
    /// Folded.
    secret: Vec<PathBuf>,
}

impl WorkspaceHandle {
    pub(crate) fn open(path: &Path, guard: Guard) -> Result<Self, Fault> {
        let fault = |error: std::io::Error| {
            // Not `NotFound`: whoever asked for a session in it would take the session for missing.
            Fault::new(FaultKind::Invalid, format!("cannot open the workspace {}: {error}", path.display()))
                .hint("name an existing directory as the workspace")
        };
        let asked = std::path::absolute(path).map_err(fault)?;
        let real = std::fs::canonicalize(path).map_err(fault)?;
        let root = Arc::new(sys::open_root(&real).map_err(fault)?);
        Ok(Self { root, path: real, asked, guard, watched: OnceLock::new(), writing: Arc::default() })
    }

    /// Whether this is what stands at the path now: a directory may have been put in the place of another.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let is_same =
            |now: rustix::fs::Stat, held: rustix::fs::Stat| (now.st_dev, now.st_ino) == (held.st_dev, held.st_ino);
        let now = rustix::fs::stat(path).and_then(|now| Ok(is_same(now, rustix::fs::fstat(&self.root)?)));
        now.unwrap_or(false) && std::fs::canonicalize(path).is_ok_and(|real| real == self.path)
    }

    fn watched(&self) -> &GuardedPaths {
        self.watched.get_or_init(|| {
            let home = self.guard.home.as_deref().map(real);
            let protected = Protected::new(&self.path, home.as_deref(), &self.guard.protected, real);
            let secret = self.guard.secret.iter().map(|path| protect::fold(&real(path))).collect();
            GuardedPaths { home, protected, secret }
        })
    }
}

impl Workspace {
    pub fn open(path: &Path, mut guard: Guard) -> Result<Self, Fault> {
        let spill_dir = guard.spill_dir.take();
        Ok(Self::on(Arc::new(WorkspaceHandle::open(path, guard)?), spill_dir))
    }

    /// On a directory that others may work in as well.
    pub(crate) fn on(handle: Arc<WorkspaceHandle>, spill_dir: Option<PathBuf>) -> Self {
        Self { handle, spill_dir }
    }

    #[cfg(test)]
    pub(crate) fn shares_handle(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle, &other.handle)
    }

    fn watched(&self) -> &GuardedPaths {
        self.handle.watched()
    }

    /// The real path of the workspace, for people and for child processes.
    pub fn path(&self) -> &Path {
        &self.handle.path
    }

    /// Held from reading what is to be changed until the change is made.
    pub(crate) fn write_lock(&self) -> MutexGuard<'_, ()> {
        self.handle.writing.blocking_lock()
    }

    /// The same for a call that waits for others in between. Whatever works for it shares the guard.
    pub(crate) async fn lock(&self) -> Arc<OwnedMutexGuard<()>> {
        Arc::new(self.handle.writing.clone().lock_owned().await)
    }

    /// The real path of a spot inside the workspace.
    pub(crate) fn inside(&self, spot: &Spot) -> Option<PathBuf> {
        spot.is_below(&self.handle.root).then(|| self.handle.path.join(spot.rel()))
    }

    /// Says where a path leads now. `~` is an ordinary name. The error is written for the model; a path to our own
    /// secrets is one, so that nothing that asks for a place first can reach them.
    pub fn place(&self, path: &str) -> Result<ResolvedPath, String> {
        check_shape(path)?;
        let named = Path::new(path);
        let inside = if named.is_absolute() { self.strip_root(named) } else { Some(named) };
        let place = match inside {
            Some(rel) => self.resolve(rel)?,
            None => self.place_outside(named),
        };
        match self.is_secret(&place) {
            true => Err(format!("{path}: {SECRET}")),
            false => Ok(place),
        }
    }

    /// Whether one of our own secrets stands here, or below a directory of them.
    pub fn is_secret(&self, place: &ResolvedPath) -> bool {
        let path = match place {
            ResolvedPath::Inside(rel) => self.handle.path.join(rel),
            ResolvedPath::Outside(path) => path.clone(),
        };
        self.is_secret_path(&path)
    }

    /// The same for what a walk has found.
    pub(crate) fn is_secret_spot(&self, spot: &Spot) -> bool {
        match self.inside(spot) {
            Some(path) => self.is_secret_path(&path),
            None => self.is_secret_path(Path::new(spot.shown())),
        }
    }

    fn is_secret_path(&self, path: &Path) -> bool {
        let folded = protect::fold(path);
        self.watched().secret.iter().any(|secret| folded.starts_with(secret)) && self.spilled(path).is_none()
    }

    /// Whether secrets of ours lie in the workspace: then no command that searches it can count as only reading.
    pub fn holds_secrets(&self) -> bool {
        let root = protect::fold(&self.handle.path);
        self.watched().secret.iter().any(|secret| secret.starts_with(&root))
    }

    /// Why changing this file is more than writing in the workspace, for the one line that people read; empty where it
    /// is not.
    pub(crate) fn note(&self, place: &ResolvedPath) -> String {
        match place {
            ResolvedPath::Inside(rel) => {
                self.steers(rel).map_or_else(String::new, |why| format!(" (asked because {why})"))
            }
            ResolvedPath::Outside(_) => String::new(),
        }
    }

    /// The least permission for this access at this place.
    pub fn required(&self, place: &ResolvedPath, access: Access) -> Required {
        match (place, access) {
            (ResolvedPath::Inside(_), Access::Read) => Required::ReadOnly,
            (ResolvedPath::Inside(rel), Access::Write) if self.steers(rel).is_none() => Required::WorkspaceWrite,
            (ResolvedPath::Outside(path), Access::Read) if self.spilled(path).is_some() => Required::ReadOnly,
            _ => Required::DangerFullAccess,
        }
    }

    /// Resolves a path and gives access to it when `granted` covers it. This is the check that counts: it is made
    /// again here, whatever an earlier plan saw, and the spot stays bound to what was checked.
    pub(crate) fn spot(&self, path: &str, access: Access, granted: Required) -> Result<Spot, String> {
        let place = self.place(path)?;
        let least = match access {
            Access::Read => Required::ReadOnly,
            Access::Write => Required::WorkspaceWrite,
        };
        let required = self.required(&place, access).max(least);
        if granted < required {
            return Err(match &place {
                ResolvedPath::Outside(_) => format!(
                    "{path}: this path leads outside the workspace, which needs {}; granted is {}. Use a path inside {}",
                    Required::DangerFullAccess.as_str(),
                    granted.as_str(),
                    self.handle.path.display()
                ),
                ResolvedPath::Inside(rel) if required == Required::DangerFullAccess => format!(
                    "{path}: {}; changing it needs {}; granted is {}",
                    self.steers(rel).unwrap_or("this file is protected"),
                    required.as_str(),
                    granted.as_str()
                ),
                ResolvedPath::Inside(_) => {
                    format!("{path}: changing files needs {}; granted is {}", required.as_str(), granted.as_str())
                }
            });
        }
        self.spot_at(place).map_err(|error| explain(path, &error))
    }

    /// A spot inside, for walks that started at a checked place.
    pub(crate) fn spot_at(&self, place: ResolvedPath) -> std::io::Result<Spot> {
        let shown = place.shown();
        let (root, rel) = match place {
            ResolvedPath::Inside(rel) => (self.handle.root.clone(), rel),
            ResolvedPath::Outside(path) => match self.spilled(&path) {
                Some((dir, rel)) => (Arc::new(sys::open_root(&dir)?), rel),
                None => {
                    let rel = path.strip_prefix("/").unwrap_or(&path).to_owned();
                    (Arc::new(sys::open_root(Path::new("/"))?), rel)
                }
            },
        };
        Ok(Spot::new(root, rel, shown))
    }

    fn strip_root<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.handle.path).or_else(|_| path.strip_prefix(&self.handle.asked)).ok()
    }

    /// The spill directory as it really is, and the rest of the path below it.
    fn spilled(&self, path: &Path) -> Option<(PathBuf, PathBuf)> {
        let dir = std::fs::canonicalize(self.spill_dir.as_deref()?).ok()?;
        let rel = path.strip_prefix(&dir).ok()?.to_owned();
        Some((dir, rel))
    }

    /// Why this file decides what runs, if it does.
    fn steers(&self, rel: &Path) -> Option<protect::ProtectReason> {
        // What a protected name points at is protected too: `.git/hooks` may be a symlink into the tree.
        let behind = |(name, why): (&str, protect::ProtectReason)| match self.resolve(Path::new(name)) {
            Ok(ResolvedPath::Inside(real)) => rel.starts_with(real).then_some(why),
            _ => None,
        };
        let by_git = || git::steered_by(&self.handle.path.join(rel), self.watched().home.as_deref());
        self.watched().protected.covers(rel).or_else(|| protect::behind().find_map(behind)).or_else(by_git)
    }

    /// Follows a relative path through the handle.
    fn resolve(&self, path: &Path) -> Result<ResolvedPath, String> {
        if let Some(rel) = plain(path)
            && sys::open_beneath(self.handle.root.as_fd(), &rel, sys::HANDLE).is_ok()
        {
            return Ok(ResolvedPath::Inside(rel)); // The usual case: it exists and holds no symlink.
        }
        let mut rel = PathBuf::new();
        let mut links = 0;
        let mut rest: VecDeque<OsString> = parts(path).collect();
        while let Some(part) = rest.pop_front() {
            if part == ".." {
                if !rel.pop() {
                    return Ok(self.place_outside(&join(self.handle.path.join(".."), rest)));
                }
                continue;
            }
            let Some(target) = self.link_target(&rel, &part) else {
                rel.push(part);
                continue;
            };
            links += 1;
            if links > LINKS_MAX {
                return Err(format!("{}: too many symlinks, or a loop of them", path.display()));
            }
            let target = PathBuf::from(target);
            let relative = match target.is_absolute() {
                false => target.as_path(),
                true => match self.strip_root(&target) {
                    Some(relative) => {
                        rel = PathBuf::new();
                        relative
                    }
                    None => return Ok(self.place_outside(&join(target, rest))),
                },
            };
            for part in parts(relative).collect::<Vec<_>>().into_iter().rev() {
                rest.push_front(part);
            }
        }
        Ok(ResolvedPath::Inside(rel))
    }

    fn link_target(&self, parent: &Path, name: &OsStr) -> Option<OsString> {
        let parent = sys::open_beneath(self.handle.root.as_fd(), parent, sys::HANDLE | OFlags::DIRECTORY).ok()?;
        sys::read_link(parent.as_fd(), name)
    }

    /// Real path of something that left the workspace by name. It may come back in (`../here/file`).
    fn place_outside(&self, path: &Path) -> ResolvedPath {
        let real = real(path);
        match real.strip_prefix(&self.handle.path) {
            Ok(rel) => ResolvedPath::Inside(rel.to_owned()),
            Err(_) => ResolvedPath::Outside(real),
        }
    }
}

/// A path as it really is, links followed as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut existing = path.to_owned();
    let mut missing = Vec::new();
    let mut real = loop {
        if let Ok(real) = std::fs::canonicalize(&existing) {
            break real;
        }
        match existing.components().next_back() {
            Some(last @ (Component::Normal(_) | Component::ParentDir)) => {
                missing.push(last.as_os_str().to_owned());
                existing.pop();
            }
            _ => break PathBuf::from("/"),
        }
    };
    for part in missing.into_iter().rev() {
        if part == ".." {
            real.pop();
        } else {
            real.push(part);
        }
    }
    real
}

fn check_shape(path: &str) -> Result<(), String> {
    if path.is_empty() {
        return Err("the path is empty; name a file, or \".\" for the workspace".to_owned());
    }
    if path.contains('\0') {
        return Err("the path holds a NUL character; no file name can".to_owned());
    }
    if path.len() > PATH_BYTES_MAX {
        return Err(format!("the path is {} bytes long; at most {PATH_BYTES_MAX} are possible", path.len()));
    }
    Ok(())
}

/// The parts of a path without `.` and the root.
fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

/// The path without `.` and double slashes, unless it holds `..`.
fn plain(path: &Path) -> Option<PathBuf> {
    parts(path).map(|part| (part != "..").then_some(part)).collect()
}

fn join(mut path: PathBuf, rest: VecDeque<OsString>) -> PathBuf {
    path.extend(rest);
    path
}
