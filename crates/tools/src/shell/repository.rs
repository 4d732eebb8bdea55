//! Whether git reads without doing anything else here. A repository's configuration can name programs (drivers, filters,
//! checkers, hooks) and other places (worktrees, remotes to fetch missing files from), and git obeys while it shows a
//! log. So the repository that git would find is found the way git does it, without git, and its configuration is held
//! against a list of inert keys. Whatever is odd about it is not inert.
//!
//! The user's own configuration is not looked at: its programs are the user's choice. But a file of it that a
//! session may write is as good as the repository's own.

mod config;
mod index;

use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use vocab::Required;

use crate::workspace::{Access, Place, Workspace};

/// A larger configuration is not looked at, and so not inert.
const CONFIG_BYTES_MAX: u64 = 256 * 1024;
/// The same for an index: 64 MiB are more than half a million files.
const INDEX_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The same for the little files that name a directory.
const POINTER_BYTES_MAX: u64 = 4096;
/// Submodules below each other, and in all; beyond it nothing is inert.
const SUBMODULE_DEPTH_MAX: usize = 4;
const SUBMODULES_MAX: usize = 256;

/// What tells git to use another repository or other parts of one than it would find.
const STEERING: [&str; 7] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
];

/// What must be no link, or git would read somebody else's repository as this one.
const PARTS: [&str; 9] =
    ["HEAD", "commondir", "config", "index", "objects", "objects/info", "objects/pack", "packed-refs", "refs"];

/// Whether git, started in this directory of the workspace, only reads.
pub(super) fn is_inert(dir: &Path, workspace: &Workspace) -> bool {
    if STEERING.iter().any(|name| std::env::var_os(name).is_some()) || own_files(workspace).any(|open| open) {
        return false;
    }
    let look = Look { workspace: workspace.path(), submodules_left: SUBMODULES_MAX };
    match find(&workspace.path().join(dir)) {
        Found::Nothing => true,
        Found::Unclear => false,
        Found::Top(top) => { look }.repository(&top, 0).is_some(),
    }
}

/// For each file of the user's own configuration: whether this session may write it without being asked.
fn own_files(workspace: &Workspace) -> impl Iterator<Item = bool> {
    let home = std::env::home_dir();
    let of_home = |name: &str| home.as_ref().map(|home| home.join(name));
    let elsewhere = std::env::var_os("XDG_CONFIG_HOME").map(|dir| Path::new(&dir).join("git/config"));
    let files = [of_home(".gitconfig"), of_home(".config/git/config"), elsewhere];
    files.into_iter().flatten().filter_map(|file| std::fs::canonicalize(file).ok()).map(|file| {
        let Ok(rel) = file.strip_prefix(workspace.path()) else { return false };
        workspace.required(&Place::Inside(rel.to_owned()), Access::Write) < Required::DangerFullAccess
    })
}

enum Found {
    Nothing,
    /// This directory holds `.git`.
    Top(PathBuf),
    Unclear,
}

/// Upwards from a directory, as git goes.
fn find(dir: &Path) -> Found {
    for top in dir.ancestors() {
        match top.join(".git").symlink_metadata() {
            Ok(_) => return Found::Top(top.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return Found::Unclear,
        }
        // A directory that is a repository itself. Newer versions of git can be told to leave it alone, older ones cannot.
        let there = |name: &str| top.join(name).symlink_metadata().is_ok();
        if there("HEAD") && (there("commondir") || (there("objects") && there("refs"))) {
            return Found::Unclear;
        }
    }
    Found::Nothing
}

/// One look at a repository and the submodules in it. `None` anywhere means: not inert.
struct Look<'a> {
    /// The real path.
    workspace: &'a Path,
    submodules_left: usize,
}

impl Look<'_> {
    fn repository(&mut self, top: &Path, depth: usize) -> Option<()> {
        let (git_dir, named) = git_dir(top)?;
        let common = common_dir(&git_dir)?;
        for dir in [&git_dir, &common] {
            let linked = |name: &&str| dir.join(name).symlink_metadata().is_ok_and(|found| found.is_symlink());
            let borrows = dir.join("objects/info/alternates").symlink_metadata().is_ok();
            if borrows || PARTS.iter().any(|name| linked(&name)) {
                return None;
            }
        }
        let text = read(&common.join("config"), CONFIG_BYTES_MAX)?.unwrap_or_default();
        let config = config::inert(std::str::from_utf8(&text).ok()?)?;
        let says_so = match &config.worktree {
            Some(worktree) => Some(same(&git_dir.join(worktree), top).then_some(())?),
            None => None,
        };
        // A file named this directory. If that lies outside, it must know of us, or any repository could be shown.
        let ours = !named || git_dir.starts_with(self.workspace) || says_so.is_some() || points_back(&git_dir, top);
        ours.then_some(())?;
        self.submodules(top, &git_dir, depth)
    }

    fn submodules(&mut self, top: &Path, git_dir: &Path, depth: usize) -> Option<()> {
        let Some(index) = read(&git_dir.join("index"), INDEX_BYTES_MAX)? else { return Some(()) };
        for link in index::gitlinks(&index)? {
            let below = top.join(std::ffi::OsStr::from_bytes(&link));
            if below.join(".git").symlink_metadata().is_err() {
                continue; // Not checked out.
            }
            self.submodules_left = self.submodules_left.checked_sub(1)?;
            (depth < SUBMODULE_DEPTH_MAX).then_some(())?;
            self.repository(&below, depth + 1)?;
        }
        Some(())
    }
}

/// The real path of what `.git` is or, as a file, names; and whether it is a file.
fn git_dir(top: &Path) -> Option<(PathBuf, bool)> {
    let path = top.join(".git");
    let found = path.symlink_metadata().ok()?;
    if found.is_dir() {
        // What is no repository git passes by, and looks on elsewhere.
        let whole = ["HEAD", "objects", "refs"].iter().all(|name| path.join(name).exists());
        return (whole || path.join("commondir").exists()).then_some((path, false));
    }
    let named = pointer(&path, "gitdir: ")?;
    Some((std::fs::canonicalize(top.join(named)).ok()?, true))
}

/// Where the configuration is. A linked worktree shares that of its repository, in which it stands; a `commondir` that says
/// anything else was not written by git.
fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    let file = git_dir.join("commondir");
    if file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Some(git_dir.to_owned());
    }
    let worktrees = git_dir.parent().filter(|dir| dir.ends_with("worktrees"))?;
    let common = std::fs::canonicalize(git_dir.join(pointer(&file, "")?)).ok()?;
    same(&common, worktrees.parent()?).then_some(common)
}

/// Git keeps in each linked worktree's directory where its `.git` is.
fn points_back(git_dir: &Path, top: &Path) -> bool {
    pointer(&git_dir.join("gitdir"), "").is_some_and(|back| same(&git_dir.join(back), &top.join(".git")))
}

fn same(one: &Path, two: &Path) -> bool {
    matches!((std::fs::canonicalize(one), std::fs::canonicalize(two)), (Ok(one), Ok(two)) if one == two)
}

/// The path in a file of one line.
fn pointer(path: &Path, prefix: &str) -> Option<PathBuf> {
    let bytes = read(path, POINTER_BYTES_MAX)??;
    let line = std::str::from_utf8(&bytes).ok()?.strip_prefix(prefix)?;
    let line = line.strip_suffix('\n').unwrap_or(line);
    (!line.is_empty() && !line.chars().any(char::is_control)).then(|| line.into())
}

/// A regular file, if there is one. `None`: it is too large, or no such file, or cannot be read.
fn read(path: &Path, max: u64) -> Option<Option<Vec<u8>>> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(None),
        Err(_) => return None,
    };
    if !found.is_file() || found.len() > max {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(max + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= max).then_some(Some(bytes))
}
