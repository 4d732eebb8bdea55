//! `tillerman acp`: the Agent Client Protocol on stdin and stdout. stdout is protocol only; whatever keeps it from starting is
//! one line on stderr.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use dialect_acp::{Acp, AcpOptions, SlashInfo};
use host::FrameLog;
use vocab::names;
use vocab::{Fault, FaultKind, Gate, IdKind, Ids, Mode};

use crate::args;
use crate::extension_host;
use crate::setup::{self, Prepared};
use crate::wiring;

/// It could not start.
const FAILED: u8 = 1;
/// The official clients take lines of up to 32 MiB; a longer one than this is refused and passed over.
const LINE_BYTES_MAX: usize = 48 * 1024 * 1024;
/// Clients wait two seconds after they close the pipe, then they send a signal. The dialect ends by itself as soon as
/// everything has stopped; this is for when that does not come about.
const GRACE: Duration = Duration::from_secs(1);
/// Commands that would put the client on another session behind its back, and one that it has a choice of its own for.
const UNOFFERED: [&str; 5] = ["clear", "resume", "sessions", "exit", "thinking"];

pub(crate) fn run(args: &args::Acp) -> anyhow::Result<u8> {
    if let Some(args::AcpInstead::Login(login)) = &args.instead {
        return super::login::login(login);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async {
        match start(args).await {
            Ok(code) => code,
            Err(fault) => {
                let hints: String = fault.hints.iter().map(|hint| format!("; {hint}")).collect();
                refuse(&format!("{}{hints}", fault.message))
            }
        }
    }))
}

/// One line, and the code to end with.
fn refuse(what: &str) -> u8 {
    let line = crate::print::one_line(what);
    // Nobody is left to tell when stderr is gone.
    let _ = writeln!(std::io::stderr().lock(), "tillerman: {line}");
    FAILED
}

async fn start(args: &args::Acp) -> Result<u8, Fault> {
    if args.basics.resume.is_some() {
        let fault = Fault::new(FaultKind::Invalid, "--resume means nothing here: a client opens sessions itself");
        return Err(fault.hint("clients use session/load and session/resume"));
    }
    let Prepared { mut setup, config, home, extensions, .. } = setup::prepare(&args.basics, Mode::Prompt)?;
    setup.settings.gate = Gate::Ladder;
    setup.settings.tool_names = names::CANONICAL;
    setup.briefing.skills = true;
    config.warnings.iter().for_each(|warning| host::note(warning));
    let frame_log =
        args.basics.log_frames.as_deref().map(|path| FrameLog::open(path, setup.keyring.clone())).transpose();
    let frame_log =
        frame_log.map_err(|error| Fault::new(FaultKind::Invalid, format!("cannot write the frame log: {error}")))?;
    let by_flag = args.basics.model.is_some();
    let asked = setup.wanted.model.is_some();
    let wired = wiring::build(setup).await?;
    wired.warnings(asked).for_each(|note| host::note(note));
    let extension_host =
        extension_host::start(&wired, extensions, Some(extension_host::skill_places(&wired, &home, &config))).await;
    let dialect = Acp::new(AcpOptions {
        mode: Some(wired.settings.mode),
        model: by_flag.then(|| wired.settings.model.clone()),
        commands: commands(),
        strict: args.strict,
        ..AcpOptions::new(env!("CARGO_PKG_VERSION"), Arc::new(FullIds))
    });
    let no_pipe = |error| Fault::new(FaultKind::Internal, format!("cannot use stdin and stdout: {error}"));
    let (input, output) = host::take().map_err(no_pipe)?;
    let options = host::Options {
        frame_bytes_max: LINE_BYTES_MAX,
        grace: GRACE,
        frame_log,
        signals: true,
        deaf: output.gone(),
        ..host::Options::default()
    };
    let ended = host::pump(dialect, &wired.engine, input, output, options).await;
    wired.ports.around.cancel_sign_ins("the process is shutting down");
    wired.engine.shutdown().await;
    extension_host.shutdown().await;
    Ok(ended.exit_code)
}

fn commands() -> Vec<SlashInfo> {
    let stays = engine::COMMANDS.iter().filter(|command| !UNOFFERED.contains(&command.name));
    let info = |command: &engine::SlashCommand| SlashInfo {
        name: command.name.into(),
        description: command.summary.into(),
        hint: (!command.args.is_empty()).then(|| command.args.into()),
    };
    stays.map(info).collect()
}

/// Messages are known by whole UUIDs.
struct FullIds;

impl Ids for FullIds {
    fn mint(&self, _: IdKind) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}
