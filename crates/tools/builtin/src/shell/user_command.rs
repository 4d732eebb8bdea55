//! A command of the user's own: the same leash, environment and capture as the `bash` tool, but nobody judges it, no
//! time is set, and the one who started it is the one who stops it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use vocab::{Later, Progress, Required};

use crate::workspace::explain;
use process::leash::{self, LeashRequest, OnLeash, Report};

use super::SessionShell;
use super::background::Start;
use super::capture::{Capture, CapturedOutput};
use super::foreground::{End, follow};
use vocab::visible::headline;

/// After a stop, how long the end of the command is waited for. The leash kills what ignores the first signal two
/// seconds after it; whoever stopped it need not watch that.
const STOP_TIME_MAX: Duration = Duration::from_secs(1);
/// Lines shown of the output; of more, the first and the last are shown and all of them are kept in a file.
const LINES_MAX: usize = 2000;
/// What shells say when a command is there and cannot be started.
const CANNOT_START: i32 = 126;
/// What shells add to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;
const SIGKILL: i32 = 9;

/// Runs it to its end, or until `stop` is ready.
pub(crate) async fn run(
    shell: Arc<SessionShell>,
    cwd: PathBuf,
    command: String,
    told: Progress,
    stop: Later<'static, ()>,
) -> vocab::Shell {
    let held = match start(&shell, cwd, &command).await {
        Ok(held) => held,
        Err(why) => return cannot_start(&command, &why),
    };
    let OnLeash { mut control, mut output, .. } = held;
    let mut capture = Capture::new(shell.options.spill_dir.clone());
    let end = follow(&mut control, &mut output, &mut capture, &told, stop, STOP_TIME_MAX).await;
    if end.is_clean() {
        shell.keep(control).await;
    } else if end.left() {
        // It lives as long as the session's own background processes do, and the model can see and stop it there.
        let command = format!("left by: {}", headline(&command));
        let start = Start {
            command,
            control,
            output,
            input: None,
            ended: end.report,
            timeout: None,
            terminal: None,
            required: Required::DangerFullAccess,
        };
        shell.background().add(start);
    }
    if let Some(Report::Failed(errno)) = end.report {
        return cannot_start(&command, &std::io::Error::from_raw_os_error(errno).to_string());
    }
    came_out(&command, &end, capture.finish_within(LINES_MAX).await)
}

async fn start(shell: &SessionShell, cwd: PathBuf, command: &str) -> Result<OnLeash, String> {
    let cwd = leash::directory(&cwd).map_err(|error| explain(&cwd.display().to_string(), &error))?;
    let options = &shell.options;
    let request = LeashRequest {
        command: command.to_owned(),
        cwd,
        env: options.environment_rules().clean(std::env::vars_os(), Required::DangerFullAccess),
        pids_max: options.pids_max,
        terminal: None,
    };
    shell.hold(&request, false).await.map_err(|error| error.to_string())
}

fn came_out(command: &str, end: &End, shown: CapturedOutput) -> vocab::Shell {
    let exit_code = match end.report {
        _ if end.given_up => None,
        Some(Report::Exited { code, .. }) => Some(code),
        Some(Report::Killed { signal, .. }) => Some(BY_SIGNAL + signal),
        // Somebody killed the leash; what was under it is ended the same way.
        _ => Some(BY_SIGNAL + SIGKILL),
    };
    vocab::Shell {
        command: command.into(),
        output: shown.text.into(),
        exit_code,
        cancelled: end.given_up,
        truncated: shown.truncated,
        total_lines: shown.lines,
        total_bytes: shown.total,
        spilled: shown.spill.map(|path| path.display().to_string().into()),
        aside: false,
    }
}

pub(crate) fn cannot_start(command: &str, why: &str) -> vocab::Shell {
    let output = format!("cannot be started: {why}\n");
    vocab::Shell {
        command: command.into(),
        exit_code: Some(CANNOT_START),
        cancelled: false,
        truncated: false,
        total_lines: 2,
        total_bytes: output.len() as u64,
        output: output.into(),
        spilled: None,
        aside: false,
    }
}
