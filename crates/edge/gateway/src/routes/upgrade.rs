//! A request that becomes a WebSocket: shaken hands on, then handed to its entrance in a task of its own.

use std::future::poll_fn;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use dialect_gateway::Code;
use dialect_gateway::services::access::CredentialKind;
use host::{Ended, MessageSink};
use hyper::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use hyper::upgrade::OnUpgrade;
use hyper::{HeaderMap, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use tokio::time::timeout;
use vocab::Later;
use websocket::{Binary, Codec, OnClose, Role, SocketOptions, handshake, socket};
use wire::{Close, CloseCode};

use super::{NOBODY, Visit, WRONG, missing_scope};
use crate::acp;
use crate::credentials::{Basis, CallerFound, subprotocol};
use crate::entrance::{Caller, Entrance};
use crate::http::{ReplyBody, RequestBody, Wire, header, reply};
use crate::limits::{ENDING, KNOWN, PINGS, STRANGER};
use crate::sockets::SocketEntry;
use crate::state::ServerState;

/// What becomes of the socket when it is one.
enum Admitted {
    In {
        caller: Box<Caller>,
        basis: Basis,
        credential: CredentialKind,
    },
    /// It is told so, and closed.
    Wrong,
}

pub(super) async fn upgrade<S: Wire>(
    visit: Visit,
    entrance: Arc<dyn Entrance>,
    mut request: Request<RequestBody>,
) -> Response<ReplyBody> {
    let key = match asked(&request) {
        Ok(key) => key.to_owned(),
        Err(refused) => return *refused,
    };
    let admitted = match admit(&visit, &*entrance, request.headers()).await {
        Ok(admitted) => admitted,
        Err(refused) => return *refused,
    };
    if let Admitted::In { caller, .. } = &admitted
        && let Some(why) = entrance.refuses(caller)
    {
        return reply::refusal(StatusCode::BAD_REQUEST, Code::InvalidRequest, &why);
    }
    let upgraded = hyper::upgrade::on(&mut request);
    let streams = entrance.rules().streams.is_some();
    let mut reply = accepted(&key, subprotocol(request.headers(), entrance.rules().subprotocols));
    if streams
        && let Admitted::In { caller, .. } = &admitted
        && let Ok(id) = HeaderValue::from_str(&caller.connection)
    {
        reply.headers_mut().insert(acp::CONNECTION_ID, id);
    }
    let state = visit.state.clone();
    let connection = visit.connection.clone();
    tokio::spawn(async move {
        let Some((stream, first)) = naked::<S>(upgraded).await else { return };
        match admitted {
            Admitted::In { caller, basis, credential } => {
                let (entry, socket) = open(&state, &*entrance, *caller, (basis, credential), (stream, first));
                drop((state, entrance));
                socket.await;
                drop(entry);
            }
            Admitted::Wrong => refuse(stream, first).await,
        }
        drop(connection);
    });
    reply
}

/// The client's key, where this is a handshake.
fn asked(request: &Request<RequestBody>) -> Result<&str, Box<Response<ReplyBody>>> {
    let refuse = |message| Box::new(reply::refusal(StatusCode::BAD_REQUEST, Code::InvalidRequest, message));
    if request.version() != Version::HTTP_11 {
        return Err(refuse("a WebSocket begins with HTTP/1.1"));
    }
    if header(request.headers(), SEC_WEBSOCKET_VERSION) != Some(handshake::VERSION) {
        let mut refused =
            reply::refusal(StatusCode::UPGRADE_REQUIRED, Code::InvalidRequest, "another version of WebSocket");
        refused.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(handshake::VERSION));
        return Err(Box::new(refused));
    }
    let key = header(request.headers(), SEC_WEBSOCKET_KEY).filter(|key| handshake::is_key(key));
    key.ok_or_else(|| refuse("no key of a WebSocket"))
}

/// Who comes in. Where strangers may, a wrong credential is told in a frame: a page cannot read a status.
async fn admit(
    visit: &Visit,
    entrance: &dyn Entrance,
    headers: &HeaderMap,
) -> Result<Admitted, Box<Response<ReplyBody>>> {
    match visit.found(headers).await {
        CallerFound::Known(known)
            if !known.scopes.has(entrance.rules().scopes) && !entrance.rules().takes_strangers =>
        {
            Err(Box::new(missing_scope()))
        }
        CallerFound::Known(known) => {
            let (basis, credential) = (known.basis, known.credential());
            Ok(Admitted::In { caller: Box::new(visit.caller(Some(known), headers)), basis, credential })
        }
        CallerFound::Nobody if entrance.rules().takes_strangers => {
            let Some(place) = visit.state.places.stranger() else {
                let message = "too many callers have not said who they are";
                return Err(Box::new(reply::refusal(StatusCode::SERVICE_UNAVAILABLE, Code::AuthRequired, message)));
            };
            let caller = visit.caller(None, headers);
            *caller.login.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
            let (basis, credential) = (Basis::Place, CredentialKind::Nothing);
            Ok(Admitted::In { caller: Box::new(caller), basis, credential })
        }
        CallerFound::TooMany { wait_ms } => Err(Box::new(reply::too_many(wait_ms))),
        CallerFound::Wrong if entrance.rules().takes_strangers => Ok(Admitted::Wrong),
        CallerFound::Nobody => Err(Box::new(reply::unauthorized(Code::AuthRequired, NOBODY))),
        CallerFound::Wrong => Err(Box::new(reply::unauthorized(Code::AuthFailed, WRONG))),
    }
}

fn accepted(key: &str, subprotocol: Option<&'static str>) -> Response<ReplyBody> {
    let mut reply = Response::new(ReplyBody::Empty);
    *reply.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = reply.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(&handshake::accept(key)) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if let Some(subprotocol) = subprotocol {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(subprotocol));
    }
    reply
}

/// The stream itself, with nothing of HTTP around it, and what came behind the request.
async fn naked<S: Wire>(upgraded: OnUpgrade) -> Option<(S, Bytes)> {
    let upgraded = upgraded.await.ok()?;
    let parts = auto::upgrade::downcast::<TokioIo<S>>(upgraded).ok()?;
    Some((parts.io.into_inner(), parts.read_buf))
}

/// Runs the entrance on the socket to its end. It is open as long as its entry is kept, which is not left to the entrance: not
/// every dialect has a use for who came.
fn open<S: Wire>(
    state: &ServerState,
    entrance: &dyn Entrance,
    mut caller: Caller,
    (basis, credential): (Basis, CredentialKind),
    (stream, first): (S, Bytes),
) -> (Arc<SocketEntry>, Later<'static, Ended>) {
    let (is_known, rules) = (caller.is_known(), entrance.rules());
    let once_known = (!is_known).then(|| (caller.principal.clone(), KNOWN));
    let options = SocketOptions { binary: rules.binary, on_close: rules.on_close, pings: PINGS, once_known };
    let codec = Codec::new(Role::Server, if is_known { KNOWN } else { STRANGER });
    let (hears, says, kick) = socket(stream, first, codec, options);
    let entry = Arc::new(state.add_socket(basis, kick.into(), caller.facts(credential)));
    caller.login.socket = Some(entry.clone());
    let (pipe, ending) = ((Box::new(hears) as _, Box::new(says) as _), state.ending.clone());
    if rules.streams.is_none() {
        return (entry, entrance.serve(caller, pipe, ending));
    }
    let (pipe, carrying) = acp::joined(caller.connection.clone(), pipe);
    let serving = entrance.serve(caller, pipe, ending);
    (entry, Box::pin(async move { tokio::join!(serving, carrying).0 }))
}

/// One frame that says so, and the end.
async fn refuse<S: Wire>(stream: S, first: Bytes) {
    let options = SocketOptions { binary: Binary::Ignored, on_close: OnClose::AtOnce, pings: PINGS, once_known: None };
    let (_hears, mut says, _) = socket(stream, first, Codec::new(Role::Server, STRANGER), options);
    let error = serde_json::json!({
        "code": Code::AuthFailed.number(), "message": WRONG, "data": { "reason": "auth_failed" },
    });
    // As the dialect writes it: the id first.
    let frame = format!(r#"{{"id":null,"error":{error}}}"#);
    let close = Close::new(CloseCode::PolicyViolation, WRONG);
    let telling = async {
        if poll_fn(|context| says.poll_send(context, frame.as_bytes())).await.is_ok() {
            poll_fn(|context| says.poll_close(context, &close)).await;
        }
    };
    let _ = timeout(ENDING, telling).await;
}
