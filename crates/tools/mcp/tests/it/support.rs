//! A session's servers, started for real, and calls of their tools.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp::{McpOptions, Servers};
use process::GroupLauncher;
use vocab::*;

pub(crate) struct Scene {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) servers: Servers,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("SERVER_KEY".into(), "overridden".into())];
        let options = McpOptions { env, version: "0.1.0".into(), launcher: Arc::new(GroupLauncher), own: Vec::new() };
        Self { dir: tempfile::tempdir().unwrap(), servers: Servers::new(options) }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) async fn start_all(&self, servers: Vec<McpServer>) -> Vec<McpStarted> {
        self.servers.start(&"s1".into(), &self.workspace(), servers).await
    }

    pub(crate) async fn start(&self, server: McpServer) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        self.start_all(vec![server]).await.remove(0).tools
    }

    /// A scripted server of this kind.
    pub(crate) async fn kind(&self, kind: &str) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        self.start(self.scripted(kind)).await
    }

    pub(crate) fn scripted(&self, kind: &str) -> McpServer {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripted.py");
        let args = vec![script.to_str().unwrap().into(), kind.into()];
        let secret = |text: &str| Secret::new(text).unwrap();
        let env = vec![
            ("SERVER_LOG".into(), secret(self.log_file().to_str().unwrap())),
            ("SERVER_KEY".into(), secret("canary-5d2f8a")),
        ];
        let way = McpTransport::Process { command: "python3".into(), args, env };
        McpServer { name: kind.into(), way, trust_hints: true }
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
    tools.iter().find(|tool| &*tool.spec().name == name).unwrap_or_else(|| panic!("no tool {name}"))
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
        editor_requests: None,
        children: None,
        processes: None,
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
