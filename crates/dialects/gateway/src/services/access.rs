//! Who is connected, who tried to come in, and showing somebody out.

use std::sync::Arc;

use super::{ServiceAnswer, ServiceCall, answer_of, asks};
use crate::methods::OwnPlan;
use crate::own::{GatewayAnswer, GatewayRefusal};
use crate::shape::*;
use crate::{Gateway, shape, words};

words! { /// By what somebody is known.
    CredentialKind { Token = "token", Cookie = "cookie", User = "user", Tailscale = "tailscale", Nothing = "none" }
}
words! { /// Where a credential was shown: in a header, in a browser's cookie, where there should have been one and was something else, at `/api/login`, or in the middle of a conversation.
    AttemptKind { Token = "token", Cookie = "cookie", Unreadable = "unreadable", Login = "login", Message = "message" }
}
shape! { result
    /// A socket or a stream of events that is open.
    ConnectionRow {
        "connectionId" connection_id: Arc<str>,
        /// Of the token or the user.
        "name" name: Option<Arc<str>>,
        "scopes" scopes: Vec<&'static str>,
        /// The other end's address, or `unix:UID`.
        "peer" peer: String,
        "path" path: Arc<str>,
        "since" since: i64,
        /// The one that asks.
        "isSelf" is_self: bool,
        "credential" credential: CredentialKind,
    }
}
shape! { result
    /// The oldest first, at most 1,000; `total`: how many there are.
    ConnectionsResult { "connections" connections: Vec<ConnectionRow>, "total" total: u64 }
}
shape! { params
    /// As `system.connections` names it.
    CloseConnectionParams { "connectionId" connection_id: Text<1, 100> }
}
shape! { result
    /// `false`: there is no such connection any more.
    CloseConnectionResult { "closed" closed: bool }
}
shape! { params
    /// At most so many.
    AttemptsParams { "limit" limit: Count<1, 200> = Count(50) }
}
shape! { result
    /// Somebody showed a credential. What it was is not kept.
    AttemptRow {
        "at" at: i64,
        "peer" peer: String,
        /// The page that it came from, as its browser says.
        "origin" origin: Option<Arc<str>>,
        "path" path: Arc<str>,
        "kind" kind: AttemptKind,
        "ok" ok: bool,
    }
}
shape! { result
    /// The newest first: all that failed, and browsers that logged in; the last 200 since the start.
    AttemptsResult { "attempts" attempts: Vec<AttemptRow> }
}

/// What is asked of who keeps the door.
#[derive(Debug)]
pub enum AccessCall {
    Connections,
    Close { connection: Arc<str> },
    Attempts { limit: usize },
}

#[derive(Debug)]
pub enum AccessAnswer {
    Connections(ConnectionsResult),
    Closed(bool),
    Attempts(AttemptsResult),
}

fn call(call: AccessCall) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Access(call))))
}

pub(crate) fn connections(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    call(AccessCall::Connections)
}
pub(crate) fn close(_: &Gateway, params: CloseConnectionParams) -> Result<OwnPlan, GatewayRefusal> {
    call(AccessCall::Close { connection: params.connection_id.0 })
}
pub(crate) fn attempts(_: &Gateway, params: AttemptsParams) -> Result<OwnPlan, GatewayRefusal> {
    call(AccessCall::Attempts { limit: params.limit.size() })
}

fn answered(answer: GatewayAnswer) -> Result<AccessAnswer, GatewayRefusal> {
    match answer_of(answer)? {
        ServiceAnswer::Access(answer) => Ok(answer),
        _ => Err(GatewayRefusal::mixed_up()),
    }
}

pub(crate) fn connections_told(_: &Gateway, answer: GatewayAnswer) -> Result<ConnectionsResult, GatewayRefusal> {
    match answered(answer)? {
        AccessAnswer::Connections(told) => Ok(told),
        _ => Err(GatewayRefusal::mixed_up()),
    }
}
pub(crate) fn close_told(_: &Gateway, answer: GatewayAnswer) -> Result<CloseConnectionResult, GatewayRefusal> {
    match answered(answer)? {
        AccessAnswer::Closed(closed) => Ok(CloseConnectionResult { closed }),
        _ => Err(GatewayRefusal::mixed_up()),
    }
}
pub(crate) fn attempts_told(_: &Gateway, answer: GatewayAnswer) -> Result<AttemptsResult, GatewayRefusal> {
    match answered(answer)? {
        AccessAnswer::Attempts(told) => Ok(told),
        _ => Err(GatewayRefusal::mixed_up()),
    }
}
