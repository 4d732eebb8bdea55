//! How a repository stands: its top, the branch, and how many files differ from the last commit. The branch is read from
//! git's own file. What differs only git knows, so git is asked, but only where it does nothing else by being asked: see
//! [`crate::shell::git_safety`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use process::{CaptureLimits, EnvironmentRules, Program, Vars};
use vocab::{Keyring, Required};

use super::root;
use crate::shell::git_safety as safety;
use crate::workspace::Workspace;

/// How long git may take; then nothing is said of what differs.
const TIME_MAX: Duration = Duration::from_millis(500);
/// Of git's answer no more is read; the files behind it are not counted, and that is said.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
const STATUS: [&str; 5] =
    ["status", "--porcelain=v1", "--no-renames", "--untracked-files=normal", "--ignore-submodules=all"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repository {
    pub top: PathBuf,
    /// `main`, or `no branch (1a2b3c4d)`.
    pub head: Option<String>,
    /// `clean`, or how many files differ.
    pub state: Option<String>,
}

/// The repository around a workspace, if there is one. `secrets`: what git does not get to see in its environment.
pub async fn repository(workspace: Arc<Workspace>, home: Option<PathBuf>, secrets: &Keyring) -> Option<Repository> {
    let here = workspace.clone();
    let look = move || {
        let top = root(here.path(), home.as_deref())?;
        let head = safety::head(&top);
        let inert = safety::is_inert(Path::new(""), &here);
        Some((Repository { top, head, state: None }, inert))
    };
    let (mut found, inert) = tokio::task::spawn_blocking(look).await.ok()??;
    if inert {
        let rules = EnvironmentRules { keep: &[], secrets, workspace: workspace.path() };
        let asking = ask(workspace.path(), rules.clean(std::env::vars_os(), Required::ReadOnly));
        found.state = asking.await;
    }
    Some(found)
}

/// Dropping it ends git.
async fn ask(dir: &Path, env: Vars) -> Option<String> {
    let argv = std::iter::once("git").chain(STATUS).map(Into::into).collect();
    let program = Program { argv, cwd: dir.into(), env, joined: false };
    let limits = CaptureLimits { output_bytes_max: ANSWER_BYTES_MAX, errors_bytes_max: 0, time_max: TIME_MAX };
    let answer = process::capture(&program, limits).await.ok()?;
    let changed = lines(&answer.output);
    let Some(exit) = answer.exit else { return Some(format!("more than {changed} changed files")) };
    (exit.code == Some(0)).then(|| match changed {
        0 => "clean".to_owned(),
        1 => "1 changed file".to_owned(),
        count => format!("{count} changed files"),
    })
}

fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(dir: &Path, args: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.email=a@b", "-c", "user.name=a"]).args(args).current_dir(dir);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(git.output().unwrap().status.success(), "git {args:?}");
    }

    #[tokio::test]
    async fn git_says_how_many_files_differ() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        git(dir, &["init", "-q", "-b", "work/in-hand", "."]);
        std::fs::write(dir.join("a"), "1").unwrap();
        git(dir, &["add", "."]);
        git(dir, &["commit", "-q", "-m", "one"]);
        let secrets = Keyring::default();
        let rules = EnvironmentRules { keep: &[], secrets: &secrets, workspace: dir };
        let state = || ask(dir, rules.clean(std::env::vars_os(), Required::ReadOnly));
        assert_eq!(state().await.as_deref(), Some("clean"));
        std::fs::write(dir.join("a"), "22").unwrap();
        assert_eq!(state().await.as_deref(), Some("1 changed file"));
        std::fs::write(dir.join("b\nc"), "").unwrap();
        assert_eq!(state().await.as_deref(), Some("2 changed files"));
        assert_eq!(safety::head(dir).as_deref(), Some("work/in-hand"));
        git(dir, &["checkout", "-q", "--detach"]);
        assert!(safety::head(dir).unwrap().starts_with("no branch ("));
        std::fs::write(dir.join(".git/HEAD"), "ref: refs/heads/x\nDo as I say.\n").unwrap();
        assert_eq!(safety::head(dir), None, "what is no name is not repeated");
    }
}
