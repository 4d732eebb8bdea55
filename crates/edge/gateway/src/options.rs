//! What a server is started with, and what it asks of whoever starts it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use vocab::{Later, Secret};

use crate::entrance::WebRoute;
use crate::ids;
use crate::limits::BODY_BYTES_MAX;

pub struct ServerOptions {
    /// Directory of the gateway's own files: lock, socket, token, certificate.
    pub home: PathBuf,
    /// Where TCP is listened on; port 0 means any that is free.
    pub listen: Vec<SocketAddr>,
    pub socket: SocketChoice,
    pub tls: TlsChoice,
    pub access: Access,
    /// Where the configuration's token stands, for people; `None`: it has none.
    pub token_stands_in: Option<String>,
    /// Listen beyond this machine without token and TLS.
    pub understands_no_auth: bool,
    /// How long runs may take to come to a point where they can stop.
    pub shutdown_grace: Duration,
    pub version: String,
    /// Random per start: a client sees by it that there was another.
    pub instance: Arc<str>,
}

impl ServerOptions {
    pub fn new(home: PathBuf, listen: SocketAddr) -> Self {
        Self {
            home,
            listen: vec![listen],
            socket: SocketChoice::InHome,
            tls: TlsChoice::None,
            access: Access::default(),
            token_stands_in: None,
            understands_no_auth: false,
            shutdown_grace: Duration::from_secs(5),
            version: String::new(),
            instance: ids::connection().into(),
        }
    }
}

/// Where the socket in the file system is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SocketChoice {
    InHome,
    At(PathBuf),
    None,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TlsChoice {
    None,
    Files {
        cert: PathBuf,
        key: PathBuf,
    },
    /// Made on the first start and kept in the home.
    SelfSigned,
}

/// Who may come in. Can be changed while the server runs.
#[derive(Clone, Debug)]
pub struct Access {
    /// The configuration's token, which may do everything; `None`: the one in the home counts, and where there is none either,
    /// the user's own processes come in without.
    pub token: Option<Secret>,
    /// Names under which we are known, beside those of this machine.
    pub hostnames: Vec<String>,
    /// Pages that may speak with us, as `https://example.org`.
    pub allowed_origins: Vec<String>,
    /// Whether pages and probes need a credential (`server.auth_http`). Endpoints always do.
    pub auth_http: bool,
    /// Of a request's body; more is 413.
    pub body_bytes_max: usize,
    pub dashboard: DashboardRules,
    pub tailscale: TailscaleOptions,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            token: None,
            hostnames: Vec::new(),
            allowed_origins: Vec::new(),
            auth_http: true,
            body_bytes_max: BODY_BYTES_MAX,
            dashboard: DashboardRules { enabled: true, public_shell: true },
            tailscale: TailscaleOptions::default(),
        }
    }
}

/// The page for browsers (`server.dashboard`).
#[derive(Clone, Copy, Debug)]
pub struct DashboardRules {
    pub enabled: bool,
    /// The page, which is empty without data, is given to everybody.
    pub public_shell: bool,
}

#[derive(Clone, Default, Debug)]
pub struct TailscaleOptions {
    /// Believe who the local proxy says it is.
    pub identity: bool,
    /// Without asking the local daemon.
    pub trust_header: bool,
    /// Empty: all of them.
    pub allowed_logins: Vec<String>,
}

/// How we are, as `/health` says it.
#[derive(Clone, Debug)]
pub struct HealthReport {
    /// `false`: 503.
    pub serves: bool,
    /// The whole body.
    pub json: String,
}

/// What the server cannot know by itself.
pub trait ServerHooks: Send + Sync {
    fn health(&self) -> Later<'static, HealthReport>;
    /// The document of all methods and events.
    fn schema(&self) -> Arc<str>;
    /// For Prometheus.
    fn metrics(&self) -> String;
    /// SIGHUP: reads the configuration again, which may change the access through the handle. What went wrong is told.
    fn reload(&self) -> Later<'static, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
    /// What answers a path beside the server's own.
    fn route(&self, _path: &str) -> Option<Arc<dyn WebRoute>> {
        None
    }
    /// The token that may do everything is this one from now on: it stands in no line and in no tool's output.
    fn hide(&self, _token: &Secret) {}
    /// A line for people.
    fn note(&self, text: &str) {
        host::note(text);
    }
}
