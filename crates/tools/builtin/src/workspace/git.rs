//! Where git's own files are when they are not called `.git`: a repository whose git directory lies elsewhere in the tree,
//! hooks and includes that its configuration names, and a directory that would become a repository. What is read here can
//! only add protection, so it is read by name; a file that cannot be read adds none.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::protect::{ProtectReason, fold};
use super::real;

/// Of a file of git's no more is read; what is named behind it is not seen.
const FILE_BYTES_MAX: u64 = 256 * 1024;

const HEAD: &str = "head";
const BECOMES: ProtectReason =
    "git takes a directory with this file for a repository, and obeys the configuration in it";
const REPOSITORY: ProtectReason = "it belongs to a git repository's own files, which name programs that git runs";
const HOOK: ProtectReason = "git runs it as a hook (core.hooksPath)";
const INCLUDED: ProtectReason = "git's configuration includes it, and git runs programs that are named there";

/// What git reads beside a `HEAD`, folded.
const PARTS: [&str; 12] = [
    HEAD,
    "branches",
    "commondir",
    "config",
    "config.worktree",
    "hooks",
    "info",
    "modules",
    "objects",
    "packed-refs",
    "refs",
    "worktrees",
];

/// Why git makes more of this file than its text. `target` is absolute and free of links.
pub(super) fn steered_by(target: &Path, home: Option<&Path>) -> Option<ProtectReason> {
    if target.file_name().is_some_and(|name| fold(name.as_ref()) == Path::new(HEAD)) {
        return Some(BECOMES);
    }
    target.ancestors().skip(1).find_map(|dir| beside_head(dir, target).or_else(|| named_by(dir, target, home)))
}

/// `dir` has a `HEAD`, and this is one of the files that make a repository of it.
fn beside_head(dir: &Path, target: &Path) -> Option<ProtectReason> {
    let part = target.strip_prefix(dir).ok()?.components().next()?;
    let is_part = PARTS.iter().any(|name| fold(part.as_os_str().as_ref()) == Path::new(name));
    (is_part && dir.join("HEAD").symlink_metadata().is_ok_and(|it| !it.is_dir())).then_some(REPOSITORY)
}

/// `dir` is the top of a working tree, and its repository names this file.
fn named_by(dir: &Path, target: &Path, home: Option<&Path>) -> Option<ProtectReason> {
    let own = dir.join(".git").symlink_metadata().is_ok().then(|| git_dir(dir))?;
    let common = read(&own.join("commondir")).map(|text| real(&own.join(text.trim_end())));
    let repositories: Vec<PathBuf> = [own].into_iter().chain(common).collect();
    if repositories.iter().any(|path| target.starts_with(path)) {
        return Some(REPOSITORY);
    }
    let local = repositories.iter().flat_map(|path| [path.join("config"), path.join("config.worktree")]);
    let global = home.into_iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
    local.chain(global).find_map(|file| {
        let leads = |path: &str, from: &Path| target.starts_with(real(&from.join(expanded(path, home))));
        let beside = file.parent().unwrap_or(dir);
        settings(&read(&file)?).find_map(|(key, value)| match key {
            ConfigKey::HooksPath => leads(&value, dir).then_some(HOOK),
            ConfigKey::Include => leads(&value, beside).then_some(INCLUDED),
        })
    })
}

/// The git directory of a working tree: `.git`, or what the file of this name says.
fn git_dir(dir: &Path) -> PathBuf {
    let git = dir.join(".git");
    let said = read(&git).and_then(|text| Some(text.strip_prefix("gitdir:")?.trim().to_owned()));
    real(&said.map_or(git, |path| dir.join(path)))
}

fn expanded(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    safefile::open_regular(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

enum ConfigKey {
    HooksPath,
    Include,
}

/// The settings of a git configuration that name files. Escapes in quoted values are not understood; such a value
/// names another file here than for git, and protects that.
fn settings(text: &str) -> impl Iterator<Item = (ConfigKey, String)> {
    let mut section = String::new();
    text.lines().filter_map(move |line| {
        let mut rest = line.trim();
        if let Some(head) = rest.strip_prefix('[') {
            let (name, behind) = head.split_once(']')?;
            section = name.split([' ', '\t', '"', '.']).next().unwrap_or_default().to_ascii_lowercase();
            rest = behind.trim();
        }
        let (key, value) = rest.split_once('=')?;
        let value = value.split([';', '#']).next().unwrap_or_default().trim().trim_matches('"').to_owned();
        match (section.as_str(), key.trim().to_ascii_lowercase().as_str()) {
            ("core", "hookspath") => Some((ConfigKey::HooksPath, value)),
            ("include" | "includeif", "path") => Some((ConfigKey::Include, value)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_files_in_a_few_spellings() {
        let text = "[core]\n\tbare = false\n\thooksPath = .githooks ; mine\n[CORE] HOOKSPATH=\"x y\"\n\
                    [include]\npath = ../shared\n[includeIf \"gitdir:~/work/\"]\n path=w\n[user]\npath = none\n";
        let found: Vec<String> = settings(text).map(|(_, value)| value).collect();
        assert_eq!(found, [".githooks", "x y", "../shared", "w"]);
    }
}
