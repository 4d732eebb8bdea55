//! `bash_list`: the background processes of a session, one line each. Changes nothing.

use std::sync::Arc;

use serde_json::json;
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use super::SessionShell;
use super::background::BackgroundProcess;
use super::background_state::BackgroundPhase;

const LIST_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;

pub(super) struct BashList {
    shell: Arc<SessionShell>,
    spec: ToolSpec,
}

impl BashList {
    pub(super) fn new(shell: Arc<SessionShell>) -> Self {
        let description = "Lists the background processes of this session.";
        Self { shell, spec: crate::spec("bash_list", description, LIST_SCHEMA) }
    }
}

impl Tool for BashList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// For all tools of this shell.
    fn is_at_work(&self) -> bool {
        self.shell.background().all().iter().any(|process| !process.state().gone)
    }

    fn required(&self) -> Required {
        Required::ReadOnly
    }

    fn plan(&self, _: &Json) -> Result<Plan, String> {
        let summary = "list background processes".into();
        Ok(Plan { required: Required::ReadOnly, mutation: None, summary, preview: None })
    }

    fn run(&self, _: Json, _: CallContext) -> Later<'static, Outcome> {
        let shell = Arc::clone(&self.shell);
        Box::pin(async move { list(&shell) })
    }
}

/// One line and one record per process, the oldest first.
pub(super) fn list(shell: &SessionShell) -> Outcome {
    let processes = shell.background().all().to_vec();
    let rows: Vec<_> = processes.iter().map(|process| row(process)).collect();
    let text = match rows.is_empty() {
        true => "No background processes.".to_owned(),
        false => rows.iter().map(|(line, _)| line.as_str()).collect::<Vec<_>>().join("\n"),
    };
    let records: Vec<_> = rows.into_iter().map(|(_, record)| record).collect();
    let details = Json::trusted(json!({ "processes": records }).to_string());
    Outcome { details: Some(details), ..Outcome::text(text) }
}

fn row(process: &BackgroundProcess) -> (String, serde_json::Value) {
    let size = process.size();
    let state = process.state();
    let started = vocab::iso8601(process.started_ms);
    let (phase, code, signal) = match state.phase() {
        BackgroundPhase::Running => ("running", None, None),
        BackgroundPhase::Exited(code) => ("exited", Some(code), None),
        BackgroundPhase::Killed(signal) => ("killed", None, signal),
        BackgroundPhase::Failed => ("failed", None, None),
    };
    let terminal = size.map_or_else(String::new, |size| format!(", terminal {}x{}", size.cols, size.rows));
    let line = format!(
        "{}: {}: {} (started {started}, {} bytes unread{terminal})",
        process.id,
        state.describe(),
        process.command,
        state.unread()
    );
    let record = json!({
        "id": process.id,
        "command": process.command,
        "state": phase,
        "exitCode": code,
        "signal": signal,
        "startedAt": started,
        "unreadBytes": state.unread(),
        "droppedBytes": state.dropped(),
        "pty": size.map(|size| json!({ "cols": size.cols, "rows": size.rows })),
    });
    (line, record)
}
