//! `bash_resize`: the size of a background process's terminal.

use std::sync::Arc;

use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use super::SessionShell;
use super::args::{ResizeArgs, parse};
use super::background_tools::{find, granted};

const RESIZE_SCHEMA: &str = r#"{"type":"object","properties":{
"id":{"type":"string"},
"cols":{"type":"number"},
"rows":{"type":"number"}},
"required":["id","cols","rows"]}"#;

pub(super) struct BashResize {
    shell: Arc<SessionShell>,
    spec: ToolSpec,
}

impl BashResize {
    pub(super) fn new(shell: Arc<SessionShell>) -> Self {
        let description = "Changes the size of the terminal of a background process that was started with pty.";
        Self { shell, spec: crate::spec("bash_resize", description, RESIZE_SCHEMA) }
    }
}

impl Tool for BashResize {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn required(&self) -> Required {
        Required::ReadOnly
    }

    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let args: ResizeArgs = parse("bash_resize", input)?;
        let size = args.size()?;
        let process = find(&self.shell, "bash_resize", &args.id)?;
        let summary = format!("resize {} to {}x{}", args.id, size.cols, size.rows).into();
        Ok(Plan { required: process.required, mutation: None, summary, preview: None })
    }

    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let shell = Arc::clone(&self.shell);
        Box::pin(async move { resize(&shell, &input, &context).unwrap_or_else(Outcome::error) })
    }
}

fn resize(shell: &SessionShell, input: &Json, context: &CallContext) -> Result<Outcome, String> {
    let args: ResizeArgs = parse("bash_resize", input)?;
    let size = args.size()?;
    let process = find(shell, "bash_resize", &args.id)?;
    granted("bash_resize", &process, context)?;
    let id = &process.id;
    match process.resize(size) {
        Some(Ok(())) => Ok(Outcome::text(format!("The terminal of {id} is {}x{} now.", size.cols, size.rows))),
        Some(Err(error)) => Err(format!("bash_resize: {id}: {error}")),
        None if process.state().gone => {
            Err(format!("bash_resize: {id} has no terminal any more ({})", process.state().describe()))
        }
        None => Err(format!("bash_resize: {id} has no terminal; start it with `pty`")),
    }
}
