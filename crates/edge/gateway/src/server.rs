//! Starts the server, and ends it in order.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use host::DaemonEnding;
use tokio::time::timeout;
use vocab::{Fault, FaultKind};

use crate::accept;
use crate::entrance::Entrance;
use crate::home_lock::{GatewayFile, HomeLock};
use crate::limits::ENDING;
use crate::listen::{self, UnixSocket};
use crate::options::{Access, ServerHooks, ServerOptions, SocketChoice, TlsChoice};
use crate::service_manager::ServiceManager;
use crate::state::ServerState;
use crate::tls::TlsShelf;
use crate::tokens::{TokenFile, read_main_token};

/// How often files and tokens are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often a service manager's line about us is looked after: each look is a write.
const STATUS_EVERY: Duration = Duration::from_secs(30);

/// How long everybody may take to hear that we end when we are in a hurry.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long a look at our health may take before we are not well.
const WELL: Duration = Duration::from_secs(5);

/// What the service manager shows then.
const NOT_WELL: &str = "what it is told cannot be kept: see /health";

pub struct GatewayServer;

impl GatewayServer {
    /// Locks the home, listens and takes connections. It is not ready before [`ServerHandle::set_ready`].
    pub async fn start(
        options: ServerOptions,
        engine: Engine,
        endpoints: Vec<(&'static str, Arc<dyn Entrance>)>,
        hooks: Arc<dyn ServerHooks>,
    ) -> Result<ServerHandle, Fault> {
        let file = |error: io::Error| Fault::new(FaultKind::Internal, format!("the gateway's home: {error}"));
        let has_token = options.access.token.is_some() || read_main_token(&options.home).map_err(file)?.is_some();
        may_listen(&options, has_token)?;
        risk(&options, has_token).iter().for_each(|risk| hooks.note(risk));
        safefile::private_dir(&options.home).map_err(file)?;
        let lock = HomeLock::take(&options.home).await?;
        let hostnames = &options.access.hostnames;
        let tls = TlsShelf::open(&options.tls, &options.home, hostnames)
            .map_err(|error| Fault::new(FaultKind::Invalid, format!("TLS: {error}")))?;
        if let Some(shelf) = tls.as_ref().filter(|_| options.tls == TlsChoice::SelfSigned) {
            let shown = shelf.fingerprint().map_err(file)?;
            hooks.note(&format!("the certificate is our own; its SHA-256 fingerprint is {shown}"));
        }
        let tokens = Box::new(TokenFile::new(&options.home));
        let state = ServerState::new(hooks, endpoints, tokens, options.access.clone()).map_err(file)?;
        let state = Arc::new(state);
        let (listeners, addresses) = bind(&options)?;
        let unix = match &options.socket {
            SocketChoice::None => None,
            SocketChoice::InHome => Some(options.home.join("gateway.sock")),
            SocketChoice::At(path) => Some(path.clone()),
        };
        let unix = match unix {
            Some(path) => Some(bind_unix(path).await?),
            None => None,
        };
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = addresses.first().map(|address| format!("{scheme}://{address}"));
        let socket = unix.as_ref().map(|(path, _)| path.clone());
        let reached = addresses.first().map(|address| format!("{scheme}://{}", reachable(*address)));
        let named = GatewayFile::new(reached, socket.clone(), &options);
        lock.say(&named).map_err(file)?;
        for listener in listeners {
            tokio::spawn(accept::tcp(listener, tls.clone(), state.clone()));
        }
        let unix = unix.map(|(_, unix)| {
            let (listener, file) = unix.apart();
            tokio::spawn(accept::unix(listener, state.clone()));
            file
        });
        tokio::spawn(look_around(state.clone(), tls.clone()));
        let grace = options.shutdown_grace;
        let manager = Arc::new(ServiceManager::of_process());
        Ok(ServerHandle { state, engine, tls, addresses, url, socket, unix, grace, manager, named, lock })
    }
}

/// An address by which who is on this machine reaches us: `0.0.0.0` is no name of ours.
fn reachable(listens: SocketAddr) -> SocketAddr {
    let here: IpAddr = match listens.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(here, listens.port())
}

/// The first address that other machines reach.
fn beyond(options: &ServerOptions) -> Option<&SocketAddr> {
    options.listen.iter().find(|address| !address.ip().to_canonical().is_loopback())
}

/// What somebody has taken upon themselves with --i-understand-no-auth.
fn risk(options: &ServerOptions, has_token: bool) -> Option<String> {
    let address = beyond(options).filter(|_| options.tls == TlsChoice::None || !has_token)?.ip();
    let way = match options.tls {
        TlsChoice::None => " without TLS, so that tokens and all that is said can be read on the way",
        TlsChoice::Files { .. } | TlsChoice::SelfSigned => "",
    };
    let none =
        if has_token { "" } else { "; nobody from there is let in before `tillerman gateway token` has made one" };
    Some(format!("{address} listens for other machines{way}{none}"))
}

/// Beyond this machine only with a token and TLS.
fn may_listen(options: &ServerOptions, has_token: bool) -> Result<(), Fault> {
    let Some(address) = beyond(options).filter(|_| !options.understands_no_auth) else { return Ok(()) };
    let mut missing = Vec::new();
    if !has_token {
        missing.push("a token (`tillerman gateway token`)");
    }
    if options.tls == TlsChoice::None {
        missing.push("TLS (`--tls-cert` and `--tls-key`, or `--tls-self-signed`)");
    }
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("{address} can be reached from other machines: that needs {}", missing.join(" and "));
    Err(Fault::new(FaultKind::Invalid, message).hint("listen on 127.0.0.1, or say --i-understand-no-auth"))
}

type Bound = (Vec<tokio::net::TcpListener>, Vec<SocketAddr>);

fn bind(options: &ServerOptions) -> Result<Bound, Fault> {
    let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
    for address in &options.listen {
        let listener = listen::tcp(*address).and_then(|it| Ok((it.local_addr()?, it)));
        let (bound, listener) = listener.map_err(|error| {
            let fault = Fault::new(FaultKind::Invalid, format!("{address}: {error}"));
            match error.kind() {
                io::ErrorKind::AddrInUse => {
                    fault.hint("another program listens there; --port 0 takes any that is free")
                }
                _ => fault,
            }
        })?;
        listeners.push(listener);
        addresses.push(bound);
    }
    Ok((listeners, addresses))
}

/// As the file is to name it: who reads that stands elsewhere.
async fn bind_unix(path: PathBuf) -> Result<(PathBuf, UnixSocket), Fault> {
    let bound = async {
        let path = std::path::absolute(&path)?;
        let socket = UnixSocket::bind(&path).await?;
        Ok((path, socket))
    };
    bound.await.map_err(|error: io::Error| {
        let fault = Fault::new(FaultKind::Invalid, format!("{}: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::AddrInUse => fault.hint("--socket names another place, `none` none"),
            _ => fault,
        }
    })
}

/// Tokens and certificates come and go while the server runs.
async fn look_around(state: Arc<ServerState>, tls: Option<Arc<TlsShelf>>) {
    let ending = state.ending.clone();
    let looking = async {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            look(&state, tls.as_ref()).await;
        }
    };
    tokio::select! {
        () = looking => {}
        _ = ending.wait() => {}
    }
}

/// Signs of life: that our loop turns is all that they say. A store that cannot be written is no reason to be ended by who
/// watches us: what is there can be read, and a new process could not write either.
async fn live(state: Arc<ServerState>, manager: Arc<ServiceManager>, every: Duration) {
    let living = async {
        loop {
            tokio::time::sleep(every).await;
            manager.tell("WATCHDOG=1");
        }
    };
    // Ending has a time of its own, which the manager measures.
    tokio::select! {
        () = living => {}
        _ = state.ending.wait() => {}
    }
}

/// How we are, in the manager's one line, whenever that changes. `well`: the line while we are.
async fn say_how(state: Arc<ServerState>, manager: Arc<ServiceManager>, well: String) {
    let saying = async {
        let mut was_well = true;
        loop {
            let is_well = timeout(WELL, state.health()).await.is_ok_and(|report| report.serves);
            if is_well != was_well {
                manager.tell(&format!("STATUS={}", if is_well { &well } else { NOT_WELL }));
            }
            was_well = is_well;
            tokio::time::sleep(STATUS_EVERY).await;
        }
    };
    tokio::select! {
        () = saying => {}
        _ = state.ending.wait() => {}
    }
}

/// Beside the runtime: a disk that is slow must keep no connection waiting.
async fn look(state: &Arc<ServerState>, tls: Option<&Arc<TlsShelf>>) {
    let (state, tls) = (state.clone(), tls.cloned());
    let _ = tokio::task::spawn_blocking(move || look_at_files(&state, tls.as_deref())).await;
}

fn look_at_files(state: &ServerState, tls: Option<&TlsShelf>) {
    let rules = state.entrances.iter().find_map(|(_, entrance)| entrance.rules().streams);
    rules.into_iter().for_each(|rules| state.acp.look(rules.grace));
    state.look_at_cookies();
    if let Err(error) = state.look_at_tokens() {
        state.hooks.note(&format!("the gateway's tokens stay as they were: {error}"));
    }
    match tls.map(TlsShelf::look) {
        Some(Ok(true)) => state.hooks.note("new TLS certificate loaded"),
        Some(Err(error)) => state.hooks.note(&format!("the TLS certificate stays the old one: {error}")),
        Some(Ok(false)) | None => {}
    }
}

/// What a server has to do.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ServerLoad {
    /// Open now.
    pub connections: usize,
    /// Those of them that are WebSockets or streams of events.
    pub sockets: usize,
    /// Wrong credentials since the start.
    pub auth_failures: u64,
    /// Requests since the start that were not looked at for it.
    pub auth_limited: u64,
}

/// A server that runs.
pub struct ServerHandle {
    state: Arc<ServerState>,
    engine: Engine,
    tls: Option<Arc<TlsShelf>>,
    addresses: Vec<SocketAddr>,
    url: Option<String>,
    socket: Option<PathBuf>,
    unix: Option<listen::SocketFile>,
    grace: Duration,
    manager: Arc<ServiceManager>,
    /// What our file says.
    named: GatewayFile,
    lock: HomeLock,
}

impl ServerHandle {
    pub(crate) fn state(&self) -> &Arc<ServerState> {
        &self.state
    }
    /// Where it listens, with the ports that the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }
    pub fn socket(&self) -> Option<&std::path::Path> {
        self.socket.as_deref()
    }
    pub fn ending(&self) -> DaemonEnding {
        self.state.ending.clone()
    }
    /// `/readyz` says so from now on, and the service manager hears it. Must be called on a runtime.
    pub fn set_ready(&self) {
        if !self.state.set_ready() {
            return;
        }
        let well = self.url().map_or_else(|| "listening".to_owned(), |url| format!("listening on {url}"));
        self.manager.tell(&format!("READY=1\nSTATUS={well}"));
        if self.manager.is_there() {
            tokio::spawn(say_how(self.state.clone(), self.manager.clone(), well));
        }
        if let Some(every) = self.manager.alive_every() {
            tokio::spawn(live(self.state.clone(), self.manager.clone(), every));
        }
    }
    /// What holds for whoever comes from now on, and for sockets whose token is gone.
    pub fn access(&self) -> AccessHandle {
        AccessHandle(self.state.clone())
    }
    /// How much there is to do, for whoever wants to know it later.
    pub fn counter(&self) -> impl Fn() -> ServerLoad + Send + Sync + 'static {
        let state = self.state.clone();
        move || ServerLoad {
            connections: state.places.connections(),
            sockets: state.sockets.len(),
            auth_failures: state.auth_failures.get(),
            auth_limited: state.auth_limited.get(),
        }
    }
    /// Looks at tokens and certificates at once.
    pub async fn look(&self) {
        look(&self.state, self.tls.as_ref()).await;
    }

    /// Reads the configuration again, and whatever else may have changed. What went wrong is told, and nothing ends.
    pub async fn reload(&self) {
        self.manager.reloading();
        if let Err(why) = self.state.hooks.reload().await {
            self.state.hooks.note(&format!("the configuration stays as it was: {why}"));
        }
        self.look().await;
        self.manager.tell("READY=1");
    }

    /// Ends in order: no new connections, everybody is told, what runs comes to a point where it can stop, files go. `hurry`
    /// cuts the waiting short.
    pub async fn shutdown(self, hurry: impl Future<Output = ()>) {
        self.manager.tell("STOPPING=1");
        // Who asks how we are gets no answer from now on. Where it cannot be written, they hear just that.
        let _ = self.lock.say(&GatewayFile { is_ending: true, ..self.named.clone() });
        self.state.ending.ask("shutdown");
        let drained = async {
            self.engine.drain(self.grace).await;
            self.state.ending.rest();
            let _ = timeout(ENDING, self.state.places.all_gone()).await;
        };
        let in_a_hurry = tokio::select! {
            () = drained => false,
            () = hurry => true,
        };
        if in_a_hurry {
            self.engine.shutdown().await;
            self.state.ending.rest();
            let _ = timeout(LAST_WORDS, self.state.places.all_gone()).await;
        }
        if let Some(unix) = &self.unix {
            unix.remove();
        }
        self.lock.clear();
    }
}

/// Changes who may come in while the server runs.
#[derive(Clone)]
pub struct AccessHandle(Arc<ServerState>);

impl AccessHandle {
    pub fn set(&self, access: Access) -> io::Result<()> {
        self.0.set_access(access)
    }
    pub fn get(&self) -> Arc<Access> {
        self.0.access()
    }
}
