//! Which path is answered by what, and who may ask.

mod events;
mod export;
mod login;
mod page;
mod query;
mod upgrade;

use std::sync::Arc;

use dialect_gateway::{Code, Scopes};
use host::{PrincipalCell, user_name};
use hyper::header::{CONNECTION, ORIGIN, UPGRADE};
use hyper::{Request, Response, StatusCode};
use vocab::Principal;
use websocket::handshake;

use crate::attempts::CameFrom;
use crate::credentials::{self, Basis, CallerFound, Credential, KnownCaller};
use crate::entrance::{Caller, Entrance, PeerAddress, WebRequest, WebRoute};
use crate::http::{Arrival, ConnectionFacts, ReplyBody, RequestBody, Wire, header, reply};
use crate::login::LoginDesk;
use crate::options::TailscaleOptions;
use crate::owner::{Owner, OwnerLookup};
use crate::state::ServerState;
use crate::tokens::digest;
use crate::{acp, ids, tailscale};

pub use export::{EXPORT_PATH, ExportPort, ExportRoute};

/// Headers that travel on with a caller.
const TRACE: &str = "traceparent";
const TRACE_STATE: &str = "tracestate";
const ARGUMENTS: &str = "tillerman-arguments";
/// Stands for arguments that are no text, or come twice: no list.
const UNREADABLE: &str = "?";
/// A stream that stays open: no page of another's holds one, though it could not read it.
pub(crate) const EVENTS: &str = "/api/events";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is at a path.
#[derive(Clone)]
enum Destination {
    Live,
    Ready,
    Health,
    Metrics,
    Schema,
    Events,
    Login,
    Logout,
    Socket(Arc<dyn Entrance>),
    /// Spoken over HTTP as well.
    Acp(Arc<dyn Entrance>),
    /// A socket's path, asked for as a page.
    NotAPage,
    Web(Arc<dyn WebRoute>),
    /// The page for browsers, or a file that belongs to it.
    Page(dashboard::PageFile),
    /// Nothing is there, but only who is known learns it.
    HiddenNothing,
    Nothing,
}

const READS: &[&str] = &["GET", "HEAD"];

impl Destination {
    /// `wants_page`: a browser that goes somewhere.
    fn find(state: &ServerState, path: &str, is_upgrade: bool, wants_page: bool) -> Self {
        let own = match path {
            "/livez" => Some(Destination::Live),
            "/readyz" => Some(Destination::Ready),
            "/health" | "/api/health" => Some(Destination::Health),
            "/metrics" => Some(Destination::Metrics),
            "/api/schema" => Some(Destination::Schema),
            EVENTS => Some(Destination::Events),
            "/api/login" => Some(Destination::Login),
            "/api/logout" => Some(Destination::Logout),
            _ => None,
        };
        if let Some(own) = own {
            return own;
        }
        let entrance = entrance_at(state, path).cloned();
        match (entrance, state.hooks.route(path)) {
            (Some(entrance), _) if is_upgrade => Destination::Socket(entrance),
            (Some(entrance), _) if entrance.rules().streams.is_some() => Destination::Acp(entrance),
            (_, Some(route)) => Destination::Web(route),
            (entrance, None) => match page::find(state, path, wants_page) {
                Some(file) => Destination::Page(file),
                None if entrance.is_some() && path != "/" => Destination::NotAPage,
                None if path.starts_with("/webchat/") => Destination::HiddenNothing,
                None => Destination::Nothing,
            },
        }
    }

    fn methods(&self) -> Option<&'static [&'static str]> {
        match self {
            Destination::Login | Destination::Logout => Some(&["POST"]),
            Destination::Web(route) => Some(route.methods()),
            Destination::Acp(_) => Some(acp::METHODS),
            Destination::Socket(_) | Destination::Events => Some(&["GET"]),
            Destination::NotAPage | Destination::HiddenNothing | Destination::Nothing => None,
            _ => Some(READS),
        }
    }
}

/// What answers a path; one that is spoken over HTTP as well has a second spelling.
fn entrance_at<'s>(state: &'s ServerState, path: &str) -> Option<&'s Arc<dyn Entrance>> {
    let is_same = |it: &str, entrance: &Arc<dyn Entrance>| {
        it == path || (path.strip_suffix('/') == Some(it) && entrance.rules().streams.is_some())
    };
    state.entrances.iter().find(|(it, entrance)| is_same(it, entrance)).map(|(_, entrance)| entrance)
}

/// Whether the Agent Client Protocol is spoken at a path.
pub(crate) fn is_acp(state: &ServerState, path: &str) -> bool {
    entrance_at(state, path).is_some_and(|entrance| entrance.rules().streams.is_some())
}

/// Whether a request wants to become a WebSocket.
pub(crate) fn is_upgrade<B>(request: &Request<B>) -> bool {
    let has = |name, word| {
        let mut values = request.headers().get_all(name).iter().filter_map(|it| it.to_str().ok());
        values.any(|value| handshake::lists(value, word))
    };
    has(CONNECTION, "upgrade") && has(UPGRADE, "websocket")
}

/// One request on its way to its answer.
pub(crate) struct Visit {
    pub(crate) state: Arc<ServerState>,
    pub(crate) connection: Arc<ConnectionFacts>,
    pub(crate) arrival: Arrival,
    pub(crate) came: Arc<CameFrom>,
}

pub(crate) async fn answer<S: Wire>(
    state: Arc<ServerState>,
    connection: Arc<ConnectionFacts>,
    arrival: Arrival,
    request: Request<RequestBody>,
) -> Response<ReplyBody> {
    let wants_page = page::is_wanted(&request);
    let to = Destination::find(&state, request.uri().path(), is_upgrade(&request), wants_page);
    if let Some(methods) = to.methods()
        && !methods.contains(&request.method().as_str())
    {
        return reply::wrong_method(methods);
    }
    let origin = request.headers().get(ORIGIN).map(|it| it.to_str().unwrap_or("null"));
    let came = Arc::new(CameFrom::new(connection.peer, origin, request.uri().path()));
    let visit = Visit { state, connection, arrival, came };
    match to {
        Destination::Live => reply::text(StatusCode::OK, "ok"),
        Destination::Ready if visit.state.is_ready() && visit.state.health().await.serves => {
            reply::text(StatusCode::OK, "ok")
        }
        Destination::Ready => reply::text(StatusCode::SERVICE_UNAVAILABLE, "not ready"),
        Destination::Login => login::login(&visit, request).await,
        Destination::Logout => login::logout(&visit, request).await,
        Destination::Nothing => reply::not_found(),
        Destination::NotAPage => not_a_page(),
        Destination::Socket(entrance) => upgrade::upgrade::<S>(visit, entrance, request).await,
        Destination::Web(route) => web(&visit, route, request).await,
        Destination::Page(file) => page::page(&visit, file, &request).await,
        Destination::Acp(entrance) => acp::answer(&visit, entrance, request).await,
        Destination::Events => match visit.known(request.headers()).await {
            Ok(known) => events::events(&visit, known, request.headers(), request.uri().query()).await,
            Err(refused) => *refused,
        },
        Destination::Health | Destination::Metrics | Destination::Schema | Destination::HiddenNothing => {
            let is_read = READS.contains(&request.method().as_str());
            let is_free = !visit.state.access().auth_http && is_read;
            match visit.known(request.headers()).await {
                Err(refused) if !is_free => *refused,
                _ => facts(&visit, to).await,
            }
        }
    }
}

async fn facts(visit: &Visit, to: Destination) -> Response<ReplyBody> {
    match to {
        Destination::Health => {
            let report = visit.state.health().await;
            let status = if report.serves { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            reply::json(status, report.json)
        }
        Destination::Metrics => reply::plain(StatusCode::OK, PROMETHEUS, visit.state.hooks.metrics()),
        Destination::Schema => reply::json(StatusCode::OK, visit.state.hooks.schema().to_string()),
        _ => reply::not_found(),
    }
}

fn not_a_page() -> Response<ReplyBody> {
    let message = "a WebSocket answers here";
    let mut refused = reply::refusal(StatusCode::UPGRADE_REQUIRED, Code::InvalidRequest, message);
    refused.headers_mut().insert(UPGRADE, hyper::header::HeaderValue::from_static("websocket"));
    refused
}

async fn web(visit: &Visit, route: Arc<dyn WebRoute>, request: Request<RequestBody>) -> Response<ReplyBody> {
    let known = match visit.known(request.headers()).await {
        Ok(known) => known,
        Err(refused) => return *refused,
    };
    if !known.scopes.has(route.scopes()) {
        return missing_scope();
    }
    let (head, body) = request.into_parts();
    let body = match body.read(visit.state.access().body_bytes_max).await {
        Ok(body) => body,
        Err(fault) => return reply::bad_body(fault),
    };
    let caller = visit.caller(Some(known), &head.headers);
    let (path, query) = (head.uri.path().to_owned(), head.uri.query().map(str::to_owned));
    let request = WebRequest { method: head.method, path, query, headers: head.headers, body };
    route.answer(caller, request, visit.state.ending.clone()).await
}

pub(crate) fn missing_scope() -> Response<ReplyBody> {
    reply::refusal(StatusCode::FORBIDDEN, Code::AuthFailed, "this credential may not do that")
}

impl Visit {
    /// Who asks, for what only the known may have.
    pub(crate) async fn known(&self, headers: &hyper::HeaderMap) -> Result<KnownCaller, Box<Response<ReplyBody>>> {
        match self.found(headers).await {
            CallerFound::Known(known) => Ok(known),
            CallerFound::TooMany { wait_ms } => Err(Box::new(reply::too_many(wait_ms))),
            CallerFound::Nobody => Err(Box::new(reply::unauthorized(Code::AuthRequired, NOBODY))),
            CallerFound::Wrong => Err(Box::new(reply::unauthorized(Code::AuthFailed, WRONG))),
        }
    }

    /// Who comes. A wrong credential is counted, and after too many of its kind none of that kind is looked at.
    pub(crate) async fn found(&self, headers: &hyper::HeaderMap) -> CallerFound {
        let credential = credentials::presented(headers);
        // Whose process it is, is no guess: whoever guesses on this machine keeps nobody out who needs to show nothing.
        if credential == Credential::None
            && let known @ CallerFound::Known(_) = self.in_place(headers).await
        {
            return known;
        }
        if let Some(wait_ms) = self.state.wait_ms(&self.arrival.guesser, credential.guess()) {
            return CallerFound::TooMany { wait_ms };
        }
        if let Some(known) = self.state.holder(&credential) {
            return CallerFound::Known(known);
        }
        // Without a token there is nothing to log in with: a cookie that we do not know is that of a server on another port, or
        // from a time when there was one. A browser sends it to all of us, unasked, and keeps nobody out by it.
        let may_be_known = match credential {
            Credential::None => return CallerFound::Nobody,
            Credential::Cookie(_) => !self.state.has_main_token(),
            Credential::Token(_) | Credential::Unreadable => false,
        };
        if may_be_known && let known @ CallerFound::Known(_) = self.in_place(headers).await {
            return known;
        }
        let kind = credential.attempt();
        self.state.failed(&self.arrival.guesser, credential.wrong(), &self.came, kind);
        CallerFound::Wrong
    }

    /// Who comes, by their network or their user.
    async fn in_place(&self, headers: &hyper::HeaderMap) -> CallerFound {
        let access = self.state.access();
        if let Some(claim) = tailscale::claimed(headers, self.connection.peer, &access.tailscale)
            && self.is_proxy_of_tailnet(&access.tailscale).await
            && self.state.tailnet.confirms(&claim, &access.tailscale).await
        {
            let principal = Principal::sender("tailscale", &claim.login);
            let basis = Basis::Login { login: digest(&claim.login), asked: !access.tailscale.trust_header };
            return CallerFound::Known(all_scopes(principal, &claim.login, basis));
        }
        let owner = match (self.connection.peer, self.connection.local) {
            // A proxy on this machine speaks for others.
            _ if !self.arrival.direct => Owner::Other,
            (PeerAddress::Unix { uid, pid }, _) => OwnerLookup::of_unix(uid, pid).await,
            (PeerAddress::Tcp(_), _) if self.state.has_main_token() => Owner::Other,
            (PeerAddress::Tcp(peer), Some(local)) if self.connection.peer.is_loopback() => {
                self.state.owner.of_tcp(peer, local).await
            }
            (PeerAddress::Tcp(_), _) => Owner::Other,
        };
        match owner {
            Owner::Us => {
                let name = user_name();
                CallerFound::Known(all_scopes(Principal::user(&name), &name, Basis::Place))
            }
            Owner::OurTool => {
                self.state.hooks.note("self_call: a process that we started came to the gateway without a token");
                CallerFound::Nobody
            }
            Owner::System | Owner::Other => CallerFound::Nobody,
        }
    }

    /// Whether the tailnet's own proxy may be at the other end: it is the system's, or the user's. The daemon says whose an
    /// address is, and not who names it to us: that could be anybody on this machine, a command of a model's among them.
    async fn is_proxy_of_tailnet(&self, options: &TailscaleOptions) -> bool {
        if options.trust_header {
            return true;
        }
        let (PeerAddress::Tcp(peer), Some(local)) = (self.connection.peer, self.connection.local) else { return false };
        match self.state.owner.of_tcp(peer, local).await {
            Owner::Us | Owner::System => true,
            Owner::OurTool | Owner::Other => false,
        }
    }

    pub(crate) fn caller(&self, known: Option<KnownCaller>, headers: &hyper::HeaderMap) -> Caller {
        let text = |name: &str| header(headers, name).map(Arc::from);
        let (principal, scopes, name) = match known {
            Some(known) => (PrincipalCell::known(known.principal), known.scopes, known.name),
            None => (PrincipalCell::default(), Scopes::NONE, "".into()),
        };
        let login = LoginDesk {
            state: self.state.clone(),
            guesser: self.arrival.guesser.clone(),
            came: self.came.clone(),
            principal: principal.clone(),
            socket: None,
            place: Arc::default(),
        };
        // What cannot be read must not pass for nothing.
        let arguments = match headers.get_all(ARGUMENTS).iter().count() {
            0 => None,
            1 => Some(text(ARGUMENTS).unwrap_or_else(|| UNREADABLE.into())),
            _ => Some(UNREADABLE.into()),
        };
        let trace = header(headers, TRACE).map(|place| match header(headers, TRACE_STATE) {
            Some(state) => format!("{place} {state}").into(),
            None => place.into(),
        });
        Caller {
            connection: ids::connection().into(),
            principal,
            scopes,
            name,
            peer: self.connection.peer,
            trace,
            arguments,
            login,
        }
    }
}

fn all_scopes(principal: Principal, name: &str, basis: Basis) -> KnownCaller {
    KnownCaller { principal, name: name.into(), scopes: Scopes::ALL, basis }
}

pub(crate) const NOBODY: &str =
    "say who you are: set a token (`tillerman gateway token`) and send it as a bearer token";
pub(crate) const WRONG: &str = "this credential is not known here";
