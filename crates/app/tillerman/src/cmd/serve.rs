//! `tillerman serve`: the `serve` dialect on stdin and stdout. Whatever keeps it from starting is said on the wire too,
//! because that is all a controller reads.

use std::time::Duration;

use dialect_serve::{Options, Serve};
use host::FrameLog;
use vocab::{Fault, FaultKind, Mode, RetryPolicy};

use crate::args;
use crate::extension_host;
use crate::setup::{self, Prepared};
use crate::wiring;

/// Tool rounds of one turn, unless somebody says otherwise: controllers of this family count on them.
const ROUNDS: u32 = 20;
/// Longest wait that a model server may ask for in this dialect.
const SERVER_WAIT_MS_MAX: u64 = 30_000;

pub(crate) fn run(args: &args::Serve) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async {
        match start(args).await {
            Ok(code) => code,
            Err(fault) => refuse(&fault),
        }
    }))
}

async fn start(args: &args::Serve) -> Result<u8, Fault> {
    let Prepared { mut setup, config, open, extensions, .. } = setup::prepare(&args.basics, Mode::DangerFullAccess)?;
    // Three retries at fixed times: controllers of this family count on them.
    setup.settings.retry = config.retry(RetryPolicy::default());
    setup.settings.max_iterations = config.max_iterations(ROUNDS);
    setup.settings.retry.server_wait_ms_max = setup.settings.retry.server_wait_ms_max.min(SERVER_WAIT_MS_MAX);
    for warning in &config.warnings {
        host::note(warning);
    }
    let frame_log =
        args.basics.log_frames.as_deref().map(|path| FrameLog::open(path, setup.keyring.clone())).transpose();
    let frame_log =
        frame_log.map_err(|error| Fault::new(FaultKind::Invalid, format!("cannot write the frame log: {error}")))?;
    let asked = setup.wanted.model.is_some();
    let wired = wiring::build(setup).await?;
    wired.warnings(asked).for_each(|note| host::note(note));
    let extension_host = extension_host::start(&wired, extensions, None).await;
    let dialect = Serve::new(Options {
        which: open.which,
        workspace: open.workspace,
        // What the name stood for.
        model: open.model.map(|_| wired.settings.model.clone()),
        mode: open.mode.or(config.mode()),
        multi: args.multi,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    });
    let grace = args.shutdown_grace.or(config.shutdown_grace_s()).map(Duration::from_secs);
    let usual = host::Options::default();
    let no_pipe = |error| Fault::new(FaultKind::Internal, format!("cannot use stdin and stdout: {error}"));
    let (input, output) = host::take().map_err(no_pipe)?;
    let options =
        host::Options { grace: grace.unwrap_or(usual.grace), frame_log, signals: true, deaf: output.gone(), ..usual };
    let ended = host::pump(dialect, &wired.engine, input, output, options).await;
    wired.engine.shutdown().await;
    extension_host.shutdown().await;
    Ok(ended.exit_code)
}

/// One `error` line instead of `ready`.
fn refuse(fault: &Fault) -> u8 {
    say(&dialect_serve::cannot_start("bootstrap_failed", fault));
    super::USAGE
}

/// The command line itself was wrong.
pub(crate) fn refuse_flags(message: &str) -> u8 {
    say(&dialect_serve::cannot_start("invalid_flag", &Fault::new(FaultKind::Invalid, message)));
    super::USAGE
}

fn say(line: &str) {
    // Nobody is left to tell when stdout is gone.
    let _ = crate::print::exactly(line);
}
