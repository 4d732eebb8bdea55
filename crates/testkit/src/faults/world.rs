//! A world of its own for the binary: a home, a workspace, an environment; and disks that are full or read-only.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::has;
use crate::mock_model::MockModel;

/// The key that the mock server is given, and that must never be seen anywhere.
pub const KEY: &str = "sk-canary-5b1f0c9d77e24a31";

/// A home and a workspace that vanish afterwards.
pub struct World {
    root: TempDir,
    pub home: PathBuf,
    pub workspace: PathBuf,
    pub env: Vec<(String, String)>,
    binary: PathBuf,
    /// Put in front of every start.
    wrapper: Vec<String>,
    model: Vec<String>,
}

impl World {
    /// With the built-in model.
    pub fn tour(binary: &str) -> Self {
        Self::new(binary, vec!["--model".into(), "tour".into()], Vec::new())
    }

    /// With a model server.
    pub fn with(binary: &str, model: &MockModel) -> Self {
        let env = vec![("OPENAI_BASE_URL".into(), model.base_url.clone()), ("OPENAI_API_KEY".into(), KEY.into())];
        Self::new(binary, vec!["--model".into(), "mock/alpha".into()], env)
    }

    fn new(binary: &str, model: Vec<String>, env: Vec<(String, String)>) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (home, workspace) = (root.path().join("home"), root.path().join("ws"));
        fs::create_dir(&workspace).unwrap();
        Self { root, home, workspace, env, binary: binary.into(), wrapper: Vec::new(), model }
    }

    /// From now on everything runs as somebody without rights, with a binary that this user can reach. `false`: only
    /// root can do that, and needs `setpriv`.
    pub fn as_nobody(&mut self) -> bool {
        if !rustix::process::getuid().is_root() || !has("setpriv") {
            return false;
        }
        let copy = self.root.path().join("tillerman");
        fs::copy(&self.binary, &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        self.binary = copy;
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        self.wrapper = nobody.map(str::to_owned).to_vec();
        let chown = Command::new("chown").args(["-R", "65534:65534"]).arg(self.root.path()).status();
        chown.is_ok_and(|status| status.success())
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Writes `config.toml`.
    pub fn config(&self, text: &str) {
        fs::create_dir_all(&self.home).unwrap();
        fs::write(self.home.join("config.toml"), text).unwrap();
    }

    /// Waits that a test can sit through.
    pub fn quick_retries(&self) {
        self.config("[retry]\nbase_ms = 20\nwait_ms_max = 50\njitter = false\n");
    }

    /// The binary with this world around it.
    pub fn command(&self, wrapper: &[&str]) -> Command {
        let mut words = self.wrapper.iter().map(AsRef::as_ref).chain(wrapper.iter().map(|word| OsStr::new(*word)));
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(&self.binary);
                command
            }
            None => Command::new(&self.binary),
        };
        command.env_clear().current_dir(&self.workspace);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root.path()).env("TILLERMAN_HOME", &self.home);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A dialect with the world's model and these arguments.
    pub fn dialect_command(&self, dialect: &str, wrapper: &[&str], args: &[&str]) -> Command {
        let mut command = self.command(wrapper);
        command.arg(dialect).args(&self.model).args(args);
        command
    }

    pub fn stderr_log(&self) -> fs::File {
        fs::OpenOptions::new().create(true).append(true).open(self.stderr_file()).unwrap()
    }

    /// What the processes of this world have said for people.
    pub fn stderr_file(&self) -> PathBuf {
        self.root.path().join("stderr.txt")
    }

    /// The session's log as the binary writes it out.
    pub fn exported(&self, session: &str) -> String {
        let out = self.root.path().join("out.jsonl");
        let mut command = self.command(&[]);
        let ran = command.args(["sessions", "export", session]).arg(&out).output().expect("the binary starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        fs::read_to_string(&out).unwrap()
    }
}

/// A file system of this size, gone when dropped. `None`: this machine does not let us.
pub struct Tmpfs(pub PathBuf);

impl Tmpfs {
    pub fn mount(at: &Path, options: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(at).stderr(Stdio::null());
        mount.status().ok()?.success().then(|| Self(at.to_owned()))
    }

    pub fn remount(&self, options: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{options}")]).arg(&self.0).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success())
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).stderr(Stdio::null()).status();
    }
}
