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
pub(crate) use body::{BodyFault, RequestBody};

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
    let request = RequestBody::of(request, &state.places);
    let is_head = request.method() == Method::HEAD;
    let is_acp = routes::is_acp(&state, request.uri().path());
    let origin =
        header(request.headers(), ORIGIN).filter(|origin| is_acp && state.allows_page(origin)).map(str::to_owned);
    let mut reply = match guard(&state, &connection, &request) {
        Err(refused) => *refused,
        Ok(arrival) => routes::answer::<S>(state, connection, arrival, request).await,
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

/// How a request came to us.
pub(crate) struct Arrival {
    pub(crate) guesser: Guesser,
    /// Under TLS: ours, or that of a proxy on this machine.
    pub(crate) secure: bool,
    /// Nothing says that a proxy stands between: whose process it is says who it is.
    pub(crate) direct: bool,
}

/// Host and origin. Probes come by address and learn nothing, so they may come by any name; no page reaches the socket in the
/// file system.
fn guard(
    state: &ServerState,
    connection: &ConnectionFacts,
    request: &Request<RequestBody>,
) -> Result<Arrival, Box<Response<ReplyBody>>> {
    let refuse = |status, message| Box::new(reply::refusal(status, Code::InvalidRequest, message));
    let headers = request.headers();
    if headers.get_all(HOST).iter().nth(1).is_some() {
        return Err(refuse(StatusCode::BAD_REQUEST, "the request names two hosts"));
    }
    // Of two the first would count, and nobody knows which one a browser has set.
    if headers.get_all(ORIGIN).iter().nth(1).is_some() {
        return Err(refuse(StatusCode::BAD_REQUEST, "the request names two origins"));
    }
    let host = match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => header(headers, HOST),
    };
    // A page cannot set this header; for anybody else the origin check it affects is no obstacle anyway.
    let by_proxy = connection.peer.is_loopback() && header(headers, "x-forwarded-proto") == Some("https");
    let secure = connection.tls || by_proxy;
    let direct = host.is_none_or(guards::is_this_machine) && !is_forwarded(headers);
    let alone = Arrival { guesser: Guesser::new(connection.peer, None), secure, direct };
    let Some(local) = connection.local else { return Ok(alone) };
    let Some(host) = host else {
        return match request.version() {
            // An old probe names no host.
            Version::HTTP_10 if is_probe(request.uri().path()) => Ok(alone),
            _ => Err(refuse(StatusCode::BAD_REQUEST, "the request names no host")),
        };
    };
    let access = state.access();
    let names = OwnNames {
        address: Some(local.ip()),
        port: local.port(),
        hostnames: &access.hostnames,
        tailnet: access.tailscale.identity,
        tls: secure,
    };
    if !is_probe(request.uri().path()) && !guards::host_is_ours(host, names) {
        return Err(refuse(StatusCode::MISDIRECTED_REQUEST, "this server has another name; see server.hostnames"));
    }
    let Some(origin) = headers.get(ORIGIN).map(|it| it.to_str().unwrap_or("null")) else { return Ok(alone) };
    if let Some(page) = guards::known_page(origin, host, secure, &access.allowed_origins) {
        return Ok(Arrival { guesser: Guesser::new(connection.peer, Some(page)), ..alone });
    }
    let path = request.uri().path();
    let is_stream = routes::is_upgrade(request) || path == routes::EVENTS || routes::is_acp(state, path);
    match [Method::GET, Method::HEAD].contains(request.method()) && !is_stream {
        true => Ok(alone),
        false => {
            Err(refuse(StatusCode::FORBIDDEN, "pages of this origin may not speak with us; see server.allowed_origins"))
        }
    }
}

/// What proxies add.
const PROXY_HEADERS: [&str; 6] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];

fn is_forwarded(headers: &HeaderMap) -> bool {
    PROXY_HEADERS.iter().any(|name| headers.contains_key(*name))
}

fn is_probe(path: &str) -> bool {
    ["/livez", "/readyz"].contains(&path)
}
