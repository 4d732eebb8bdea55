//! A command in a terminal of the controller, where its user watches it. It is judged as any other and what comes of it
//! is told as of any other; but the processes are the controller's, so nothing of it is left to us, neither to follow nor
//! to end. What is withdrawn is ended by the controller.

use std::sync::Arc;

use vocab::{CallContext, ErrandKind, ErrandResult, Errands, Json, Outcome};

use super::args::BashArgs;
use super::bash::{cwd, with_notes};
use super::capture::Capture;
use super::{Shell, environment};

/// Output that a controller is asked to keep; of more, the beginning is lost.
const OUTPUT_BYTES_MAX: u64 = 1024 * 1024;

/// The controller, if it has a terminal.
pub(super) fn of(context: &CallContext) -> Option<Arc<dyn Errands>> {
    context.errands.clone().filter(|errands| errands.offered().terminal)
}

/// Runs a command that was checked.
pub(super) async fn run(shell: &Shell, args: &BashArgs, terminal: Arc<dyn Errands>, context: &CallContext) -> Outcome {
    let kind = ErrandKind::Run {
        command: args.command.as_str().into(),
        cwd: cwd(shell, args),
        env: environment::on_top(&shell.options, context.granted),
        output_bytes_max: OUTPUT_BYTES_MAX,
    };
    let ran = tokio::time::timeout(args.timeout(), terminal.run(kind)).await;
    let mut capture = Capture::new(shell.options.spill_dir.clone());
    let mut notes = Vec::new();
    let (mut cut, mut code, mut by) = (false, None, None);
    match &ran {
        Ok(ErrandResult::Ran { output, truncated, exit_code, signal }) => {
            capture.push(output.as_bytes()).await;
            (cut, code, by) = (*truncated, *exit_code, signal.clone());
            if cut {
                notes.push("[the beginning of the output is lost: the controller keeps only its end]".to_owned());
            }
            match (code, &by) {
                (Some(0), _) => {}
                (Some(code), _) => notes.push(format!("[exit code {code}]")),
                (None, Some(signal)) => notes.push(format!("[killed by signal {signal}]")),
                (None, None) => notes.push("[the controller does not say how it ended]".to_owned()),
            }
        }
        Ok(ErrandResult::Failed(why)) => {
            return Outcome::error(format!("bash: the controller could not run the command: {why}"));
        }
        Ok(_) => return Outcome::error("bash: the controller could not run the command: its answer does not fit"),
        Err(_) => notes.push(format!(
            "[timed out after {} s; its output stayed with the controller]",
            args.timeout().as_secs_f64()
        )),
    }
    let shown = capture.finish().await;
    let details = serde_json::json!({
        "exitCode": code,
        "signal": by.as_deref(),
        "timedOut": ran.is_err(),
        "truncated": cut || shown.truncated,
        "totalBytes": shown.total,
        "spill": shown.spill.as_ref().map(|path| path.display().to_string()),
        "background": null,
    });
    let text = with_notes(&shown, &notes);
    Outcome { is_error: code != Some(0), details: Some(Json::trusted(details.to_string())), ..Outcome::text(text) }
}
