//! `tillerman gateway`: all sessions in one process, reached over WebSocket and HTTP. stdout has one line, where it listens;
//! notes go to stderr.

mod doors;
mod hooks;
mod settle;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::ServerConfig;
use engine::{Engine, IdlePolicy};
use gateway::{
    Access, GatewayCounts, GatewayServer, ServerHandle, ServerOptions, SocketChoice, TailscaleOptions, TlsChoice,
};
use tokio::signal::unix::{SignalKind, signal};
use vocab::{Fault, FaultKind, Mode, Query, Secret, Store};

use super::stdio;
use crate::args::{GatewayArgs, GatewayVerb, TokenArgs};
use crate::compose::{self, ManySessions, Wired};
use crate::extension_host::{self, ExtensionHost};
use crate::setup::{self, Prepared};
use hooks::DaemonHooks;

/// Sessions that nobody is on: background commands go on for a minute, then the session lets go of what it can make again.
const IDLE: IdlePolicy = IdlePolicy {
    linger: Duration::from_secs(60),
    park_after: Duration::from_secs(60),
    unload_after: Duration::from_secs(30),
};
/// Sessions taken up at once after a start.
const TAKEN_UP_AT_ONCE: usize = 8;
/// Unfinished sessions that are looked for after a start; more than that were never at work at once.
const UNFINISHED_MAX: usize = 10_000;

pub(crate) fn run(args: &GatewayArgs) -> anyhow::Result<u8> {
    let refuse = |fault: &Fault| stdio::refuse("tillerman", &stdio::in_one_line(fault), super::USAGE);
    match &args.verb {
        None => {
            let runtime = host::daemon_runtime()?;
            Ok(runtime.block_on(start(args)).unwrap_or_else(|fault| refuse(&fault)))
        }
        Some(verb) => Ok(ask(verb).unwrap_or_else(|fault| refuse(&fault))),
    }
}

/// The gateway's own files.
fn place(data: &Path) -> PathBuf {
    data.join("gateway")
}

/// What is asked of one that runs, or of its files.
fn ask(verb: &GatewayVerb) -> Result<u8, Fault> {
    let home = config::Home::find(&config::process_env)
        .ok_or_else(|| Fault::new(FaultKind::Invalid, "cannot tell where the gateway is").hint("set HOME"))?;
    let place = place(&home.data);
    let said = match verb {
        GatewayVerb::Status { json } => gateway::cli::status(&place, *json),
        GatewayVerb::Stop => gateway::cli::stop(&place),
        GatewayVerb::Url { with_token } => gateway::cli::url(&place, *with_token),
        GatewayVerb::Token(TokenArgs { rotate: true, .. }) => gateway::cli::rotate(&place),
        GatewayVerb::Token(TokenArgs { list: true, .. }) => gateway::cli::tokens(&place),
        GatewayVerb::Token(TokenArgs { name: Some(name), scopes, .. }) => gateway::cli::make(&place, name, scopes),
        GatewayVerb::Token(TokenArgs { revoke: Some(name), .. }) => gateway::cli::revoke(&place, name),
        GatewayVerb::Token(_) => gateway::cli::token(&place),
    }?;
    let printed = crate::print::say(&said.text);
    printed.map_err(|error| Fault::new(FaultKind::Internal, format!("stdout: {error}")))?;
    Ok(said.exit_code)
}

async fn start(args: &GatewayArgs) -> Result<u8, Fault> {
    if args.basics.resume.is_some() || args.basics.no_session {
        return Err(Fault::new(
            FaultKind::Invalid,
            "a gateway holds all sessions: --resume and --no-session mean nothing here",
        ));
    }
    let Prepared { mut setup, config, home, extensions, .. } = setup::prepare(&args.basics, Mode::DangerFullAccess)?;
    if let Some(warning) = config.warnings.first().filter(|_| args.strict) {
        return Err(Fault::new(FaultKind::Invalid, warning.clone()).hint("without --strict it would only be said"));
    }
    config.warnings.iter().for_each(|warning| host::note(warning));
    let server = config.server()?;
    let place = place(&home.data);
    let token = token(&server, &place)?;
    settle::settle(&mut setup.settings, &server);
    setup.briefing.skills = true;
    setup.secrets.extend(token.clone());
    let counts = GatewayCounts::default();
    setup.many = Some(ManySessions { idle: IDLE, turns_max: server.max_concurrent_runs, counts: counts.clone() });
    let options = options(args, &server, place.clone(), token)?;
    let asked = setup.models.wanted.model.is_some();
    let wired = Arc::new(compose::build(setup).await?);
    wired.warnings(asked).for_each(|note| host::note(note));
    let places = extension_host::skill_places(&wired, &home, &config);
    let extension_host = extension_host::start(&wired, extensions, Some(places)).await;
    let basics = args.basics.clone();
    let again = move || setup::read_again(&basics, Mode::DangerFullAccess);
    let hooks = Arc::new(DaemonHooks::new(&wired, (config, server), Box::new(again), &place, counts)?);
    serve(options, hooks, wired, extension_host).await
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
    wired: Arc<Wired>,
    extension_host: ExtensionHost,
) -> Result<u8, Fault> {
    let endpoints = doors::all(&wired, &hooks);
    let running = GatewayServer::start(options, wired.engine.clone(), endpoints, hooks.clone()).await?;
    hooks.runs_as(&running);
    say_where(&running)?;
    running.set_ready();
    let taking_up = tokio::spawn(take_up(wired.engine.clone(), wired.ports.store.clone()));
    until_asked(&running, &hooks).await;
    taking_up.abort();
    let hurry = async {
        if let Ok(mut again) = signal(SignalKind::terminate()) {
            again.recv().await;
        }
    };
    running.shutdown(hurry).await;
    wired.ports.accounts.cancel_sign_ins("the process is shutting down");
    wired.engine.shutdown().await;
    extension_host.shutdown().await;
    Ok(0)
}

/// The one line on stdout.
fn say_where(running: &ServerHandle) -> Result<(), Fault> {
    let url = running.url().unwrap_or_default();
    crate::print::say(&format!("listening on {url}\n"))
        .map_err(|error| Fault::new(FaultKind::Internal, format!("stdout: {error}")))
}

/// What the last process left unfinished goes on, the newest first.
async fn take_up(engine: Engine, store: Arc<dyn Store>) {
    let query = Query { unfinished: true, children: false, limit: Some(UNFINISHED_MAX), ..Query::default() };
    let found = match store.list(query).await {
        Ok(found) => found,
        Err(fault) => return host::note(&format!("what was unfinished cannot be found: {}", fault.message)),
    };
    let mut left = found.into_iter();
    let mut under_way = tokio::task::JoinSet::new();
    loop {
        while under_way.len() < TAKEN_UP_AT_ONCE {
            let Some(summary) = left.next() else { break };
            let engine = engine.clone();
            under_way.spawn(async move { (engine.take_up(&summary.id).await, summary.id) });
        }
        match under_way.join_next().await {
            None => return,
            Some(Ok((Err(fault), session))) => {
                host::note(&format!("session {session} stays where it is: {}", fault.message))
            }
            Some(_) => {}
        }
    }
}

/// SIGTERM and SIGINT end it; SIGHUP has it read its configuration again.
async fn until_asked(running: &ServerHandle, hooks: &DaemonHooks) {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()));
    let (Ok(mut term), Ok(mut interrupt), Ok(mut hangup)) = signals else {
        return host::note("signals cannot be heard: ending");
    };
    loop {
        tokio::select! {
            _ = term.recv() => return,
            _ = interrupt.recv() => return,
            _ = hangup.recv() => {
                running.look();
                match hooks.read_again().await {
                    Ok(_) => host::note("the configuration was read again"),
                    Err(why) => host::note(&format!("the configuration stays as it was: {why}")),
                }
            }
        }
    }
}

fn options(
    args: &GatewayArgs,
    server: &ServerConfig,
    home: PathBuf,
    token: Option<Secret>,
) -> Result<ServerOptions, Fault> {
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
        listen: addresses(host, port)?,
        socket,
        tls,
        access: access(server, token),
        understands_no_auth: args.i_understand_no_auth,
        shutdown_grace: Duration::from_millis(server.shutdown_grace_ms),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..ServerOptions::new(home, SocketAddr::from(([127, 0, 0, 1], port)))
    })
}

fn access(server: &ServerConfig, token: Option<Secret>) -> Access {
    Access {
        token,
        hostnames: server.hostnames.clone(),
        allowed_origins: server.allowed_origins.clone(),
        auth_http: server.auth_http,
        tailscale: TailscaleOptions {
            identity: server.tailscale.identity,
            trust_header: server.tailscale.trust_header,
            allowed_logins: server.tailscale.allowed_logins.clone(),
        },
    }
}

fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>, Fault> {
    match host {
        "localhost" => Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]),
        host => match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => Ok(vec![SocketAddr::new(address, port)]),
            Err(_) => Err(Fault::new(FaultKind::Invalid, format!("{host} is no address to listen on"))
                .hint("127.0.0.1 is this machine alone; 0.0.0.0 is every network it is in")),
        },
    }
}
