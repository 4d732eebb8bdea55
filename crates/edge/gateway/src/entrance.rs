//! What answers a path, and who comes to it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dialect_gateway::Scopes;
use dialect_gateway::services::access::CredentialKind;
use host::{DaemonEnding, Ended, MessageSink, MessageStream, PrincipalCell};
use hyper::{HeaderMap, Method, Response};
use vocab::Later;
use websocket::{Binary, OnClose};

use crate::http::ReplyBody;
use crate::login::LoginDesk;
use crate::sockets::SocketFacts;

/// Where somebody comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerAddress {
    Tcp(SocketAddr),
    /// Through the socket in the file system: whose process, and which.
    Unix {
        uid: u32,
        pid: Option<i32>,
    },
}

impl PeerAddress {
    pub fn is_loopback(&self) -> bool {
        match self {
            PeerAddress::Tcp(address) => address.ip().to_canonical().is_loopback(),
            PeerAddress::Unix { .. } => true,
        }
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerAddress::Tcp(address) => write!(f, "{address}"),
            PeerAddress::Unix { uid, .. } => write!(f, "unix:{uid}"),
        }
    }
}

/// Who came in, and how.
#[derive(Clone)]
pub struct Caller {
    /// A UUID of this connection's own.
    pub connection: Arc<str>,
    /// Whom the engine is told of; empty for a stranger, until a login.
    pub principal: PrincipalCell,
    /// Nothing for a stranger.
    pub scopes: Scopes,
    /// The name of the token, of the user, or of nobody.
    pub name: Arc<str>,
    pub peer: PeerAddress,
    /// The request's `traceparent`, and its `tracestate` behind a blank.
    pub trace: Option<Arc<str>>,
    /// The request's `Tillerman-Arguments`, as it came; one that is no text is not empty, but no list either.
    pub arguments: Option<Arc<str>>,
    /// Where a stranger says who they are.
    pub login: LoginDesk,
}

impl Caller {
    pub fn is_known(&self) -> bool {
        self.principal.get().is_some()
    }

    /// What operators are told of the socket.
    pub(crate) fn facts(&self, credential: CredentialKind) -> SocketFacts {
        SocketFacts {
            connection: self.connection.clone(),
            name: self.name.clone(),
            scopes: self.scopes,
            credential,
            came: self.login.came.clone(),
        }
    }
}

pub type MessagePipe = (Box<dyn MessageStream>, Box<dyn MessageSink>);

/// What answers a path: starts a dialect on a pipe of messages and runs it to its end. Nothing here has a default: who stands
/// before another entrance passes on all of it, or does not compile.
pub trait Entrance: Send + Sync {
    fn serve(&self, caller: Caller, pipe: MessagePipe, ending: DaemonEnding) -> Later<'static, Ended>;
    /// Why this caller is not let in, whoever it is: what it asks for cannot be had. Said before there is a socket.
    fn refuses(&self, caller: &Caller) -> Option<String>;
    fn rules(&self) -> EntranceRules;
}

/// What holds for everybody who comes to a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntranceRules {
    /// What a binary message is here.
    pub binary: Binary,
    /// When a client's close is answered.
    pub on_close: OnClose,
    /// What somebody must be allowed to come in.
    pub scopes: Scopes,
    /// Whether it is spoken over HTTP as well, by streams of events; `None`: over WebSockets alone.
    pub streams: Option<AcpRules>,
    /// Subprotocols that it answers to, beside the server's own.
    pub subprotocols: &'static [&'static str],
    /// Whether strangers come in, to log in there. Otherwise they get 401.
    pub takes_strangers: bool,
}

impl Default for EntranceRules {
    fn default() -> Self {
        Self {
            binary: Binary::Invalid,
            on_close: OnClose::AtOnce,
            scopes: Scopes::CHAT,
            streams: None,
            subprotocols: &[],
            takes_strangers: false,
        }
    }
}

/// How the Agent Client Protocol is spoken over HTTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcpRules {
    /// How long a connection stays without a stream and without a request.
    pub grace: Duration,
}

/// A request with its body read.
#[derive(Debug)]
pub struct WebRequest {
    pub method: Method,
    pub path: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What answers requests that become no WebSocket.
pub trait WebRoute: Send + Sync {
    /// `Allow`, in its order.
    fn methods(&self) -> &'static [&'static str];
    fn answer(&self, caller: Caller, request: WebRequest, ending: DaemonEnding) -> Later<'static, Response<ReplyBody>>;
    fn scopes(&self) -> Scopes {
        Scopes::CHAT
    }
}
