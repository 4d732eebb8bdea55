//! What the shell tests share: a session's tools in a directory of their own, and a look at who is alive.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use builtin_tools::shell::{ShellOptions, tools};
use tempfile::TempDir;
use vocab::{CallContext, Json, Outcome, Required, Tool, parts_text};

pub(crate) struct ShellSession {
    pub(crate) dir: TempDir,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) progress: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl ShellSession {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut ShellOptions)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workspace = dir.path().join("ws");
        std::fs::create_dir(&workspace).unwrap();
        let mut options = ShellOptions::new(std::env::current_exe().unwrap(), workspace, dir.path().join("spill"));
        change(&mut options);
        Self { dir, tools: tools(options).unwrap(), progress: Arc::default() }
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
            editor_requests: None,
            children: None,
            processes: None,
        };
        self.tool(name).run(Json::trusted(input.to_string()), context).await
    }

    /// Runs a command in the foreground; text and whether it is an error.
    pub(crate) async fn bash(&self, command: &str) -> (String, bool) {
        let outcome = self.call("bash", serde_json::json!({ "command": command })).await;
        (parts_text(&outcome.parts), outcome.is_error)
    }
}

/// Starts a background process with these arguments beside its command; its id.
pub(crate) async fn start_with(session: &ShellSession, command: &str, more: serde_json::Value) -> String {
    let mut input = serde_json::json!({ "command": command, "run_in_background": true });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let outcome = session.call("bash", input).await;
    assert!(!outcome.is_error, "{}", parts_text(&outcome.parts));
    details(&outcome)["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn start(session: &ShellSession, command: &str) -> String {
    start_with(session, command, serde_json::json!({})).await
}

pub(crate) async fn read(session: &ShellSession, id: &str, wait_ms: u64) -> String {
    parts_text(&session.call("bash_read", serde_json::json!({ "id": id, "wait_ms": wait_ms })).await.parts)
}

/// Reads until the text has come; all output so far, and what the last read said of the state.
pub(crate) async fn read_until(session: &ShellSession, id: &str, wanted: &str) -> String {
    let begun = Instant::now();
    let mut all = String::new();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(20), "no {wanted:?} in {all:?}");
        let text = read(session, id, 1000).await;
        let (output, state) = text.rsplit_once('[').unwrap();
        if output != "(no new output)\n" {
            // A line feed of the tool's own follows what does not end in one; a terminal writes CR with its own.
            let added = listed(session, id).await["pty"].is_object() && !output.ends_with("\r\n");
            all.push_str(if added { output.strip_suffix('\n').unwrap() } else { output });
        }
        if all.contains(wanted) || state.contains(wanted) {
            return format!("{all}[{state}");
        }
    }
}

/// Writes, and expects that it can be written.
pub(crate) async fn write(session: &ShellSession, input: serde_json::Value) {
    let outcome = session.call("bash_write", input).await;
    assert!(!outcome.is_error, "{}", parts_text(&outcome.parts));
}

/// What the list says of this process.
pub(crate) async fn listed(session: &ShellSession, id: &str) -> serde_json::Value {
    let list = details(&session.call("bash_list", serde_json::json!({})).await);
    list["processes"].as_array().unwrap().iter().find(|process| process["id"] == id).unwrap().clone()
}

/// Like `eventually`, with the runtime running.
pub(crate) async fn wait_for(limit: Duration, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < limit, "not within {limit:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
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
