//! `bash_list` and `bash_read`: looking at what runs in the background. Neither changes anything but what counts as
//! read.

use std::sync::Arc;

use serde_json::json;
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use super::Shell;
use super::args::{ReadArgs, parse};
use super::background::Process;
use super::state::{Phase, READ_BYTES_MAX};

const LIST_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;
const READ_SCHEMA: &str = r#"{"type":"object","properties":{
"id":{"type":"string","description":"Id from bash."},
"wait_ms":{"type":"number","description":"Wait up to this long for new output, at most 60000."},
"max_bytes":{"type":"number","description":"At most 32768; the rest waits for the next read."}}}"#;

pub(super) struct BashList {
    shell: Arc<Shell>,
    spec: ToolSpec,
}

pub(super) struct BashRead {
    shell: Arc<Shell>,
    spec: ToolSpec,
}

impl BashList {
    pub(super) fn new(shell: Arc<Shell>) -> Self {
        let description = "Lists the background processes of this session.";
        Self { shell, spec: crate::spec("bash_list", description, LIST_SCHEMA) }
    }
}

impl BashRead {
    pub(super) fn new(shell: Arc<Shell>) -> Self {
        let description = "Returns the output of a background process since the last read, and whether it still runs.";
        Self { shell, spec: crate::spec("bash_read", description, READ_SCHEMA) }
    }
}

/// The process with this id, or a sentence for the model that asked for it.
pub(super) fn find(shell: &Shell, tool: &str, id: &str) -> Result<Arc<Process>, String> {
    let registry = shell.background();
    registry.get(id).ok_or_else(|| {
        let known: Vec<&str> = registry.all().iter().map(|process| process.id.as_str()).collect();
        match known.is_empty() {
            true => format!("{tool}: there is no background process {id}; none was started"),
            false => format!("{tool}: there is no background process {id}; known: {}", known.join(", ")),
        }
    })
}

/// Output, then the state as the last line.
pub(super) fn tell(process: &Process, bytes_max: usize) -> Outcome {
    let mut state = process.state();
    let dropped = state.dropped();
    let mut text = state.take(bytes_max);
    if text.is_empty() {
        text.push_str("(no new output)");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("[{}: {}]", process.id, state.describe()));
    let details = json!({
        "id": process.id,
        "running": !state.gone,
        "state": state.describe(),
        "droppedBytes": dropped,
        "unreadBytes": state.unread(),
    });
    Outcome { details: Some(Json::trusted(details.to_string())), ..Outcome::text(text) }
}

/// One line and one record per process, the oldest first.
fn list(shell: &Shell) -> Outcome {
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

fn row(process: &Process) -> (String, serde_json::Value) {
    let size = process.size();
    let state = process.state();
    let started = vocab::iso8601(process.started_ms);
    let (phase, code, signal) = match state.phase() {
        Phase::Running => ("running", None, None),
        Phase::Exited(code) => ("exited", Some(code), None),
        Phase::Killed(signal) => ("killed", None, signal),
        Phase::Failed => ("failed", None, None),
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

impl Tool for BashList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
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

impl Tool for BashRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn required(&self) -> Required {
        Required::ReadOnly
    }

    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let args: ReadArgs = parse("bash_read", input)?;
        if let Some(id) = &args.id {
            find(&self.shell, "bash_read", id)?;
        }
        let summary = args.id.map_or_else(|| "list background processes".to_owned(), |id| format!("read {id}"));
        Ok(Plan { required: Required::ReadOnly, mutation: None, summary: summary.into(), preview: None })
    }

    fn run(&self, input: Json, _: CallContext) -> Later<'static, Outcome> {
        let shell = Arc::clone(&self.shell);
        Box::pin(async move { read(&shell, &input).await.unwrap_or_else(Outcome::error) })
    }
}

async fn read(shell: &Shell, input: &Json) -> Result<Outcome, String> {
    let args: ReadArgs = parse("bash_read", input)?;
    let Some(id) = &args.id else { return Ok(list(shell)) };
    let process = find(shell, "bash_read", id)?;
    process.wait(args.wait(), Process::has_output).await;
    Ok(tell(&process, args.bytes_max()))
}

/// What a tool that acts tells at its end: everything that fits.
pub(super) fn tell_all(process: &Process) -> Outcome {
    tell(process, READ_BYTES_MAX)
}
