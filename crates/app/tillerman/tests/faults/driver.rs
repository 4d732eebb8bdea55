//! Starts the binary in a world of its own and talks `serve` to it with deadlines.

use std::ffi::OsStr;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::mock_model::MockModel;

use crate::process::Process;

/// Everything in here happens on a busy machine; only a promise with a time of its own is held to a shorter one.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The key that the mock server is given, and that must never be seen anywhere.
pub(crate) const KEY: &str = "sk-canary-5b1f0c9d77e24a31";

/// The count of a normal run, or the one of a full run.
pub(crate) fn count(normal: usize, full: usize) -> usize {
    if is_full() { full } else { normal }
}

pub(crate) fn is_full() -> bool {
    std::env::var("TILLERMAN_FULL").is_ok_and(|value| value == "1")
}

pub(crate) fn skip(id: &str, reason: &str) {
    println!("SKIP {id}: {reason}");
}

pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
    pub(crate) fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
}

/// A home and a workspace that vanish afterwards.
pub(crate) struct World {
    root: TempDir,
    pub(crate) home: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) env: Vec<(String, String)>,
    binary: PathBuf,
    /// Put in front of every start.
    wrapper: Vec<String>,
    model: Vec<String>,
}

impl World {
    /// With the built-in model.
    pub(crate) fn tour() -> Self {
        Self::new(vec!["--model".into(), "tour".into()], Vec::new())
    }

    /// With a model server.
    pub(crate) fn with(model: &MockModel) -> Self {
        let env = vec![("OPENAI_BASE_URL".into(), model.base_url.clone()), ("OPENAI_API_KEY".into(), KEY.into())];
        Self::new(vec!["--model".into(), "mock/alpha".into()], env)
    }

    fn new(model: Vec<String>, env: Vec<(String, String)>) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (home, workspace) = (root.path().join("home"), root.path().join("ws"));
        fs::create_dir(&workspace).unwrap();
        let binary = env!("CARGO_BIN_EXE_tillerman").into();
        Self { root, home, workspace, env, binary, wrapper: Vec::new(), model }
    }

    /// From now on everything runs as somebody without rights, with a binary that this user can reach. `false`: only
    /// root can do that, and needs `setpriv`.
    pub(crate) fn as_nobody(&mut self) -> bool {
        if !rustix::process::getuid().is_root() || !has("setpriv") {
            return false;
        }
        let copy = self.root.path().join("tillerman");
        fs::copy(env!("CARGO_BIN_EXE_tillerman"), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        self.binary = copy;
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        self.wrapper = nobody.map(str::to_owned).to_vec();
        let chown = Command::new("chown").args(["-R", "65534:65534"]).arg(self.root.path()).status();
        chown.is_ok_and(|status| status.success())
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Writes `config.toml`.
    pub(crate) fn config(&self, text: &str) {
        fs::create_dir_all(&self.home).unwrap();
        fs::write(self.home.join("config.toml"), text).unwrap();
    }

    /// Waits that a test can sit through.
    pub(crate) fn quick_retries(&self) {
        self.config("[retry]\nbase_ms = 20\nwait_ms_max = 50\njitter = false\n");
    }

    /// The binary with this world around it.
    pub(crate) fn command(&self, wrapper: &[&str]) -> Command {
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

    /// `serve` with the world's model and these arguments.
    pub(crate) fn serve_command(&self, wrapper: &[&str], args: &[&str]) -> Command {
        self.dialect_command("serve", wrapper, args)
    }

    pub(crate) fn dialect_command(&self, dialect: &str, wrapper: &[&str], args: &[&str]) -> Command {
        let mut command = self.command(wrapper);
        command.arg(dialect).args(&self.model).args(args);
        command
    }

    /// Started, not yet greeted; stderr goes to a file.
    pub(crate) fn spawn(&self, args: &[&str]) -> Serve {
        self.spawn_in(&[], args)
    }

    pub(crate) fn spawn_in(&self, wrapper: &[&str], args: &[&str]) -> Serve {
        Serve::start(self.serve_command(wrapper, args).stderr(self.stderr_log()))
    }

    pub(crate) fn stderr_log(&self) -> fs::File {
        fs::OpenOptions::new().create(true).append(true).open(self.stderr_file()).unwrap()
    }

    /// What the processes of this world have said for people.
    pub(crate) fn stderr_file(&self) -> PathBuf {
        self.root.path().join("stderr.txt")
    }

    /// Started and `ready`.
    pub(crate) fn serve(&self, args: &[&str]) -> Serve {
        let mut serve = self.spawn(args);
        serve.ready();
        serve
    }
}

/// A running `serve`.
pub(crate) struct Serve {
    process: Process,
    pub(crate) session: String,
}

impl Deref for Serve {
    type Target = Process;
    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for Serve {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

impl Serve {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self { process: Process::start(command), session: String::new() }
    }

    pub(crate) fn ready(&mut self) -> Value {
        let ready = self.next(PATIENCE).expect("the first line");
        assert_eq!(ready["type"], "ready", "{ready}");
        self.session = ready["session_id"].as_str().unwrap().to_owned();
        ready
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.send(&json!({ "type": "prompt", "text": text }));
    }

    pub(crate) fn interrupt(&mut self) {
        self.send(&json!({ "type": "interrupt" }));
    }

    pub(crate) fn answer(&mut self, request: &Value, decision: &str) {
        self.send(&json!({ "type": "permission_response", "request_id": request["request_id"], "decision": decision }));
    }

    /// Everything up to and with the first message of this type; permission is given to all who ask.
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Value> {
        self.process.until_one(kind, |process, value| {
            let found = value["type"] == kind;
            if value["type"] == "permission_request" && !found {
                process.send(&allow(value));
            }
            found
        })
    }

    /// A whole turn.
    pub(crate) fn turn(&mut self, text: &str) -> Vec<Value> {
        self.prompt(text);
        self.until("turn_complete")
    }

    /// A whole turn that goes well.
    pub(crate) fn good_turn(&mut self, text: &str) -> Vec<Value> {
        let seen = self.turn(text);
        assert_eq!(seen.last().unwrap()["stop_reason"], "end_turn", "{text}: {}", brief(&seen));
        seen
    }

    pub(crate) fn slash(&mut self, command: &str, args: &str) -> Value {
        self.send(&json!({ "type": "slash", "command": command, "args": args }));
        self.until("slash_result").pop().unwrap()
    }

    /// Leaves in order.
    pub(crate) fn shutdown(mut self) {
        self.leave();
    }
}

fn allow(request: &Value) -> Value {
    json!({ "type": "permission_response", "request_id": request["request_id"], "decision": "allow" })
}

/// Resident memory of a process; 0 when it is gone.
pub(crate) fn rss_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Highest resident memory of a process so far.
pub(crate) fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Processes with this among their arguments, zombies left out.
pub(crate) fn running(mark: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        // A zombie has no arguments any more.
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word == mark.as_bytes())
    })
    .collect()
}

/// A number of seconds to sleep that nobody else on this machine sleeps.
pub(crate) fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("6{:07}.{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Whether it becomes true in time, and after how long.
pub(crate) fn within(wait: Duration, mut true_now: impl FnMut() -> bool) -> Option<Duration> {
    let start = Instant::now();
    loop {
        if true_now() {
            return Some(start.elapsed());
        }
        if start.elapsed() >= wait {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// All text a turn said.
pub(crate) fn said(seen: &[Value]) -> String {
    seen.iter().filter_map(|value| value["delta"].as_str()).collect()
}

/// The first message of a type.
pub(crate) fn first<'a>(seen: &'a [Value], kind: &str) -> &'a Value {
    seen.iter().find(|value| value["type"] == kind).unwrap_or_else(|| panic!("no {kind} in {}", brief(seen)))
}

pub(crate) fn all<'a>(seen: &'a [Value], kind: &str) -> Vec<&'a Value> {
    seen.iter().filter(|value| value["type"] == kind).collect()
}

/// For messages of failed tests.
pub(crate) fn brief(seen: &[Value]) -> String {
    let text: Vec<String> = seen.iter().map(|value| value.to_string().chars().take(300).collect()).collect();
    let from = text.len().saturating_sub(20);
    text[from..].join("\n")
}

/// A file system of this size, gone when dropped. `None`: this machine does not let us.
pub(crate) struct Tmpfs(pub(crate) PathBuf);

impl Tmpfs {
    pub(crate) fn mount(at: &Path, options: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(at).stderr(Stdio::null());
        mount.status().ok()?.success().then(|| Self(at.to_owned()))
    }

    pub(crate) fn remount(&self, options: &str) -> bool {
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
