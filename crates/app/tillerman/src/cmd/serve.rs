//! `tillerman serve`: the `serve` dialect on stdin and stdout. Whatever keeps it from starting is said on the wire too,
//! because that is all a controller reads.

use std::time::Duration;

use config::Configuration;
use dialect_serve::{Serve, ServeOptions};
use vocab::{Fault, FaultKind, Mode, RetryPolicy, Settings};

use super::attached;
use super::stdio::{self, StdioLimits};
use crate::args;
use crate::compose;
use crate::extension_host;
use crate::setup::{self, Prepared};

/// Tool rounds of one turn, unless somebody says otherwise: controllers of this family count on them.
const ROUNDS: u32 = 20;
/// Longest wait that a model server may ask for in this dialect.
const SERVER_WAIT_MS_MAX: u64 = 30_000;

pub(crate) fn run(args: &args::ServeArgs) -> anyhow::Result<u8> {
    match attached::stdio(args.attach.attach.as_ref(), "/serve", refuse) {
        Some(ended) => ended,
        None => stdio::run(start(args), refuse),
    }
}

async fn start(args: &args::ServeArgs) -> Result<u8, Fault> {
    let Prepared { mut setup, config, open, extensions, .. } = setup::prepare(&args.basics, Mode::DangerFullAccess)?;
    settle(&mut setup.settings, &config);
    for warning in &config.warnings {
        host::note(warning);
    }
    let frame_log = stdio::frame_log(args.basics.log_frames.as_deref(), &setup.models.keyring)?;
    let asked = setup.models.wanted.model.is_some();
    let wired = compose::build(setup).await?;
    wired.warnings(asked).for_each(|note| host::note(note));
    let extension_host = extension_host::start(&wired, extensions, None).await;
    let dialect = Serve::new(ServeOptions {
        which: open.which,
        workspace: open.workspace,
        // What the name stood for.
        model: open.model.map(|_| wired.settings.model.clone()),
        mode: open.mode.or(config.mode()),
        multi: args.multi,
        usual: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    });
    let usual = StdioLimits::default();
    let grace = args.shutdown_grace.or(config.shutdown_grace_s()).map_or(usual.grace, Duration::from_secs);
    stdio::converse(dialect, &wired, extension_host, frame_log, StdioLimits { grace, ..usual }).await
}

/// How a session behaves under a controller of this family, where our own configuration does not say otherwise.
pub(super) fn settle(settings: &mut Settings, config: &Configuration) {
    // Three retries at fixed times: controllers of this family count on them.
    settings.retry = config.retry(RetryPolicy::default());
    settings.max_iterations = config.max_iterations(ROUNDS);
    settings.retry.server_wait_ms_max = settings.retry.server_wait_ms_max.min(SERVER_WAIT_MS_MAX);
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
