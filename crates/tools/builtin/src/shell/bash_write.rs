//! `bash_write`: text and keys for the input of a background process.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use vocab::visible::headline;
use vocab::{CallContext, Fact, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use super::args::{WriteArgs, parse};
use super::background::BackgroundProcess;
use super::background_tools::{find, granted};
use super::{SessionShell, terminal_keys};

/// How long a write may wait for a process that does not read its input; then the call fails and says how far it came.
const WRITE_TIME_MAX: Duration = Duration::from_secs(5);
/// Longest input of one call; more is refused.
const INPUT_BYTES_MAX: usize = 1024 * 1024;
/// What a terminal makes an end of input of, at the start of a line.
const END_OF_INPUT: u8 = 4;

const WRITE_SCHEMA: &str = r#"{"type":"object","properties":{
"id":{"type":"string"},
"input":{"type":"string","description":"Text for standard input; end a line with \n yourself."},
"keys":{"type":"array","items":{"type":"string"},"description":"On a terminal: keys to press after the text: enter, esc, up, ctrl+c, ..."},
"eof":{"type":"boolean","description":"End standard input afterwards."}},
"required":["id"]}"#;

pub(super) struct BashWrite {
    shell: Arc<SessionShell>,
    spec: ToolSpec,
}

impl BashWrite {
    pub(super) fn new(shell: Arc<SessionShell>) -> Self {
        let description = "Writes to the standard input of a background process, or types on its terminal.";
        Self { shell, spec: crate::spec("bash_write", description, WRITE_SCHEMA) }
    }
}

impl Tool for BashWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn required(&self) -> Required {
        Required::ReadOnly
    }

    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let args: WriteArgs = parse("bash_write", input)?;
        let process = find(&self.shell, "bash_write", &args.id)?;
        pressed(&args)?;
        let keys = args.keys()?;
        let typed = [args.text(), keys.join(" ")].join(if keys.is_empty() { "" } else { " " });
        let typed = typed.trim_start_matches(' ');
        Ok(Plan {
            required: process.required,
            summary: format!("{}: {}", args.id, headline(typed)).into(),
            mutation: Some(typed.into()),
            preview: Some(facts(&args, &process, &keys).into()),
        })
    }

    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let shell = Arc::clone(&self.shell);
        Box::pin(async move { write(&shell, &input, &context).await.unwrap_or_else(Outcome::error) })
    }
}

/// Into what is typed, and all that is.
fn facts(args: &WriteArgs, process: &BackgroundProcess, keys: &[&str]) -> Vec<Fact> {
    let mut facts = vec![Fact::line("process", &format!("{}: {}", process.id, process.command))];
    if !args.text().is_empty() {
        facts.push(Fact::text("input", &args.text()));
    }
    if !keys.is_empty() {
        facts.push(Fact::line("keys", &keys.join(" ")));
    }
    if args.eof {
        facts.push(Fact::line("then", "the end of input"));
    }
    facts
}

/// The bytes of the keys.
fn pressed(args: &WriteArgs) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for name in args.keys()? {
        let key = terminal_keys::bytes(name);
        bytes.extend(
            key.ok_or_else(|| format!("bash_write: there is no key `{name}`; known: {}", terminal_keys::KNOWN))?,
        );
    }
    Ok(bytes)
}

async fn write(shell: &SessionShell, input: &Json, context: &CallContext) -> Result<Outcome, String> {
    let args: WriteArgs = parse("bash_write", input)?;
    let process = find(shell, "bash_write", &args.id)?;
    granted("bash_write", &process, context)?;
    let id = &process.id;
    let keys = pressed(&args)?;
    let mut bytes = args.text().into_bytes();
    if bytes.is_empty() && keys.is_empty() && !args.eof {
        return Err("bash_write: nothing to write: give `input`, `keys` or `eof`".into());
    }
    if bytes.len() > INPUT_BYTES_MAX {
        return Err(format!("bash_write: at most {INPUT_BYTES_MAX} bytes at once"));
    }
    if process.state().gone {
        return Err(format!("bash_write: the input of {id} is closed ({})", process.state().describe()));
    }
    let on_terminal = process.size().is_some();
    if !keys.is_empty() && !on_terminal {
        return Err(format!("bash_write: {id} has no terminal, so there are no keys; start it with `pty`"));
    }
    bytes.extend(keys);
    if args.eof && on_terminal {
        bytes.push(END_OF_INPUT);
    }
    pass_on(&process, &bytes).await?;
    if args.eof && !on_terminal {
        process.input.lock().await.take();
    }
    Ok(Outcome::text(format!("Wrote {} bytes to {id}.", bytes.len())))
}

async fn pass_on(process: &BackgroundProcess, bytes: &[u8]) -> Result<(), String> {
    let id = &process.id;
    let mut input = process.input.lock().await;
    let Some(pipe) = input.as_mut() else {
        return Err(format!("bash_write: the input of {id} is closed ({})", process.state().describe()));
    };
    let mut rest = bytes;
    let deadline = tokio::time::Instant::now() + WRITE_TIME_MAX;
    while !rest.is_empty() {
        match tokio::time::timeout_at(deadline, pipe.write(rest)).await {
            Ok(Ok(count @ 1..)) => rest = &rest[count..],
            Ok(Ok(_)) => return Err(format!("bash_write: {id} takes no more input")),
            Ok(Err(error)) => return Err(format!("bash_write: {id} does not read its input: {error}")),
            Err(_) => {
                let done = bytes.len() - rest.len();
                return Err(format!("bash_write: {id} took only {done} bytes and does not read on"));
            }
        }
    }
    Ok(())
}
