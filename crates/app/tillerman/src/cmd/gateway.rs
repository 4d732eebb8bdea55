//! `tillerman gateway`: all sessions in one process, reached over WebSocket and HTTP. stdout has one line, where it listens;
//! notes go to stderr.

mod arguments;
mod doors;
mod hooks;
mod rpc_door;
mod terminal;
mod verbs;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::ServerConfig;
use engine::IdlePolicy;
use gateway::{DaemonSignals, GatewayCounts, GatewayServer, ServerHandle, ServerOptions, SocketChoice, TlsChoice};
use vocab::{Fault, FaultKind, Mode, Secret};

use crate::args::{Basics, GatewayArgs};
use crate::compose::{self, ManySessions};
use crate::extension_host::{self, ExtensionHost};
use crate::setup::{self, Prepared};
use doors::DoorParts;
use hooks::DaemonHooks;
pub(super) use terminal::{Hello, ScreenFacts, WantsWords};

/// Sessions that nobody is on: background commands go on for a minute, then the session lets go of what it can make again.
const IDLE: IdlePolicy = IdlePolicy {
    linger: Duration::from_secs(60),
    park_after: Duration::from_secs(60),
    ready_max: 256,
    unload_after: Duration::from_secs(30),
};

pub(crate) fn run(args: &GatewayArgs) -> anyhow::Result<u8> {
    let refuse = |fault: &Fault| {
        crate::print::error(&fault.message, &fault.hints);
        super::USAGE
    };
    match &args.verb {
        None => {
            let runtime = host::daemon_runtime()?;
            Ok(runtime.block_on(start(args)).unwrap_or_else(|fault| refuse(&fault)))
        }
        Some(verb) => Ok(verbs::ask(verb).unwrap_or_else(|fault| refuse(&fault))),
    }
}

/// The gateway's own files.
fn place(data: &Path) -> PathBuf {
    data.join("gateway")
}

async fn start(args: &GatewayArgs) -> Result<u8, Fault> {
    refused(&args.basics)?;
    let listeners = daemon::keep_log(args.log_format, args.log);
    let Prepared { mut setup, config, home, extensions, .. } = setup::prepare(&args.basics, Mode::DangerFullAccess)?;
    listeners.hide(setup.models.keyring.clone());
    let server = config.server()?;
    let warnings: Vec<String> = config.warnings.iter().cloned().chain(daemon::doubts(&config, &server)).collect();
    if let Some(warning) = warnings.first().filter(|_| args.strict) {
        return Err(Fault::new(FaultKind::Invalid, warning.clone()).hint("without --strict it would only be said"));
    }
    warnings.iter().for_each(|warning| host::note(warning));
    let place = place(&home.data);
    daemon::settle(&mut setup.settings, &server);
    setup.briefing.skills = true;
    setup.secrets.extend(token(&server, &place)?);
    let counts = GatewayCounts::default();
    setup.many = Some(ManySessions { idle: IDLE, turns_max: server.max_concurrent_runs, counts: counts.clone() });
    let token_stands_in = server.token.as_ref().and(config.source("server.token")).map(ToString::to_string);
    let options = ServerOptions { token_stands_in, ..options(args, &server, place.clone())? };
    let asked = setup.models.wanted.model.is_some();
    let wired = Arc::new(compose::build(setup).await?);
    wired.warnings(asked).for_each(|note| host::note(note));
    let places = extension_host::skill_places(&wired, &home, &config);
    let extension_host = extension_host::start(&wired, extensions, Some(places)).await;
    let settings = Box::new(setup::SettingsAgain(args.basics.clone(), Mode::DangerFullAccess));
    let hooks = Arc::new(DaemonHooks::new(&wired, (config, server), settings, &place, counts)?);
    listeners.reach(hooks.service.clone());
    let parts = DoorParts::new(&wired, &hooks, &home, asked);
    serve(options, hooks, parts, extension_host).await
}

/// Flags of other commands that could not hold here are not passed over.
fn refused(basics: &Basics) -> Result<(), Fault> {
    let refused = [
        (basics.resume.is_some(), "--resume means nothing here: a gateway holds all sessions"),
        (basics.no_session, "--no-session: a gateway keeps its sessions"),
        (basics.on_restart.is_some(), "--on-restart: what a gateway holds goes on after a restart"),
        (basics.log_frames.is_some(), "--log-frames is for one conversation: a gateway has many"),
    ];
    match refused.iter().find(|(asked, _)| *asked) {
        Some((_, why)) => Err(Fault::new(FaultKind::Invalid, *why)),
        None => Ok(()),
    }
}

/// What clients show: the configuration's word, else what `gateway token` has made.
fn token(server: &ServerConfig, place: &Path) -> Result<Option<Secret>, Fault> {
    if server.token.is_some() {
        return Ok(server.token.clone());
    }
    gateway::read_main_token(place)
        .map_err(|error| Fault::new(FaultKind::Invalid, format!("the gateway's token: {error}")))
}

async fn serve(
    options: ServerOptions,
    hooks: Arc<DaemonHooks>,
    parts: Arc<DoorParts>,
    extension_host: ExtensionHost,
) -> Result<u8, Fault> {
    let signals = DaemonSignals::take()?;
    let endpoints = doors::all(&parts, &options.instance);
    let wired = parts.wired.clone();
    // From here on no turn begins before those that waited are in line.
    let taking_up = daemon::take_up(wired.engine.clone(), wired.ports.store.clone(), Arc::new(hooks.usual()));
    let running = GatewayServer::start(options, wired.engine.clone(), endpoints, hooks.clone()).await?;
    hooks.runs_as(&running);
    running.set_ready();
    say_where(&running)?;
    let taking_up = tokio::spawn(taking_up);
    running.run(signals).await;
    host::note_at(host::NoteLevel::Info, "the gateway is ending");
    taking_up.abort();
    wired.ports.accounts.cancel_sign_ins("the process is shutting down");
    wired.engine.shutdown().await;
    extension_host.shutdown().await;
    Ok(0)
}

/// The one line on stdout.
fn say_where(running: &ServerHandle) -> Result<(), Fault> {
    let url = running.url().unwrap_or_default();
    host::note_at(host::NoteLevel::Info, concat!("gateway ", env!("CARGO_PKG_VERSION"), " is ready"));
    crate::print::say(&format!("listening on {url}\n"))
        .map_err(|error| Fault::new(FaultKind::Internal, format!("stdout: {error}")))
}

fn options(args: &GatewayArgs, server: &ServerConfig, home: PathBuf) -> Result<ServerOptions, Fault> {
    let host = args.host.as_deref().unwrap_or(&server.host);
    let port = args.port.unwrap_or(server.port);
    let tls = match (&args.tls_cert, &args.tls_key, &server.tls) {
        (Some(cert), Some(key), _) => TlsChoice::Files { cert: cert.clone(), key: key.clone() },
        _ if args.tls_self_signed => TlsChoice::SelfSigned,
        (_, _, Some(files)) => TlsChoice::Files { cert: files.cert.clone(), key: files.key.clone() },
        _ => TlsChoice::None,
    };
    let socket = match &args.socket {
        None => SocketChoice::InHome,
        Some(path) if path == Path::new("none") => SocketChoice::None,
        Some(path) => SocketChoice::At(path.clone()),
    };
    Ok(ServerOptions {
        listen: daemon::addresses(host, port)?,
        socket,
        tls,
        access: daemon::access(server),
        understands_no_auth: args.i_understand_no_auth,
        shutdown_grace: Duration::from_millis(server.shutdown_grace_ms),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..ServerOptions::new(home, SocketAddr::from(([127, 0, 0, 1], port)))
    })
}
