//! Tools that do whatever the dice say.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vocab::{
    Body, CallContext, CallEntry, EditorRequestKind, Entry, Fault, FileDiff, FileEdit, Gadget, Json, Later, Outcome,
    Plan, Progress, Required, SessionId, Shell, ShellEntry, Snapshot, TodoPhase, TodoStatus, TodoTask, Tool, ToolSpec,
    Toolbox,
};

use super::dice::Dice;
use super::model::Findings;
use crate::lossy::LossyStore;

/// A command that says much.
pub(super) const LOUD: &str = "loud";
const LOUD_BYTES: usize = 32 * 1024;

pub(super) struct SimTools {
    pub dice: Arc<Mutex<Dice>>,
    /// Calls that run now; none may be left when nothing runs.
    pub running: Arc<AtomicI64>,
    /// Where a call that changes something must be known before it runs.
    pub log: Option<(LossyStore, Arc<Findings>)>,
}

impl Toolbox for SimTools {
    fn open(&self, _: &SessionId, _: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let make = |name: &str, required, gadget| -> Arc<dyn Tool> {
            let spec = ToolSpec { name: name.into(), description: name.into(), schema: Json::empty_object() };
            let (dice, running, log) = (self.dice.clone(), self.running.clone(), self.log.clone());
            Arc::new(SimTool { spec, required, gadget, dice, running, log })
        };
        Ok(vec![
            make("look", Required::ReadOnly, None),
            make("change", Required::WorkspaceWrite, None),
            make("danger", Required::DangerFullAccess, Some("sharp")),
        ])
    }
    fn gadgets(&self) -> Vec<Gadget> {
        vec![Gadget { name: "sharp".into(), description: "sharp things".into(), prompt: None }]
    }
    fn restore(&self, _: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        edits.iter().map(|edit| edit.path.clone()).collect()
    }
    fn shell(
        &self,
        session: &SessionId,
        _: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        if let Some((log, findings)) = &self.log {
            let is_it = |entry: &Arc<Entry>| matches!(&entry.body, Body::Shell(ShellEntry::Started { command: it, .. }) if **it == *command);
            if !log.entries(session).iter().any(is_it) {
                findings.add(format!("`{command}` runs, which the log does not know"));
            }
        }
        let mut dice = self.dice.lock().expect("nobody panics while holding this");
        let (how, wait) = (dice.below(30), dice.pick(&[0, 0, 1, 40, 900, 5000]));
        drop(dice);
        assert!(how != 0, "a scripted panic of a toolbox");
        self.running.fetch_add(1, Ordering::Relaxed);
        let (running, command): (_, Arc<str>) = (Running(self.running.clone()), command.into());
        Box::pin(async move {
            let _running = running;
            told("out");
            let work = tokio::time::sleep(Duration::from_millis(wait));
            let cancelled = match how {
                1 => panic!("a scripted panic of a command"),
                // Until it is stopped, and not even then.
                2..5 => {
                    stop.await;
                    true
                }
                5 => std::future::pending().await,
                _ => tokio::select! {
                    () = work => false,
                    () = stop => true,
                },
            };
            told("out more");
            let output = if command.starts_with(LOUD) { "out ".repeat(LOUD_BYTES / 4) } else { "out".into() };
            Shell {
                command,
                output: output.into(),
                exit_code: (!cancelled).then_some(0),
                cancelled,
                truncated: false,
                total_lines: 1,
                total_bytes: 3,
                spilled: None,
                aside: false,
            }
        })
    }
    fn diff(&self, _: &[FileEdit]) -> Vec<FileDiff> {
        Vec::new()
    }
}

/// A list with so many open tasks and one that is done.
pub(super) fn list(open: u64) -> Vec<TodoPhase> {
    let task = |n: u64| TodoTask {
        id: format!("task-{n}").into(),
        content: format!("task {n}").into(),
        status: if n == 0 { TodoStatus::Completed } else { TodoStatus::Pending },
        notes: None,
    };
    vec![TodoPhase { id: "phase-1".into(), name: "all".into(), tasks: (0..=open).map(task).collect() }]
}

/// Something for a controller to do.
fn editor_request(which: u64) -> EditorRequestKind {
    match which {
        0 => EditorRequestKind::ReadText { path: "/nowhere/file".into() },
        1 => EditorRequestKind::WriteText { path: "/nowhere/file".into(), content: "x".into() },
        _ => EditorRequestKind::Run {
            program: "make".into(),
            args: Vec::new(),
            cwd: "/nowhere".into(),
            env: Vec::new(),
            output_bytes_max: 100,
        },
    }
}

struct SimTool {
    spec: ToolSpec,
    required: Required,
    gadget: Option<&'static str>,
    dice: Arc<Mutex<Dice>>,
    running: Arc<AtomicI64>,
    log: Option<(LossyStore, Arc<Findings>)>,
}

struct Running(Arc<AtomicI64>);
impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SimTool {
    fn roll(&self, below: u64) -> u64 {
        self.dice.lock().expect("nobody panics while holding this").below(below)
    }

    /// What it is about to do must not be news to the log.
    fn check_intent(&self, context: &CallContext) {
        let Some((log, findings)) = self.log.as_ref().filter(|_| self.required > Required::ReadOnly) else { return };
        let entries = log.entries(&context.session);
        let open = entries.iter().rev().find_map(|entry| match &entry.body {
            Body::Call(CallEntry::Started { call, .. }) if call.id == context.call => Some(true),
            Body::Call(CallEntry::Ended { result, .. }) if result.call == context.call => Some(false),
            _ => None,
        });
        if open != Some(true) {
            let (name, call) = (&self.spec.name, &context.call);
            findings.add(format!("{name} runs for call {call}, which the log does not know"));
        }
    }
}

impl Tool for SimTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn gadget(&self) -> Option<&str> {
        self.gadget
    }
    fn required(&self) -> Required {
        self.required
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        if input.as_str().contains("bad") {
            return Err("bad is no field of this tool".into());
        }
        if self.roll(60) == 0 {
            panic!("a scripted panic of a plan");
        }
        Ok(Plan {
            required: self.required,
            mutation: (self.required > Required::ReadOnly).then(|| "file".into()),
            summary: self.spec.name.clone(),
            preview: None,
        })
    }
    fn run(&self, _: Json, context: CallContext) -> Later<'static, Outcome> {
        self.check_intent(&context);
        if self.roll(60) == 0 {
            panic!("a scripted panic of a tool");
        }
        let (how, wait) = (self.roll(20), [0, 0, 1, 40, 900, 5000][self.roll(6) as usize]);
        self.running.fetch_add(1, Ordering::Relaxed);
        let running = Running(self.running.clone());
        let changes = self.required > Required::ReadOnly;
        let todos = (self.roll(5) == 0).then(|| self.roll(3));
        let editor_request = (self.roll(2) == 0).then(|| editor_request(self.roll(3)));
        Box::pin(async move {
            let _running = running;
            (context.progress)("on it");
            tokio::time::sleep(Duration::from_millis(wait)).await;
            if let (Some(editor_requests), Some(editor_request)) = (&context.editor_requests, editor_request) {
                editor_requests.run(editor_request).await;
            }
            match how {
                0 => panic!("a scripted panic of a running tool"),
                1 => tokio::time::sleep(Duration::from_secs(1_000_000)).await,
                2 => return Outcome::error("it did not work"),
                3 => return Outcome::text("nul \0 and \u{2028} and \u{1f600}"),
                _ => {}
            }
            let mut outcome = Outcome::text(format!("done {}", context.call));
            outcome.todos = todos.map(list);
            if changes {
                outcome.edits.push(FileEdit {
                    path: "file".into(),
                    before: Snapshot::Absent,
                    after: Snapshot::Text("x".into()),
                });
            }
            outcome
        })
    }
}
