//! `bash_read`: what a background process wrote since the last read. Changes nothing but what counts as read.

use std::sync::Arc;

use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use super::SessionShell;
use super::args::{ReadArgs, parse};
use super::background::BackgroundProcess;
use super::background_tools::{find, tell};
use super::bash_list::list;

const READ_SCHEMA: &str = r#"{"type":"object","properties":{
"id":{"type":"string","description":"Id from bash."},
"wait_ms":{"type":"number","description":"Wait up to this long for new output, at most 60000."},
"max_bytes":{"type":"number","description":"At most 32768; the rest waits for the next read."}}}"#;

pub(super) struct BashRead {
    shell: Arc<SessionShell>,
    spec: ToolSpec,
}

impl BashRead {
    pub(super) fn new(shell: Arc<SessionShell>) -> Self {
        let description = "Returns the output of a background process since the last read, and whether it still runs.";
        Self { shell, spec: crate::spec("bash_read", description, READ_SCHEMA) }
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

async fn read(shell: &SessionShell, input: &Json) -> Result<Outcome, String> {
    let args: ReadArgs = parse("bash_read", input)?;
    let Some(id) = &args.id else { return Ok(list(shell)) };
    let process = find(shell, "bash_read", id)?;
    process.wait(args.wait(), BackgroundProcess::has_output).await;
    Ok(tell(&process, args.bytes_max()))
}
