//! `tillerman loaf`: the `loaf` dialect on stdin and stdout. stdout is protocol only; whatever keeps it from starting is one
//! line on stderr.

mod kept;
mod settle;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use dialect_loaf::{ANY_ROUTE, Loaf, Options};
use host::FrameLog;
use vocab::{Fault, FaultKind, IdKind, Ids, Mode, ModelInfo, Provider};

use crate::args;
use crate::config::{Config, Home};
use crate::extension_host;
use crate::setup::{self, Prepared};
use crate::wiring::{self, Standing, Wired};
use kept::{Kept, KeptFile};

/// It could not start.
const FAILED: u8 = 1;
/// A picture of 8 MiB is some 11 MiB as base64; a longer line is refused and passed over.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The other side asked for the end, closed its pipe, or a signal came. The dialect stops what runs and ends by itself as
/// soon as everything is said; this is for when that does not come about.
const GRACE: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &args::Loaf) -> anyhow::Result<u8> {
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
pub(crate) fn refuse(what: &str) -> u8 {
    let line = crate::print::one_line(what);
    // Nobody is left to tell when stderr is gone.
    let _ = writeln!(std::io::stderr().lock(), "[loaf] fatal: {line}");
    FAILED
}

async fn start(args: &args::Loaf) -> Result<u8, Fault> {
    let Ready { setup, config, home, kept, extensions } = ready(args)?;
    for warning in &config.warnings {
        host::note(warning);
    }
    let frame_log =
        args.basics.log_frames.as_deref().map(|path| FrameLog::open(path, setup.keyring.clone())).transpose();
    let frame_log =
        frame_log.map_err(|error| Fault::new(FaultKind::Invalid, format!("cannot write the frame log: {error}")))?;
    let asked = setup.wanted.model.is_some();
    let wired = wiring::build(setup).await?;
    wired.notes.iter().for_each(|note| host::note(note));
    if is_without(&wired, asked) {
        host::note("no model is configured: the client has to connect a provider and select one");
    }
    let extension_host =
        extension_host::start(&wired, extensions, Some(extension_host::skill_places(&wired, &home, &config))).await;
    wired.ports.around.route(kept.route.as_deref().filter(|route| *route != ANY_ROUTE).map(Arc::from));
    let dialect = Loaf::new(options(args, &wired, &kept, asked));
    let code = converse(dialect, &wired, frame_log).await;
    // A flow that waits for a person must not keep us from ending.
    wired.ports.around.cancel_sign_ins("the process is shutting down");
    wired.engine.shutdown().await;
    extension_host.shutdown().await;
    code
}

/// Everything that is decided before anything is built.
struct Ready {
    setup: wiring::Setup,
    config: Config,
    home: Home,
    kept: Kept,
    extensions: Vec<std::path::PathBuf>,
}

fn ready(args: &args::Loaf) -> Result<Ready, Fault> {
    if args.basics.resume.is_some() {
        let fault = Fault::new(FaultKind::Invalid, "--resume means nothing here: a client opens sessions itself");
        return Err(fault.hint("a client resumes with `/history last` or `/history <id>`"));
    }
    let Prepared { mut setup, config, home, extensions, .. } = setup::prepare(&args.basics, Mode::DangerFullAccess)?;
    settle::settle(&mut setup.settings, &config);
    setup.briefing.skills = true;
    let (file, kept) = KeptFile::open(&home.data, setup.preferences.clone());
    if let Some(trouble) = &kept.trouble {
        host::note(trouble);
    }
    setup.preferences = Arc::new(file);
    // What was selected some earlier time is a habit: it is taken where it exists.
    setup.wanted.usual = kept.model.clone().map(|model| (None, model));
    Ok(Ready { setup, config, home, kept, extensions })
}

/// How the dialect starts.
fn options(args: &args::Loaf, wired: &Wired, kept: &Kept, asked: bool) -> Options {
    let settings = &wired.settings;
    let by_flag = args.basics.model.is_some();
    let first = (!is_without(wired, asked)).then_some(&*settings.model);
    Options {
        workspace: Some(settings.workspace.clone()),
        mode: Some(settings.mode),
        model: model(&*wired.ports.provider, kept.model.as_deref().filter(|_| !by_flag), first).map(Arc::new),
        thinking: kept.thinking.as_deref().map(Arc::from),
        route: kept.route.as_deref().map(Arc::from),
        onboarded: kept.onboarded,
        ..Options::new(env!("CARGO_PKG_VERSION"), wired.ports.clock.clone(), Arc::new(FullIds))
    }
}

/// There is nothing but the tour, and nobody asked for that.
fn is_without(wired: &Wired, asked: bool) -> bool {
    !asked && wired.integrations.model == Standing::NoProvider
}

/// The model that was selected some earlier time, where there still is one of that name, else the first there is. Without
/// any the client has to select one: the tour would answer a user who believes to talk to a real model.
fn model(provider: &dyn Provider, earlier: Option<&str>, first: Option<&str>) -> Option<ModelInfo> {
    let resolve = |slug: &str| provider.resolve(slug).ok();
    earlier.and_then(resolve).or_else(|| first.and_then(resolve))
}

async fn converse(dialect: Loaf, wired: &Wired, frame_log: Option<FrameLog>) -> Result<u8, Fault> {
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
    Ok(ended.exit_code)
}

/// Sessions and turns of this wire are known by whole UUIDs, whatever they are for.
struct FullIds;

impl Ids for FullIds {
    fn mint(&self, _: IdKind) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}
