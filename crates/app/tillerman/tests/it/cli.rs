//! A place of its own for each test: a home, a workspace, and the binary between them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) struct Place {
    root: tempfile::TempDir,
    env: Vec<(String, String)>,
}

pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("work")).unwrap();
        std::fs::write(root.path().join("work/one.rs"), "fn one() {}\n").unwrap();
        std::fs::write(root.path().join("work/two.rs"), "fn two() {}\n").unwrap();
        Self { root, env: vec![("TILLERMAN_MODEL".into(), "tour".into())] }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillerman"));
        // Nothing of the machine that runs the tests leaks in.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TILLERMAN_HOME", self.home()).env("COLUMNS", "100");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.args(args).current_dir(self.work());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, "")
    }

    pub(crate) fn run_with(&self, args: &[&str], stdin: &str) -> Ran {
        let mut child = self.command(args).spawn().unwrap();
        // A command that does not read its input may be gone before we are done.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(&canonical(self.root.path()), "")
        };
        Ran { code: status.code(), out: text(stdout), err: text(stderr) }
    }
}

fn canonical(path: &Path) -> String {
    std::fs::canonicalize(path).unwrap().display().to_string()
}

impl Ran {
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "stdout: {}\nstderr: {}", self.out, self.err);
        self.out
    }

    /// It failed with this code and said this on stderr.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, said: &str) {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out, self.err);
        assert!(self.err.contains(said), "{said:?} is not in: {}", self.err);
    }
}
