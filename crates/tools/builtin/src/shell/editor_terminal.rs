//! A command in a terminal of the controller, where its user watches it. It is judged as any other and what comes of it
//! is told as of any other; but the processes are the controller's, so nothing of it is left to us, neither to follow nor
//! to end. What is withdrawn is ended by the controller.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use vocab::{CallContext, Editor, EditorReply, EditorRequestKind, Json, Outcome, Required};

use process::leash;

use super::SessionShell;
use super::args::BashArgs;
use super::bash::{cwd, with_notes};
use super::capture::Capture;

/// Output that a controller is asked to keep; of more, the beginning is lost.
const OUTPUT_BYTES_MAX: u64 = 1024 * 1024;

/// The controller, if it has a terminal.
pub(super) fn of(context: &CallContext) -> Option<Arc<dyn Editor>> {
    context.editor_requests.clone().filter(|editor_requests| editor_requests.offered().terminal)
}

/// The same shell as without a controller. A command that may only read has it by its whole name, out of directories that
/// nobody writes to here, and without functions and start files that the controller's variables may bring along.
fn command_line(env: &[(Arc<str>, Arc<str>)], command: &str, granted: Required) -> (PathBuf, Vec<Arc<str>>) {
    let fenced = env.iter().find(|(name, _)| &**name == "PATH").map(|(_, path)| OsString::from(&**path));
    let program = leash::shell_in(fenced.or_else(|| std::env::var_os("PATH")).as_deref());
    let read_only = granted < Required::DangerFullAccess;
    let (program, first) = match program.ends_with("bash") {
        true if read_only => (program, Some("-p")),
        true => ("bash".into(), None),
        false => (program, None),
    };
    (program, first.into_iter().chain(["-c", command]).map(Arc::from).collect())
}

/// Runs a command that was checked.
pub(super) async fn run(
    shell: &SessionShell,
    args: &BashArgs,
    terminal: Arc<dyn Editor>,
    context: &CallContext,
) -> Outcome {
    let env = shell.options.environment_rules().on_top(context.granted);
    let (program, given) = command_line(&env, &args.command, context.granted);
    let kind = EditorRequestKind::Run {
        program,
        args: given,
        // Without the `.` at its end: controllers compare paths as they are written.
        cwd: cwd(shell, args).components().collect(),
        env,
        output_bytes_max: OUTPUT_BYTES_MAX,
    };
    let ran = tokio::time::timeout(args.timeout(), terminal.run(kind)).await;
    let mut capture = Capture::new(shell.options.spill_dir.clone());
    let mut notes = Vec::new();
    let (mut cut, mut code, mut by) = (false, None, None);
    match &ran {
        Ok(EditorReply::Ran { output, truncated, exit_code, signal }) => {
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
        Ok(EditorReply::Failed(why)) => {
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
