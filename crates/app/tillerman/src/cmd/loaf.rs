//! `tillerman loaf`: the `loaf` dialect on stdin and stdout. stdout is protocol only; whatever keeps it from starting is one
//! line on stderr.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use catalogue::Standing;
use config::{Configuration, Home};
use dialect_loaf::{ANY_ROUTE, Loaf, LoafOptions};
use vocab::{Fault, FaultKind, Mode};

use super::attached;
use super::stdio::{self, FAILED, FullIds, StdioLimits};
use crate::args;
use crate::compose::{self, Wired};
use crate::extension_host;
use crate::setup::{self, Prepared};
use wires::loaf::{LoafPreferences, LoafService, PreferencesFile, model, settle};

/// An image of 8 MiB is some 11 MiB as base64; a longer line is refused and passed over.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The other side asked for the end, closed its pipe, or a signal came. The dialect stops what runs and ends by itself as
/// soon as everything is said; this is for when that does not come about.
const GRACE: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &args::LoafArgs) -> anyhow::Result<u8> {
    let refuse = |fault: &Fault| refuse(&stdio::in_one_line(fault));
    match attached::stdio(args.attach.attach.as_ref(), "/loaf", refuse) {
        Some(ended) => ended,
        None => stdio::run(start(args), refuse),
    }
}

/// One line, and the code to end with.
pub(crate) fn refuse(what: &str) -> u8 {
    stdio::refuse("[loaf] fatal", what, FAILED)
}

async fn start(args: &args::LoafArgs) -> Result<u8, Fault> {
    let LoafSetup { setup, config, home, file, kept, extensions } = ready(args)?;
    for warning in &config.warnings {
        host::note(warning);
    }
    let frame_log = stdio::frame_log(args.basics.log_frames.as_deref(), &setup.models.keyring)?;
    let asked = setup.models.wanted.model.is_some();
    let wired = compose::build(setup).await?;
    wired.notes.iter().for_each(|note| host::note(note));
    if is_without(&wired, asked) {
        host::note("no model is configured: the client has to connect a provider and select one");
    }
    let extension_host =
        extension_host::start(&wired, extensions, Some(extension_host::skill_places(&wired, &home, &config))).await;
    wired.accounts.route(kept.route.as_deref().filter(|route| *route != ANY_ROUTE).map(Arc::from));
    let dialect = Loaf::new(options(args, &wired, &kept, asked));
    let limits = StdioLimits { line_bytes_max: LINE_BYTES_MAX, grace: GRACE, ..StdioLimits::default() };
    let service = LoafService::new(wired.accounts.clone(), file, wired.settings.workspace.clone(), home.data);
    stdio::converse_with(dialect, service, &wired, extension_host, frame_log, limits).await
}

/// Everything that is decided before anything is built.
struct LoafSetup {
    setup: compose::Setup,
    config: Configuration,
    home: Home,
    file: PreferencesFile,
    kept: LoafPreferences,
    extensions: Vec<std::path::PathBuf>,
}

fn ready(args: &args::LoafArgs) -> Result<LoafSetup, Fault> {
    if args.basics.resume.is_some() {
        let fault = Fault::new(FaultKind::Invalid, "--resume means nothing here: a client opens sessions itself");
        return Err(fault.hint("a client resumes with `/history last` or `/history <id>`"));
    }
    let Prepared { mut setup, config, home, extensions, .. } = setup::prepare(&args.basics, Mode::DangerFullAccess)?;
    settle(&mut setup.settings, &config);
    setup.briefing.skills = true;
    let (file, kept) = PreferencesFile::open(&home.data);
    if let Some(trouble) = &kept.trouble {
        host::note(trouble);
    }
    // What was selected some earlier time is a habit: it is taken where it exists.
    setup.models.wanted.usual = kept.model.clone().map(|model| (None, model));
    Ok(LoafSetup { setup, config, home, file, kept, extensions })
}

/// How the dialect starts.
fn options(args: &args::LoafArgs, wired: &Wired, kept: &LoafPreferences, asked: bool) -> LoafOptions {
    let settings = &wired.settings;
    let by_flag = args.basics.model.is_some();
    let first = (!is_without(wired, asked)).then_some(&*settings.model);
    LoafOptions {
        workspace: Some(settings.workspace.clone()),
        mode: Some(settings.mode),
        model: model(&*wired.ports.provider, kept.model.as_deref().filter(|_| !by_flag), first).map(Arc::new),
        thinking: kept.thinking.as_deref().map(Arc::from),
        route: kept.route.as_deref().map(Arc::from),
        onboarded: kept.onboarded,
        ..LoafOptions::new(env!("CARGO_PKG_VERSION"), wired.ports.clock.clone(), Arc::new(FullIds))
    }
}

/// There is nothing but the tour, and nobody asked for that.
pub(super) fn is_without(wired: &Wired, asked: bool) -> bool {
    !asked && wired.integrations.model == Standing::NoProvider
}
