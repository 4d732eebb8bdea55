//! `tillerman acp`: the Agent Client Protocol on stdin and stdout. stdout is protocol only; whatever keeps it from starting is
//! one line on stderr.

use std::sync::Arc;
use std::time::Duration;

use dialect_acp::{Acp, AcpOptions, SlashInfo};
use vocab::names;
use vocab::{Fault, FaultKind, Gate, Mode};

use super::attached;
use super::stdio::{self, FAILED, FullIds, StdioLimits};
use crate::args;
use crate::compose;
use crate::extension_host;
use crate::setup::{self, Prepared};

/// The official clients take lines of up to 32 MiB; a longer one than this is refused and passed over.
const LINE_BYTES_MAX: usize = 48 * 1024 * 1024;
/// Clients wait two seconds after they close the pipe, then they send a signal. The dialect ends by itself as soon as
/// everything has stopped; this is for when that does not come about.
const GRACE: Duration = Duration::from_secs(1);
/// Commands that would put the client on another session behind its back, and one that it has a choice of its own for.
const UNOFFERED: [&str; 5] = ["clear", "resume", "sessions", "exit", "thinking"];

pub(crate) fn run(args: &args::AcpArgs) -> anyhow::Result<u8> {
    if let Some(args::AcpInstead::Login(login)) = &args.instead {
        return super::login::login(login);
    }
    let refuse = |fault: &Fault| refuse(&stdio::in_one_line(fault));
    match attached::stdio(args.attach.attach.as_ref(), "/acp", refuse) {
        Some(ended) => ended,
        None => stdio::run(start(args), refuse),
    }
}

/// One line on stderr, and the code to end with.
pub(crate) fn refuse(what: &str) -> u8 {
    stdio::refuse("tillerman", what, FAILED)
}

async fn start(args: &args::AcpArgs) -> Result<u8, Fault> {
    if args.basics.resume.is_some() {
        let fault = Fault::new(FaultKind::Invalid, "--resume means nothing here: a client opens sessions itself");
        return Err(fault.hint("clients use session/load and session/resume"));
    }
    let Prepared { mut setup, config, home, extensions, .. } = setup::prepare(&args.basics, Mode::Prompt)?;
    setup.settings.gate = Gate::Ladder;
    setup.settings.tool_names = names::CANONICAL;
    setup.briefing.skills = true;
    config.warnings.iter().for_each(|warning| host::note(warning));
    let frame_log = stdio::frame_log(args.basics.log_frames.as_deref(), &setup.models.keyring)?;
    let by_flag = args.basics.model.is_some();
    let asked = setup.models.wanted.model.is_some();
    let wired = compose::build(setup).await?;
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
    let limits = StdioLimits { line_bytes_max: LINE_BYTES_MAX, grace: GRACE, ..StdioLimits::default() };
    stdio::converse(dialect, &wired, extension_host, frame_log, limits).await
}

pub(super) fn commands() -> Vec<SlashInfo> {
    let stays = engine::COMMANDS.iter().filter(|command| !UNOFFERED.contains(&command.name));
    let info = |command: &engine::SlashCommand| SlashInfo {
        name: command.name.into(),
        description: command.summary.into(),
        hint: (!command.args.is_empty()).then(|| command.args.into()),
    };
    stays.map(info).collect()
}
