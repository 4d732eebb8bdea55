//! The Agent Client Protocol over HTTP: messages are posted, and heard on streams of events. What a message means is the
//! dialect's affair; here it is taken in, and what is said is brought to the stream where it belongs.

mod connection;
mod connections;
mod ends;
mod events_body;
mod message;
mod refusals;
mod socket;
mod stream;

use std::sync::Arc;

use hyper::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL,
    CONTENT_TYPE, HeaderName, HeaderValue,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};
use tokio::time::timeout;

pub use events_body::AcpEvents;

pub(crate) use connections::AcpConnections;
pub(crate) use ends::AcpReaderEnd;
pub(crate) use refusals::finished;
pub(crate) use socket::joined;

use crate::credentials::KnownCaller;
use crate::entrance::Entrance;
use crate::http::reply::closing;
use crate::http::{BodyFault, ReplyBody, RequestBody, header};
use crate::limits::{ACP_ID_BYTES_MAX, ACP_INITIALIZE, ACP_STILL_HERE, ACP_STILL_HERE_HTTP2, MESSAGE_BYTES_MAX};
use crate::routes::{Visit, missing_scope};
use crate::sockets::SocketFacts;
use connection::{AcpConnection, StreamName, StreamRefused};
use message::{NotAMessage, Posted, PostedKind};
use refusals::{refusal, too_many_connections};
use stream::StreamPlace;

pub(crate) const METHODS: &[&str] = &["GET", "POST", "DELETE", "OPTIONS"];
pub(crate) const CONNECTION_ID: HeaderName = HeaderName::from_static("acp-connection-id");
const SESSION_ID: HeaderName = HeaderName::from_static("acp-session-id");
const LAST_EVENT_ID: &str = "last-event-id";
const ALLOWED_HEADERS: &str =
    "authorization, content-type, accept, last-event-id, acp-connection-id, acp-session-id, acp-protocol-version";
const PREFLIGHT_S: u32 = 600;

type AcpRefusal = Box<Response<ReplyBody>>;

pub(crate) async fn answer(
    visit: &Visit,
    entrance: Arc<dyn Entrance>,
    request: Request<RequestBody>,
) -> Response<ReplyBody> {
    if request.method() == Method::OPTIONS {
        return preflight();
    }
    let known = match visit.known(request.headers()).await {
        Ok(known) => known,
        Err(refused) => return *refused,
    };
    if !known.scopes.has(entrance.rules().scopes) {
        return missing_scope();
    }
    let answered = match *request.method() {
        Method::POST => posted(visit, known, entrance, request).await,
        Method::DELETE => deleted(visit, &known, request.headers()),
        _ => streamed(visit, known, &request),
    };
    answered.unwrap_or_else(|refused| *refused)
}

fn preflight() -> Response<ReplyBody> {
    let mut reply = Response::new(ReplyBody::Empty);
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let methods = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
    let headers = reply.headers_mut();
    headers.insert(ALLOW, methods.clone());
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(PREFLIGHT_S));
    reply
}

fn refuse<T>(status: StatusCode, message: &str) -> Result<T, AcpRefusal> {
    Err(Box::new(refusal(status, message)))
}

// ---- messages ---------------------------------------------------------------------------------------------------

async fn posted(
    visit: &Visit,
    known: KnownCaller,
    entrance: Arc<dyn Entrance>,
    request: Request<RequestBody>,
) -> Result<Response<ReplyBody>, AcpRefusal> {
    let (head, body) = request.into_parts();
    let kind = header(&head.headers, CONTENT_TYPE).and_then(|it| it.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is application/json");
    }
    let body = match body.read(MESSAGE_BYTES_MAX).await {
        Ok(body) => body,
        Err(fault) => return Err(Box::new(closing(bad_message(fault)))),
    };
    let mut message = Posted::read(&body).map_err(|why| Box::new(not_a_message(why)))?;
    if matches!(&message.kind, PostedKind::Request(id, _) if id.len() > ACP_ID_BYTES_MAX) {
        return refuse(StatusCode::BAD_REQUEST, "the id of the request is too long");
    }
    if message.session.as_ref().is_some_and(|it| it.len() > ACP_ID_BYTES_MAX) {
        return refuse(StatusCode::BAD_REQUEST, "the id of the session is too long");
    }
    let named = id_of(&head.headers, &CONNECTION_ID)?;
    if message.method() == "initialize" && message.kind != PostedKind::Answer {
        return match named {
            Some(_) => refuse(StatusCode::BAD_REQUEST, "a connection is initialized once"),
            None => initialize(visit, known, entrance, message, &head.headers).await,
        };
    }
    let connection = connection(visit, &known, named)?;
    if connection.is_refused() {
        return unknown_connection();
    }
    match id_of(&head.headers, &SESSION_ID)? {
        Some(session) if !message.belongs_to(&session) => {
            return refuse(StatusCode::BAD_REQUEST, "Acp-Session-Id is not the session that the message is about");
        }
        None if message.needs_session() => {
            return refuse(StatusCode::BAD_REQUEST, "this message needs the header Acp-Session-Id");
        }
        _ => {}
    }
    if !connection.post(message).await {
        return unknown_connection();
    }
    let mut reply = Response::new(ReplyBody::Empty);
    *reply.status_mut() = StatusCode::ACCEPTED;
    Ok(reply)
}

fn bad_message(fault: BodyFault) -> Response<ReplyBody> {
    match fault {
        BodyFault::TooLong => refusal(StatusCode::PAYLOAD_TOO_LARGE, "the message is too long"),
        BodyFault::InCrumbs => refusal(StatusCode::BAD_REQUEST, "the message comes in too many small pieces"),
        BodyFault::TooSlow => refusal(StatusCode::REQUEST_TIMEOUT, "the message took too long"),
        BodyFault::Broken => refusal(StatusCode::BAD_REQUEST, "the message broke off"),
    }
}

fn not_a_message(why: NotAMessage) -> Response<ReplyBody> {
    match why {
        NotAMessage::NotJson => refusals::not_json(),
        NotAMessage::NotAnObject => refusal(StatusCode::BAD_REQUEST, "a message is an object"),
        NotAMessage::Invalid => refusal(StatusCode::BAD_REQUEST, "this is no message of JSON-RPC"),
        NotAMessage::NoId => refusal(StatusCode::BAD_REQUEST, "the id of a request is a number or a text"),
        NotAMessage::Batch => refusal(StatusCode::NOT_IMPLEMENTED, "batches are not supported"),
    }
}

/// A connection begins: its dialect runs until it ends.
async fn initialize(
    visit: &Visit,
    known: KnownCaller,
    entrance: Arc<dyn Entrance>,
    message: Posted,
    headers: &HeaderMap,
) -> Result<Response<ReplyBody>, AcpRefusal> {
    if !matches!(message.kind, PostedKind::Request(..)) {
        return refuse(StatusCode::BAD_REQUEST, "initialize is a request: it needs an id");
    }
    let principal = known.principal.as_str().to_owned();
    let caller = visit.caller(Some(known), headers);
    if let Some(why) = entrance.refuses(&caller) {
        return refuse(StatusCode::BAD_REQUEST, &why);
    }
    let id = caller.connection.clone();
    let connection = AcpConnection::new(id.clone(), principal, false);
    if !visit.state.acp.add(&connection) {
        return Err(Box::new(too_many_connections()));
    }
    let (hears, says) = connection.pipe();
    let serving = entrance.serve(caller, (Box::new(hears), Box::new(says)), visit.state.ending.clone());
    let state = visit.state.clone();
    let ended = id.clone();
    tokio::spawn(async move {
        serving.await;
        state.acp.end(&ended);
    });
    connection.post(message).await;
    let Ok(Some((body, _))) = timeout(ACP_INITIALIZE, connection.initialized()).await else {
        visit.state.acp.end(&id);
        return refuse(StatusCode::GATEWAY_TIMEOUT, "nothing answered in time");
    };
    let mut reply = crate::http::reply::json(StatusCode::OK, body);
    if let Ok(id) = HeaderValue::from_str(&id) {
        reply.headers_mut().insert(CONNECTION_ID, id);
    }
    Ok(reply)
}

// ---- connections ------------------------------------------------------------------------------------------------

/// An id from the head of a request.
fn id_of(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, AcpRefusal> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    // Clients write ids as they are; a header is read as the text that they meant.
    let text = std::str::from_utf8(value.as_bytes()).ok().filter(|it| it.len() <= ACP_ID_BYTES_MAX);
    match text {
        Some(text) if headers.get_all(name).iter().count() == 1 => Ok(Some(text.to_owned())),
        _ => refuse(StatusCode::BAD_REQUEST, "an id in the head of the request cannot be read"),
    }
}

fn unknown_connection<T>() -> Result<T, AcpRefusal> {
    refuse(StatusCode::NOT_FOUND, "there is no such connection; begin with initialize")
}

fn connection(visit: &Visit, known: &KnownCaller, named: Option<String>) -> Result<Arc<AcpConnection>, AcpRefusal> {
    let Some(named) = named else {
        return refuse(StatusCode::BAD_REQUEST, "the header Acp-Connection-Id is missing; begin with initialize");
    };
    match visit.state.acp.find(&named, known.principal.as_str()) {
        Some(connection) => Ok(connection),
        None => unknown_connection(),
    }
}

fn deleted(visit: &Visit, known: &KnownCaller, headers: &HeaderMap) -> Result<Response<ReplyBody>, AcpRefusal> {
    let connection = connection(visit, known, id_of(headers, &CONNECTION_ID)?)?;
    visit.state.acp.end(&connection.id);
    let mut reply = Response::new(ReplyBody::Empty);
    *reply.status_mut() = StatusCode::ACCEPTED;
    Ok(reply)
}

// ---- streams ----------------------------------------------------------------------------------------------------

fn accepts_events(headers: &HeaderMap) -> bool {
    let all = headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok());
    all.flat_map(|it| it.split(',')).filter_map(|it| it.split(';').next()).any(|kind| {
        let kind = kind.trim();
        ["text/event-stream", "text/*", "*/*"].iter().any(|it| kind.eq_ignore_ascii_case(it))
    })
}

fn streamed(
    visit: &Visit,
    known: KnownCaller,
    request: &Request<RequestBody>,
) -> Result<Response<ReplyBody>, AcpRefusal> {
    let headers = request.headers();
    if !accepts_events(headers) {
        return refuse(StatusCode::NOT_ACCEPTABLE, "what is heard here is text/event-stream");
    }
    let connection = connection(visit, &known, id_of(headers, &CONNECTION_ID)?)?;
    if connection.is_refused() {
        return unknown_connection();
    }
    let name = match id_of(headers, &SESSION_ID)? {
        Some(session) if session.is_empty() => return refuse(StatusCode::BAD_REQUEST, "Acp-Session-Id is empty"),
        Some(session) => StreamName::Session(session),
        None => StreamName::Connection,
    };
    // A place of another kind of stream is none.
    let is_own = |it: &&str| it.starts_with('c') == (name == StreamName::Connection);
    let from = header(headers, LAST_EVENT_ID).filter(is_own).and_then(StreamPlace::parse);
    let reader = match connection.open(name, from) {
        Ok(reader) => reader,
        Err(StreamRefused::IsOpen) => return refuse(StatusCode::CONFLICT, "somebody reads this stream already"),
        Err(StreamRefused::TooMany) => return refuse(StatusCode::NOT_FOUND, "too many streams of this connection"),
    };
    let every = if request.version() == Version::HTTP_2 { ACP_STILL_HERE_HTTP2 } else { ACP_STILL_HERE };
    let facts = SocketFacts {
        connection: connection.id.clone(),
        name: known.name.clone(),
        scopes: known.scopes,
        credential: known.credential(),
        came: visit.came.clone(),
    };
    let entry = visit.state.add_socket(known.basis, reader.end().into(), facts);
    let events = AcpEvents::new(reader, every, entry, visit.connection.clone());
    let mut reply = Response::new(ReplyBody::Acp(Box::new(events)));
    let into = reply.headers_mut();
    into.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    into.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    into.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    into.insert("x-accel-buffering", HeaderValue::from_static("no"));
    for name in [CONNECTION_ID, SESSION_ID] {
        if let Some(value) = headers.get(&name) {
            into.insert(name, value.clone());
        }
    }
    Ok(reply)
}
