//! A session's servers, started for real, and calls of their tools.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp::{Launcher, Options, Process, Program, Servers, Started};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use vocab::*;

pub(crate) struct Scene {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) servers: Servers,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("SERVER_KEY".into(), "overridden".into())];
        let options = Options { env, version: "0.1.0".into(), launcher: Arc::new(Grouped) };
        Self { dir: tempfile::tempdir().unwrap(), servers: Servers::new(options) }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) async fn start_all(&self, servers: Vec<ToolServer>) -> Vec<Served> {
        self.servers.start(&"s1".into(), &self.workspace(), servers).await
    }

    pub(crate) async fn start(&self, server: ToolServer) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        self.start_all(vec![server]).await.remove(0).tools
    }

    /// A scripted server of this kind.
    pub(crate) async fn kind(&self, kind: &str) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        self.start(self.scripted(kind)).await
    }

    pub(crate) fn scripted(&self, kind: &str) -> ToolServer {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripted.py");
        let args = vec![script.to_str().unwrap().into(), kind.into()];
        let secret = |text: &str| Secret::new(text).unwrap();
        let env = vec![
            ("SERVER_LOG".into(), secret(self.log_file().to_str().unwrap())),
            ("SERVER_KEY".into(), secret("canary-5d2f8a")),
        ];
        ToolServer { name: kind.into(), way: ServerWay::Process { command: "python3".into(), args, env } }
    }

    fn log_file(&self) -> PathBuf {
        self.workspace().join("server.log")
    }

    /// What the server wrote down so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    pub(crate) async fn until_logged(&self, wanted: &str) {
        until(|| self.log().contains(wanted), wanted).await;
    }
}

pub(crate) async fn until(is_so: impl Fn() -> bool, wanted: &str) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never came: {wanted}");
}

pub(crate) fn tool<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> &'a Arc<dyn Tool> {
    let ends = format!("__{name}");
    tools.iter().find(|tool| tool.spec().name.ends_with(&ends)).unwrap_or_else(|| panic!("no tool {name}"))
}

/// A call whose progress is kept.
pub(crate) fn run(
    tools: &[Arc<dyn Tool>],
    name: &str,
    input: &str,
) -> (Later<'static, Outcome>, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let keep = told.clone();
    let context = CallContext {
        session: "s1".into(),
        call: "c1".into(),
        granted: Required::DangerFullAccess,
        progress: Arc::new(move |text: &str| keep.lock().unwrap().push(text.to_owned())),
        todos: Arc::from([]),
        errands: None,
    };
    (tool(tools, name).run(Json::trusted(input), context), told)
}

pub(crate) async fn call(tools: &[Arc<dyn Tool>], name: &str, input: &str) -> Outcome {
    run(tools, name, input).0.await
}

pub(crate) async fn text(tools: &[Arc<dyn Tool>], name: &str, input: &str) -> String {
    parts_text(&call(tools, name, input).await.parts)
}

pub(crate) fn is_alive(pid: &str) -> bool {
    // A zombie that nobody has collected yet does not work any more.
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

// ---- a plain launcher -------------------------------------------------------------------------------------------

/// Starts a program as the leader of its own process group.
struct Grouped;

impl Launcher for Grouped {
    fn launch<'a>(&'a self, program: &'a Program) -> Later<'a, io::Result<Started>> {
        Box::pin(async move {
            let (exe, args) = program.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            let mut child = Command::new(exe)
                .args(args)
                .env_clear()
                .envs(program.env.iter().map(|(name, value): &(OsString, OsString)| (name, value)))
                .current_dir(&program.cwd)
                .process_group(0)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()?;
            let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
            Ok(Started {
                input: Box::new(child.stdin.take().unwrap()),
                output: Box::new(child.stdout.take().unwrap()),
                errors: Box::new(child.stderr.take().unwrap()),
                process: Box::new(Group { child, group }),
            })
        })
    }
}

struct Group {
    child: Child,
    group: Option<Pid>,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Process for Group {
    fn ended(&mut self) -> Later<'_, String> {
        Box::pin(async {
            let status = self.child.wait().await.unwrap();
            match status.code() {
                Some(code) => format!("exited with code {code}"),
                None => format!("was killed by signal {}", status.signal().unwrap_or(0)),
            }
        })
    }

    fn end(mut self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(Duration::from_millis(200), self.ended()).await;
            self.signal(Signal::KILL);
            self.ended().await;
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
