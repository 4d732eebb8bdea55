//! Whether git reads without doing anything else here. A repository's configuration can name programs (drivers, filters,
//! checkers, hooks) and other places (worktrees, remotes to fetch missing files from), and git obeys while it shows a
//! log. So the repository that git would find is found the way git does it, without git, and its configuration is held
//! against a list of inert keys. Whatever is odd about it is not inert.
//!
//! The user's own configuration is not looked at: its programs are the user's choice. But a file of it that a
//! session may write is as good as the repository's own.

mod config;
mod index;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use vocab::Required;

use crate::workspace::{Access, ResolvedPath, Workspace};

/// A larger configuration is not looked at, and so not inert.
const CONFIG_BYTES_MAX: u64 = 256 * 1024;
/// The same for an index: 64 MiB are more than half a million files.
const INDEX_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The same for the little files that name a directory.
const POINTER_BYTES_MAX: u64 = 4096;
/// Submodules below each other, and in all; beyond it nothing is inert.
const SUBMODULE_DEPTH_MAX: usize = 4;
const SUBMODULES_MAX: usize = 256;

/// Files of the user's own configuration that are followed; where there are more, nothing is inert.
const OWN_FILES_MAX: usize = 32;

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

/// Entries of repositories' directories that are looked at for links; where there are more, git is not inert.
const ENTRIES_MAX: usize = 65_536;
/// Directories of a repository that git itself does not open: its hooks are switched off while it reads, and the others
/// belong to other programs. Everything else it may show, so a link anywhere in there could show any file.
const UNOPENED: [&str; 3] = ["annex", "hooks", "lfs"];

/// Whether git, started in this directory of the workspace, only reads.
pub(crate) fn is_inert(dir: &Path, workspace: &Workspace) -> bool {
    if STEERING.iter().any(|name| std::env::var_os(name).is_some()) || owns_a_writable_file(workspace) {
        return false;
    }
    let look = RepositoryCheck {
        workspace: workspace.path(),
        submodules_left: SUBMODULES_MAX,
        entries_left: ENTRIES_MAX,
        walked: Vec::new(),
    };
    match find(&workspace.path().join(dir)) {
        FoundRepository::Nothing => true,
        FoundRepository::Unclear => false,
        FoundRepository::Top(top) => { look }.repository(&top, 0).is_some(),
    }
}

/// Longest name of a branch that is told.
const BRANCH_BYTES_MAX: usize = 128;

/// What is checked out at this top of a repository, as git's own file says it. That file is the repository's: what is no
/// name of a branch is not repeated.
pub(crate) fn head(top: &Path) -> Option<String> {
    let bytes = read(&git_dir(top)?.0.join("HEAD"), POINTER_BYTES_MAX)??;
    let text = std::str::from_utf8(&bytes).ok()?.trim_end();
    let is_name = |name: &str| {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+' | '#' | '@');
        !name.is_empty() && name.len() <= BRANCH_BYTES_MAX && name.chars().all(plain)
    };
    match text.strip_prefix("ref: refs/heads/") {
        Some(branch) => is_name(branch).then(|| branch.to_owned()),
        None => {
            let is_commit = text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_commit.then(|| format!("no branch ({})", &text[..8]))
        }
    }
}

/// Whether this session may write a file of the user's own configuration without being asked: the usual ones, and those
/// that they include. What cannot be looked at could be such a file.
fn owns_a_writable_file(workspace: &Workspace) -> bool {
    let home = std::env::home_dir().unwrap_or_default();
    let elsewhere = std::env::var_os("XDG_CONFIG_HOME").map(|dir| Path::new(&dir).join("git/config"));
    let mut files = vec![home.join(".gitconfig"), home.join(".config/git/config")];
    files.extend(elsewhere);
    let mut next = 0;
    while let Some(file) = files.get(next).map(std::fs::canonicalize) {
        next += 1;
        let file = match file {
            Ok(file) => file,
            Err(error) if is_absence(&error) => continue,
            Err(_) => return true,
        };
        let inside = file.strip_prefix(workspace.path()).map(|rel| ResolvedPath::Inside(rel.to_owned()));
        if inside.is_ok_and(|place| workspace.required(&place, Access::Write) < Required::DangerFullAccess) {
            return true;
        }
        let Some(text) = read(&file, CONFIG_BYTES_MAX) else { return true };
        let text = text.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let dir = file.parent().unwrap_or(Path::new("/"));
        files.extend(included(&text, dir, &home));
        if files.len() > OWN_FILES_MAX {
            return true;
        }
    }
    false
}

/// Every path that this text could include. More than git would: a `path` of any section counts.
fn included<'a>(text: &'a str, dir: &'a Path, home: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let values = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        let key = key.rsplit(']').next()?.trim();
        key.eq_ignore_ascii_case("path").then(|| value.trim().trim_matches('"'))
    });
    values.map(|value| match value.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => dir.join(value),
    })
}

enum FoundRepository {
    Nothing,
    /// This directory holds `.git`.
    Top(PathBuf),
    Unclear,
}

/// Upwards from a directory, as git goes.
fn find(dir: &Path) -> FoundRepository {
    for top in dir.ancestors() {
        match top.join(".git").symlink_metadata() {
            Ok(_) => return FoundRepository::Top(top.to_owned()),
            Err(error) if is_absence(&error) => {}
            Err(_) => return FoundRepository::Unclear,
        }
        // A directory that is a repository itself. Newer versions of git can be told to leave it alone, older ones cannot.
        let there = |name: &str| !is_absent(&top.join(name));
        if there("HEAD") && (there("commondir") || (there("objects") && there("refs"))) {
            return FoundRepository::Unclear;
        }
    }
    FoundRepository::Nothing
}

/// One look at a repository and the submodules in it. `None` anywhere means: not inert.
struct RepositoryCheck<'a> {
    /// The real path.
    workspace: &'a Path,
    submodules_left: usize,
    entries_left: usize,
    /// Directories in which there is no link, however deep.
    walked: Vec<PathBuf>,
}

impl RepositoryCheck<'_> {
    fn repository(&mut self, top: &Path, depth: usize) -> Option<()> {
        let (git_dir, named) = git_dir(top)?;
        let common = common_dir(&git_dir)?;
        self.holds_its_own(&common)?;
        if git_dir != common {
            self.holds_its_own(&git_dir)?;
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
            let below = top.join(OsStr::from_bytes(&link));
            if is_absent(&below.join(".git")) {
                continue; // Not checked out.
            }
            self.submodules_left = self.submodules_left.checked_sub(1)?;
            (depth < SUBMODULE_DEPTH_MAX).then_some(())?;
            self.repository(&below, depth + 1)?;
        }
        Some(())
    }

    /// Nothing in it is a link or borrowed from elsewhere: git reads what it shows (who is being rebased, where another
    /// worktree is, a log's objects) from files here, and would read it from any file.
    fn holds_its_own(&mut self, git_dir: &Path) -> Option<()> {
        if !self.walked.iter().any(|walked| git_dir.starts_with(walked)) {
            self.walk(git_dir, &UNOPENED)?;
            self.walked.extend(["modules", "worktrees"].map(|inside| git_dir.join(inside)));
        }
        let worktrees = match std::fs::read_dir(git_dir.join("worktrees")) {
            Ok(worktrees) => Some(worktrees),
            Err(error) => is_absence(&error).then_some(None)?,
        };
        for worktree in worktrees.into_iter().flatten() {
            // Git asks every worktree for its branch, in the repository that it names.
            common_dir(&worktree.ok()?.path())?;
        }
        is_absent(&git_dir.join("objects/info/alternates")).then_some(())
    }

    /// No link in a directory and below it, except in those of its directories.
    fn walk(&mut self, dir: &Path, except: &[&str]) -> Option<()> {
        for entry in std::fs::read_dir(dir).ok()? {
            self.entries_left = self.entries_left.checked_sub(1)?;
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            if kind.is_symlink() {
                return None;
            }
            if kind.is_dir() && !except.iter().any(|name| entry.file_name() == *name) {
                self.walk(&entry.path(), &[])?;
            }
        }
        Some(())
    }
}

/// Whether there is nothing of this name. What cannot be looked at may be there: git goes by other paths than we do, and
/// some are shorter.
fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| is_absence(&error))
}

/// Whether an error says that nothing is there, and not that it cannot be looked at.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
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
    if is_absent(&file) {
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
        Err(error) if is_absence(&error) => return Some(None),
        Err(_) => return None,
    };
    if !found.is_file() || found.len() > max {
        return None;
    }
    safefile::read_regular(path, max).ok().map(Some)
}
