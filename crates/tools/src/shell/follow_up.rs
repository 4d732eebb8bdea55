//! `bash_read`, `bash_write`, `bash_stop`: dealing with what runs in the background.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use super::Shell;
use super::args::{ReadArgs, StopArgs, WriteArgs, parse, summary};
use super::background::{Process, State};

/// The longest a read waits for output.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How long a write may wait for a process that does not read its input; then the call fails and says how far it came.
const WRITE_TIME_MAX: Duration = Duration::from_secs(5);
/// Longest input of one call; more is refused.
const INPUT_BYTES_MAX: usize = 1024 * 1024;
/// The leash needs two seconds for those who ignore TERM, and a little to kill them.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);

const READ_SCHEMA: &str = r#"{"type":"object","properties":{
"id":{"type":"string","description":"Id from bash; without it all background processes are listed."},
"wait_ms":{"type":"number","description":"Wait up to this long for new output, at most 60000."}}}"#;
const WRITE_SCHEMA: &str = r#"{"type":"object","properties":{
"id":{"type":"string"},
"input":{"type":"string","description":"Text for standard input; end a line with \n yourself."},
"eof":{"type":"boolean","description":"Close standard input afterwards."}},
"required":["id","input"]}"#;
const STOP_SCHEMA: &str = r#"{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}"#;

pub(super) struct BashRead {
    shell: Arc<Shell>,
    spec: ToolSpec,
}

pub(super) struct BashWrite {
    shell: Arc<Shell>,
    spec: ToolSpec,
}

pub(super) struct BashStop {
    shell: Arc<Shell>,
    spec: ToolSpec,
}

fn spec(name: &str, description: &str, schema: &str) -> ToolSpec {
    ToolSpec { name: name.into(), description: description.into(), schema: Json::trusted(schema) }
}

impl BashRead {
    pub(super) fn new(shell: Arc<Shell>) -> Self {
        let description = "Returns the output of a background process since the last read, and whether it still runs.";
        Self { shell, spec: spec("bash_read", description, READ_SCHEMA) }
    }
}

impl BashWrite {
    pub(super) fn new(shell: Arc<Shell>) -> Self {
        let description = "Writes to the standard input of a background process.";
        Self { shell, spec: spec("bash_write", description, WRITE_SCHEMA) }
    }
}

impl BashStop {
    pub(super) fn new(shell: Arc<Shell>) -> Self {
        let description = "Ends a background process and everything it started.";
        Self { shell, spec: spec("bash_stop", description, STOP_SCHEMA) }
    }
}

fn find(shell: &Shell, tool: &str, id: &str) -> Result<Arc<Process>, String> {
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
fn tell(process: &Process) -> Outcome {
    let mut state = process.state();
    let mut text = state.take();
    if text.is_empty() {
        text.push_str("(no new output)");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("[{}: {}]", process.id, state.describe()));
    let details = serde_json::json!({ "id": process.id, "running": !state.gone, "state": state.describe() });
    Outcome { details: Some(Json::trusted(details.to_string())), ..Outcome::text(text) }
}

fn list(shell: &Shell) -> Outcome {
    let registry = shell.background();
    if registry.all().is_empty() {
        return Outcome::text("No background processes.");
    }
    let line = |process: &Arc<Process>| format!("{}: {}: {}", process.id, process.state().describe(), process.command);
    Outcome::text(registry.all().iter().map(line).collect::<Vec<_>>().join("\n"))
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
        Box::pin(async move {
            let found = parse::<ReadArgs>("bash_read", &input).and_then(|args| match &args.id {
                Some(id) => find(&shell, "bash_read", id).map(|process| Some((process, args.wait_ms))),
                None => Ok(None),
            });
            match found {
                Ok(None) => list(&shell),
                Ok(Some((process, wait_ms))) => {
                    let seconds = (wait_ms.unwrap_or(0.0) / 1000.0).clamp(0.0, WAIT_MAX.as_secs_f64());
                    process.wait(Duration::from_secs_f64(seconds), Process::has_output).await;
                    tell(&process)
                }
                Err(message) => Outcome::error(message),
            }
        })
    }
}

impl Tool for BashWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn required(&self) -> Required {
        Required::DangerFullAccess
    }

    /// Input to an unknown program may be anything, a command line included.
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let args: WriteArgs = parse("bash_write", input)?;
        find(&self.shell, "bash_write", &args.id)?;
        Ok(Plan {
            required: Required::DangerFullAccess,
            summary: format!("{}: {}", args.id, summary(&args.input)).into(),
            mutation: Some(args.input.into()),
            preview: None,
        })
    }

    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let shell = Arc::clone(&self.shell);
        Box::pin(async move {
            let found = parse::<WriteArgs>("bash_write", &input)
                .and_then(|args| find(&shell, "bash_write", &args.id).map(|process| (process, args)));
            match found {
                Ok(_) if context.granted < Required::DangerFullAccess => {
                    Outcome::error("bash_write: needs danger-full-access; nothing was written")
                }
                Ok((process, args)) => write(&process, &args).await.unwrap_or_else(Outcome::error),
                Err(message) => Outcome::error(message),
            }
        })
    }
}

async fn write(process: &Process, args: &WriteArgs) -> Result<Outcome, String> {
    let id = &process.id;
    if args.input.len() > INPUT_BYTES_MAX {
        return Err(format!("bash_write: at most {INPUT_BYTES_MAX} bytes at once"));
    }
    let mut input = process.input.lock().await;
    let Some(pipe) = input.as_mut() else {
        return Err(format!("bash_write: the input of {id} is closed ({})", process.state().describe()));
    };
    let mut rest = args.input.as_bytes();
    let deadline = tokio::time::Instant::now() + WRITE_TIME_MAX;
    while !rest.is_empty() {
        match tokio::time::timeout_at(deadline, pipe.write(rest)).await {
            Ok(Ok(count)) => rest = &rest[count..],
            Ok(Err(error)) => return Err(format!("bash_write: {id} does not read its input: {error}")),
            Err(_) => {
                let done = args.input.len() - rest.len();
                return Err(format!("bash_write: {id} took only {done} bytes and does not read on"));
            }
        }
    }
    if args.eof {
        input.take();
    }
    Ok(Outcome::text(format!("Wrote {} bytes to {id}.", args.input.len())))
}

impl Tool for BashStop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// It can only end what this session was allowed to start.
    fn required(&self) -> Required {
        Required::ReadOnly
    }

    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let args: StopArgs = parse("bash_stop", input)?;
        find(&self.shell, "bash_stop", &args.id)?;
        let summary = format!("stop {}", args.id).into();
        Ok(Plan { required: Required::ReadOnly, mutation: None, summary, preview: None })
    }

    fn run(&self, input: Json, _: CallContext) -> Later<'static, Outcome> {
        let shell = Arc::clone(&self.shell);
        Box::pin(async move {
            let found = parse::<StopArgs>("bash_stop", &input).and_then(|args| find(&shell, "bash_stop", &args.id));
            match found {
                Ok(process) => {
                    process.stop();
                    process.wait(STOP_TIME_MAX, |state: &State| state.gone).await;
                    let gone = process.state().gone;
                    Outcome { is_error: !gone, ..tell(&process) }
                }
                Err(message) => Outcome::error(message),
            }
        })
    }
}
