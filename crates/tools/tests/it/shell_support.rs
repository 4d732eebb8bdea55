//! What the shell tests share: a session's tools in a directory of their own, and a look at who is alive.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tools::shell::{Options, tools};
use vocab::{CallContext, Json, Outcome, Required, Tool, parts_text};

pub(crate) struct Session {
    pub(crate) dir: TempDir,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) progress: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Options)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workspace = dir.path().join("ws");
        std::fs::create_dir(&workspace).unwrap();
        let mut options = Options::new(std::env::current_exe().unwrap(), workspace, dir.path().join("spill"));
        change(&mut options);
        Self { dir, tools: tools(options), progress: Arc::default() }
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        Arc::clone(self.tools.iter().find(|tool| &*tool.spec().name == name).unwrap())
    }

    pub(crate) async fn call(&self, name: &str, input: serde_json::Value) -> Outcome {
        self.call_as(name, input, Required::DangerFullAccess).await
    }

    pub(crate) async fn call_as(&self, name: &str, input: serde_json::Value, granted: Required) -> Outcome {
        let progress = Arc::clone(&self.progress);
        let context = CallContext {
            session: "s1".into(),
            call: "c1".into(),
            granted,
            progress: Arc::new(move |text| progress.lock().unwrap().push((Instant::now(), text.to_owned()))),
            todos: Arc::from([]),
        };
        self.tool(name).run(Json::trusted(input.to_string()), context).await
    }

    /// Runs a command in the foreground; text and whether it is an error.
    pub(crate) async fn bash(&self, command: &str) -> (String, bool) {
        let outcome = self.call("bash", serde_json::json!({ "command": command })).await;
        (parts_text(&outcome.parts), outcome.is_error)
    }
}

pub(crate) fn details(outcome: &Outcome) -> serde_json::Value {
    serde_json::from_str(outcome.details.as_ref().unwrap().as_str()).unwrap()
}

/// A number no other process on this machine has in its command line: `sleep MARK` can be found whatever it did to
/// its name, session, group, parent or environment.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("9{:07}.{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Live processes with the mark as one of their arguments.
pub(crate) fn alive(mark: &str) -> Vec<i32> {
    let is_argument = |cmdline: &[u8]| cmdline.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes());
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|cmdline| is_argument(&cmdline)))
        .collect()
}

/// Waits until `done`; fails after `limit`.
pub(crate) fn eventually(limit: Duration, what: &str, mut done: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
    start.elapsed()
}
