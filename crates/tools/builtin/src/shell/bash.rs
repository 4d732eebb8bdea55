//! The `bash` tool: one command line, in the foreground or handed to the background.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use vocab::visible::headline;
use vocab::{CallContext, Fact, Json, Later, Outcome, Plan, ProcessEnd, Required, Tool, ToolSpec};

use crate::workspace::{Access, ResolvedPath, Workspace, explain};
use process::leash::{LeashRequest, OnLeash, Report};

use super::args::BashArgs;
use super::background::{RUNNING_MAX, Start};
use super::capture::{Capture, CapturedOutput};
use super::classify::reading;
use super::foreground::{End, follow};
use super::{SessionShell, disk_check, editor_terminal};

/// After a timeout the leash needs two seconds and a little to end everything; then we stop waiting for its report.
const STOP_TIME_MAX: Duration = Duration::from_secs(4);

const DESCRIPTION: &str = "Runs a command line with bash in the workspace and returns its output (standard output \
and error together). Default timeout 120 s. Long output is shortened in the middle and kept in a file that read_file \
can page through. Set run_in_background for servers and watchers, and pty for programs that need a terminal; then use \
bash_read, bash_write and bash_stop with the returned id. In the foreground standard input is empty, and there is no \
terminal: do not start editors or pagers.";

const SCHEMA: &str = r#"{"type":"object","properties":{
"command":{"type":"string","description":"The command line."},
"timeout":{"type":"number","description":"Milliseconds before everything the command started is ended; at most 600000."},
"timeout_s":{"type":"number","description":"The same in seconds."},
"description":{"type":"string","description":"What the command does, in a few words, for the person who watches."},
"run_in_background":{"type":"boolean","description":"Return at once with an id instead of waiting."},
"pty":{"type":"boolean","description":"With run_in_background: on a terminal, for interactive programs."},
"cols":{"type":"number","description":"Of that terminal; 80."},
"rows":{"type":"number","description":"Of that terminal; 24."},
"cwd":{"type":"string","description":"Directory to run in, relative to the workspace."}},
"required":["command"]}"#;

pub(super) struct Bash {
    shell: Arc<SessionShell>,
    spec: ToolSpec,
}

impl Bash {
    pub(super) fn new(shell: Arc<SessionShell>) -> Self {
        Self { shell, spec: crate::spec("bash", DESCRIPTION, SCHEMA) }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn required(&self) -> Required {
        Required::ReadOnly
    }
    /// Few commands can be seen to do nothing but read.
    fn most(&self) -> Required {
        Required::DangerFullAccess
    }

    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let args = BashArgs::parse(input)?;
        let required = needs(&args, &self.shell.workspace);
        Ok(Plan {
            required,
            mutation: (required > Required::ReadOnly).then(|| args.command.as_str().into()),
            summary: headline(&args.command).into(),
            preview: Some(facts(&args, &self.shell.options.workspace).into()),
        })
    }

    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let shell = Arc::clone(&self.shell);
        Box::pin(async move {
            let checked = match check(&shell, &input, &context) {
                Ok(checked) => checked,
                Err(message) => return Outcome::error(message),
            };
            let in_background = checked.args.in_background();
            if let Some(terminal) = editor_terminal::of(&context).filter(|_| !in_background) {
                return editor_terminal::run(&shell, &checked.args, terminal, &context).await;
            }
            let watched = context.processes.as_ref().map(|watch| watch.starts("bash", &checked.args.command));
            let variables = watched.as_ref().map(|watched| watched.variables()).unwrap_or_default();
            let (outcome, end) = match start(&shell, &checked, &context, variables).await {
                Ok(held) if in_background => (background(&shell, &checked, held), ProcessEnd::LeftRunning),
                Ok(held) => foreground(&shell, &checked, held, &context).await,
                Err(message) => (Outcome::error(message), ProcessEnd::NotStarted),
            };
            if let Some(watched) = watched {
                watched.ended(end);
            }
            outcome
        })
    }
}

/// What a person has to know of the call: the command, and whatever makes it run otherwise than they would expect.
fn facts(args: &BashArgs, workspace: &Path) -> Vec<Fact> {
    let mut facts = vec![Fact::text("command", &args.command)];
    if let Some(cwd) = &args.cwd {
        let named = workspace.join(cwd);
        let real = named.canonicalize();
        if real.as_ref().ok() != workspace.canonicalize().ok().as_ref() {
            let place = match real.ok().filter(|real| *real != named) {
                Some(real) => format!("{} (named {cwd})", real.display()),
                None => named.display().to_string(),
            };
            facts.push(Fact::line("directory", &place));
        }
    }
    match args.terminal() {
        Ok(Some(size)) => {
            let how = format!("in the background, on a terminal of {}x{}", size.cols, size.rows);
            facts.push(Fact::line("runs", &how));
        }
        _ if args.in_background() => facts.push(Fact::line("runs", "in the background")),
        _ => {}
    }
    if let Ok(Some(limit)) = args.asked_timeout() {
        facts.push(Fact::line("time limit", &format!("{} s", limit.as_secs_f64())));
    }
    facts
}

/// What the call needs: the command's class, and full access for a directory outside the workspace or a terminal. With
/// a keyboard, many a harmless reader offers to run commands.
fn needs(args: &BashArgs, workspace: &Workspace) -> Required {
    match only_reads(args, workspace) {
        true => Required::ReadOnly,
        false => Required::DangerFullAccess,
    }
}

fn only_reads(args: &BashArgs, workspace: &Workspace) -> bool {
    // A search of a workspace in which our own keys or conversations lie could find them.
    if !matches!(args.terminal(), Ok(None)) || workspace.holds_secrets() {
        return false;
    }
    // A directory that cannot be resolved cannot be run in either; what it needs does not matter then.
    let Ok(ResolvedPath::Inside(dir)) = workspace.place(place_of(args)) else { return false };
    let reading = reading(&args.command, workspace.path());
    reading.is_some_and(|reading| disk_check::holds(&reading, workspace, &dir))
}

fn place_of(args: &BashArgs) -> &str {
    args.cwd.as_deref().unwrap_or(".")
}

/// A call that may run.
struct Checked {
    args: BashArgs,
    /// Where: held, so that no rename leads it elsewhere.
    cwd: Arc<OwnedFd>,
    needed: Required,
}

/// Checks the call against what was granted.
fn check(shell: &SessionShell, input: &Json, context: &CallContext) -> Result<Checked, String> {
    let args = BashArgs::parse(input)?;
    let needed = needs(&args, &shell.workspace);
    if needed > context.granted {
        return Err(format!(
            "bash: this command needs {}, but only {} was granted; it was not run",
            needed.as_str(),
            context.granted.as_str()
        ));
    }
    let cwd = directory(shell, &args, context.granted).map_err(|error| format!("bash: {error}"))?;
    Ok(Checked { args, cwd: Arc::new(cwd), needed })
}

/// Where the command runs, by name: for a controller, which has its own processes.
pub(super) fn cwd(shell: &SessionShell, args: &BashArgs) -> PathBuf {
    shell.options.workspace.join(place_of(args))
}

fn directory(shell: &SessionShell, args: &BashArgs, granted: Required) -> Result<OwnedFd, String> {
    let path = place_of(args);
    let spot = shell.workspace.spot(path, Access::Read, granted)?;
    spot.open_dir().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("the directory {path} does not exist"),
        _ => explain(path, &error),
    })
}

/// Starts a command that was checked.
async fn start(
    shell: &SessionShell,
    checked: &Checked,
    context: &CallContext,
    more: Vec<(Arc<str>, Arc<str>)>,
) -> Result<OnLeash, String> {
    let (args, cwd) = (&checked.args, Arc::clone(&checked.cwd));
    let options = &shell.options;
    if args.in_background() && !shell.background().has_room() {
        return Err(format!(
            "bash: {RUNNING_MAX} background processes are running, no more are allowed; end some with bash_stop \
             (bash_list shows them)"
        ));
    }
    let mut env = options.environment_rules().clean(std::env::vars_os(), context.granted);
    let terminal = args.terminal()?;
    if terminal.is_some() {
        process::on_terminal(&mut env);
    }
    for (name, value) in more {
        env.retain(|(known, _)| *known != *name);
        env.push(((*name).into(), (*value).into()));
    }
    let request = LeashRequest { command: args.command.clone(), cwd, env, pids_max: options.pids_max, terminal };
    shell.hold(&request, args.in_background()).await.map_err(|error| format!("bash: {error}"))
}

fn background(shell: &SessionShell, checked: &Checked, held: OnLeash) -> Outcome {
    let args = &checked.args;
    let start = Start {
        command: headline(&args.command),
        control: held.control,
        output: held.output,
        input: held.input,
        terminal: held.terminal,
        required: checked.needed,
        ended: None,
        timeout: args.asked_timeout().ok().flatten(),
    };
    match shell.background().add(start) {
        Some(process) => Outcome {
            details: Some(Json::trusted(serde_json::json!({ "id": process.id }).to_string())),
            ..Outcome::text(format!(
                "Started in the background as {}. Use bash_read, bash_write or bash_stop with this id.",
                process.id
            ))
        },
        None => Outcome::error(format!("bash: {RUNNING_MAX} background processes are running, no more are allowed")),
    }
}

async fn foreground(
    shell: &SessionShell,
    checked: &Checked,
    held: OnLeash,
    context: &CallContext,
) -> (Outcome, ProcessEnd) {
    let args = &checked.args;
    let OnLeash { mut control, mut output, .. } = held;
    let mut capture = Capture::new(shell.options.spill_dir.clone());
    let timeout = tokio::time::sleep(args.timeout());
    let end = follow(&mut control, &mut output, &mut capture, &context.progress, timeout, STOP_TIME_MAX).await;
    if end.is_clean() {
        shell.keep(control).await;
        return (outcome(&end, capture.finish().await, None, args.timeout()), process_end(&end));
    }
    let left_as = end.left().then(|| {
        let command = format!("left by: {}", headline(&args.command));
        let required = checked.needed;
        let (ended, timeout) = (end.report, None);
        let start = Start { command, control, output, input: None, terminal: None, required, ended, timeout };
        shell.background().add(start).map(|process| process.id.clone())
    });
    (outcome(&end, capture.finish().await, left_as, args.timeout()), process_end(&end))
}

/// For whoever looks on.
fn process_end(end: &End) -> ProcessEnd {
    match end.report {
        _ if end.given_up || end.too_many.is_some() => ProcessEnd::GivenUp,
        Some(Report::Exited { code, .. }) => ProcessEnd::Exited(code),
        Some(Report::Killed { signal, .. }) => ProcessEnd::Killed(signal),
        Some(Report::Failed(_)) => ProcessEnd::NotStarted,
        _ => ProcessEnd::GivenUp,
    }
}

/// What the model reads: the output, and what is to be said of it.
pub(super) fn with_notes(shown: &CapturedOutput, notes: &[String]) -> String {
    let mut text = if shown.total == 0 { "(no output)".to_owned() } else { shown.text.clone() };
    for note in notes {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(note);
    }
    text
}

fn outcome(end: &End, shown: CapturedOutput, left_as: Option<Option<String>>, timeout: Duration) -> Outcome {
    let mut notes = Vec::new();
    match &left_as {
        Some(Some(id)) => notes.push(format!("[processes it started still run, as {id}; see bash_read and bash_stop]")),
        Some(None) => notes
            .push(format!("[processes it started were ended: {RUNNING_MAX} background processes are running already]")),
        None => {}
    }
    let mut failed = true;
    match end.report {
        _ if end.given_up => notes.push(format!("[timed out after {} s]", timeout.as_secs_f64())),
        _ if end.too_many.is_some() => notes
            .push(format!("[ended: it had {} processes at once, more than allowed]", end.too_many.unwrap_or_default())),
        Some(Report::Exited { code: 0, .. }) => failed = false,
        Some(Report::Exited { code, .. }) => notes.push(format!("[exit code {code}]")),
        Some(Report::Killed { signal, .. }) => notes.push(format!("[killed by signal {signal}]")),
        Some(Report::Failed(errno)) => {
            notes.push(format!("[could not be started: {}]", std::io::Error::from_raw_os_error(errno)));
        }
        _ => notes.push("[the supervisor of the command was killed; what it had started was ended]".to_owned()),
    }
    let text = with_notes(&shown, &notes);
    let details = serde_json::json!({
        "exitCode": match end.report { Some(Report::Exited { code, .. }) => Some(code), _ => None },
        "signal": match end.report { Some(Report::Killed { signal, .. }) => Some(signal), _ => None },
        "timedOut": end.given_up,
        "truncated": shown.truncated,
        "totalBytes": shown.total,
        "spill": shown.spill.as_ref().map(|path| path.display().to_string()),
        "background": left_as.flatten(),
    });
    Outcome { is_error: failed, details: Some(Json::trusted(details.to_string())), ..Outcome::text(text) }
}
