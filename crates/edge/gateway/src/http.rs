//! One request: guards, then who it is, then what answers.

mod body;
pub(crate) mod reply;

use std::net::SocketAddr;
use std::sync::Arc;

use dialect_gateway::Code;
use hyper::body::Incoming;
use hyper::header::{HOST, ORIGIN};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::acp;
use crate::entrance::PeerAddress;
use crate::failures::Guesser;
use crate::guards::{self, OwnNames};
use crate::places::ConnectionPlace;
use crate::routes;
use crate::state::ServerState;

pub use body::ReplyBody;
pub(crate) use body::{BodyFault, read as read_body};

/// One connection, whatever comes over it.
pub(crate) struct ConnectionFacts {
    pub(crate) peer: PeerAddress,
    /// Our end; none on the socket in the file system.
    pub(crate) local: Option<SocketAddr>,
    pub(crate) tls: bool,
    /// Given back when the last of it is gone.
    pub(crate) _place: ConnectionPlace,
}

/// What carries a connection.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send + 'static {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Wire for S {}

pub(crate) async fn answer<S: Wire>(
    state: Arc<ServerState>,
    connection: Arc<ConnectionFacts>,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    let is_head = request.method() == Method::HEAD;
    let is_acp = routes::is_acp(&state, request.uri().path());
    let origin =
        header(request.headers(), ORIGIN).filter(|origin| is_acp && state.allows_page(origin)).map(str::to_owned);
    let mut reply = match guard(&state, &connection, &request) {
        Err(refused) => *refused,
        Ok(guesser) => routes::answer::<S>(state, connection, guesser, request).await,
    };
    if is_acp {
        reply = acp::finished(reply, origin.as_deref());
    }
    if is_head {
        *reply.body_mut() = ReplyBody::Empty;
    }
    reply
}

pub(crate) fn header(headers: &HeaderMap, name: impl hyper::header::AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Host and origin. Probes come by address and learn nothing, so they may come by any name; no page reaches the socket in the
/// file system.
fn guard(
    state: &ServerState,
    connection: &ConnectionFacts,
    request: &Request<Incoming>,
) -> Result<Guesser, Box<Response<ReplyBody>>> {
    let origin = request.headers().get(ORIGIN).map(|it| it.to_str().unwrap_or("null"));
    let guesser = Guesser::new(connection.peer, origin);
    let Some(local) = connection.local else { return Ok(guesser) };
    let refuse = |status, message| Box::new(reply::refusal(status, Code::InvalidRequest, message));
    let host = match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => header(request.headers(), HOST),
    };
    let Some(host) = host else {
        return match request.version() {
            // An old probe names no host.
            Version::HTTP_10 if is_probe(request.uri().path()) => Ok(guesser),
            _ => Err(refuse(StatusCode::BAD_REQUEST, "the request names no host")),
        };
    };
    let access = state.access();
    let names = OwnNames {
        address: Some(local.ip()),
        port: local.port(),
        hostnames: &access.hostnames,
        tailnet: access.tailscale.identity,
        tls: connection.tls,
    };
    if !is_probe(request.uri().path()) && !guards::host_is_ours(host, names) {
        return Err(refuse(StatusCode::MISDIRECTED_REQUEST, "this server has another name; see server.hostnames"));
    }
    let path = request.uri().path();
    let is_stream = routes::is_upgrade(request) || path == routes::EVENTS || routes::is_acp(state, path);
    let reads = [Method::GET, Method::HEAD].contains(request.method()) && !is_stream;
    if let Some(origin) = origin.filter(|_| !reads)
        && !guards::origin_is_allowed(origin, host, connection.tls, &access.allowed_origins)
    {
        return Err(refuse(
            StatusCode::FORBIDDEN,
            "pages of this origin may not speak with us; see server.allowed_origins",
        ));
    }
    Ok(guesser)
}

fn is_probe(path: &str) -> bool {
    ["/livez", "/readyz"].contains(&path)
}
