//! `bash_stop`: ends a background process and everything it started.

use std::sync::Arc;
use std::time::Duration;

use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use super::SessionShell;
use super::args::{StopArgs, parse};
use super::background_state::BackgroundState;
use super::background_tools::{find, granted, tell_all};

/// The leash needs two seconds for those who ignore TERM, and a little to kill them.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);

const STOP_SCHEMA: &str = r#"{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}"#;

pub(super) struct BashStop {
    shell: Arc<SessionShell>,
    spec: ToolSpec,
}

impl BashStop {
    pub(super) fn new(shell: Arc<SessionShell>) -> Self {
        let description = "Ends a background process and everything it started.";
        Self { shell, spec: crate::spec("bash_stop", description, STOP_SCHEMA) }
    }
}

impl Tool for BashStop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn required(&self) -> Required {
        Required::ReadOnly
    }

    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let args: StopArgs = parse("bash_stop", input)?;
        let process = find(&self.shell, "bash_stop", &args.id)?;
        let summary = format!("stop {}", args.id).into();
        Ok(Plan { required: process.required, mutation: None, summary, preview: None })
    }

    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let shell = Arc::clone(&self.shell);
        Box::pin(async move { stop(&shell, &input, &context).await.unwrap_or_else(Outcome::error) })
    }
}

async fn stop(shell: &SessionShell, input: &Json, context: &CallContext) -> Result<Outcome, String> {
    let args: StopArgs = parse("bash_stop", input)?;
    let process = find(shell, "bash_stop", &args.id)?;
    granted("bash_stop", &process, context)?;
    process.stop();
    process.wait(STOP_TIME_MAX, |state: &BackgroundState| state.gone).await;
    let gone = process.state().gone;
    Ok(Outcome { is_error: !gone, ..tell_all(&process) })
}
