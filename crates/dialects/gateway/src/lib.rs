//! The gateway's wire: JSON frames with an id over one connection, many sessions behind it. Pure: frames, events and time go
//! in; frames and commands come out.
//!
//! * `shape`, `methods`, `params`, `results`: what can be asked, declared once. `envelope`: one frame in. `ledger`: the ids, and
//!   every frame out.
//! * `auth_state`, `rate`: who is there, and how fast they may ask.
//! * `inbound`: what each method does. `pending`: what was wanted. `replies`: what the answers mean.

mod auth_state;
mod context;
mod cursor;
mod envelope;
pub mod events;
mod faults;
mod inbound;
mod ledger;
mod methods;
mod openrpc;
mod own;
pub mod params;
mod pending;
mod rate;
pub mod results;
mod run;
pub mod services;
pub mod shape;
mod tool_names;

use std::sync::Arc;

use serde::Serialize;
use vocab::{Clock, Ids, SessionId, Tag, Told};
use wire::{Close, CloseCode, Dialect, Frame, Parting, Pending};

use auth_state::Auth;
use envelope::{BadFrame, Request};
use ledger::{Ledger, NotOpened, RequestId, Terminal};
use methods::{OwnPlan, ToldBy};
use own::Out;
use pending::GatewayPending;
use rate::{Bucket, Rate};

pub use auth_state::{AuthState, LOGIN_FAILURES_MAX, LOGIN_MS_MAX};
pub use ledger::{ID_MAX, IN_FLIGHT_MAX, SUBSCRIPTIONS_MAX};
pub use methods::{METHODS, MethodRow};
pub use openrpc::openrpc;
pub use own::{Code, GatewayAnswer, GatewayOwn, GatewayRefusal, NewsItem, NewsMark, Scopes, Topic};
pub use rate::{BURST_MAX, PER_SECOND_MAX};

/// What all connections of one process share.
pub struct GatewayOptions {
    pub version: String,
    /// Of this run of the process: another one after a restart.
    pub instance: Arc<str>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
}

/// One connection.
pub struct Gateway {
    options: Arc<GatewayOptions>,
    connection: Arc<str>,
    /// The session that is meant where none is named.
    attached: SessionId,
    auth: Auth,
    rate: Bucket,
    ledger: Ledger,
    pending: Pending<GatewayPending>,
    trace: Option<Arc<str>>,
}

impl Gateway {
    pub fn new(options: Arc<GatewayOptions>, connection: Arc<str>, auth: AuthState, trace: Option<Arc<str>>) -> Self {
        Self {
            attached: SessionId::from(format!("ws:{connection}")),
            options,
            connection,
            auth: Auth::new(auth),
            rate: Bucket::default(),
            ledger: Ledger::default(),
            pending: Pending::default(),
            trace,
        }
    }

    /// One request; whatever is wrong with it is its answer.
    fn request(&mut self, request: Request<'_>, out: &mut Out) {
        let Request { id, jsonrpc, method, params } = request;
        let id = match self.ledger.open(id, jsonrpc, out.now_ms) {
            Ok(id) => id,
            Err(NotOpened::Duplicate) => return ledger::refuse_nobody(&envelope::duplicate(id), jsonrpc, out),
            Err(NotOpened::Full) => {
                let message = format!("{IN_FLIGHT_MAX} requests are in flight");
                let refusal = GatewayRefusal::new(Code::Busy, message).because("rate_limited").with("id", id.number());
                return ledger::refuse_nobody(&refusal, jsonrpc, out);
            }
        };
        if let Err(refusal) = self.ask(id, &method, params, out) {
            self.refuse(id, &refusal, out);
        }
    }

    fn ask(
        &mut self,
        id: RequestId,
        method: &str,
        params: Option<&serde_json::value::RawValue>,
        out: &mut Out,
    ) -> Result<(), GatewayRefusal> {
        self.check_rate(out)?;
        let row = methods::find(method);
        let (scope, is_open) = row.map_or((Scopes::NONE, false), |row| (row.scope, row.is_open));
        self.auth.allows(scope, is_open)?;
        let row = row.ok_or_else(|| envelope::no_method(method))?;
        (row.answer)(self, id, params, out)
    }

    fn check_rate(&mut self, out: &mut Out) -> Result<(), GatewayRefusal> {
        let retry_after_ms = match self.rate.take(out.now_ms) {
            Rate::Fine => return Ok(()),
            Rate::TooFast { retry_after_ms } => retry_after_ms,
            Rate::Enough { retry_after_ms } => {
                out.close_with(Close::new(CloseCode::PolicyViolation, "too many requests"));
                retry_after_ms
            }
        };
        let message = format!("too many requests; there is room again in {retry_after_ms} ms");
        Err(GatewayRefusal::new(Code::Busy, message).because("rate_limited").with("retryAfterMs", retry_after_ms))
    }

    /// The result of a request.
    pub(crate) fn answer(&mut self, id: RequestId, result: &impl Serialize, out: &mut Out) {
        self.ledger.settle(id, Terminal::Result(&written(result)), out);
    }
    pub(crate) fn refuse(&mut self, id: RequestId, refusal: &GatewayRefusal, out: &mut Out) {
        self.ledger.settle(id, Terminal::Refused(refusal), out);
    }

    /// Has a service answer a request.
    pub(crate) fn ask_service(&mut self, id: RequestId, plan: OwnPlan, told: ToldBy, out: &mut Out) {
        match plan {
            OwnPlan::Call(call) | OwnPlan::KeepFirst { call, .. } => {
                self.pending.call(call, GatewayPending::Service { id, told }, out);
            }
        }
    }

    /// The session that a request means.
    pub fn session_or_attached(&self, named: Option<shape::SessionName>) -> SessionId {
        named.map_or_else(|| self.attached.clone(), |name| name.0)
    }
    /// Whether this is the session that is meant where none is named: it exists, written or not.
    pub fn is_attached_to(&self, session: &SessionId) -> bool {
        self.attached == *session
    }
    /// What all connections share.
    pub fn options(&self) -> &GatewayOptions {
        &self.options
    }
    pub fn connection(&self) -> &Arc<str> {
        &self.connection
    }
    pub fn scopes(&self) -> Scopes {
        self.auth.scopes()
    }

    fn logged_in(&mut self, id: RequestId, answer: Result<GatewayAnswer, GatewayRefusal>, out: &mut Out) {
        match answer {
            Ok(GatewayAnswer::LoggedIn { name, scopes }) => {
                self.auth.known(scopes);
                let connection_id = self.connection.clone();
                let scopes = scopes.words();
                self.answer(id, &results::LoginResult { authenticated: true, connection_id, scopes, name }, out);
            }
            Ok(_) => self.refuse(id, &GatewayRefusal::mixed_up(), out),
            Err(refusal) => {
                self.refuse(id, &refusal, out);
                if refusal.code == Code::AuthFailed
                    && let Some(close) = self.auth.failed()
                {
                    out.close_with(close);
                }
            }
        }
    }
}

/// As JSON.
pub(crate) fn written(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec())
}

impl Dialect for Gateway {
    type Own = GatewayOwn;

    fn greet(&mut self, out: &mut Out) {
        if self.auth.is_refused() {
            ledger::refuse_nobody(&auth_state::refused(), false, out);
            out.close_with(Close::new(CloseCode::PolicyViolation, "not known here"));
        }
    }

    fn hear(&mut self, frame: Frame<'_>, out: &mut Out) {
        let bytes = match frame {
            Frame::Whole(bytes) => bytes,
            Frame::TooLong { limit } => return ledger::refuse_nobody(&envelope::too_long(limit), false, out),
        };
        let text = match wire::check(bytes) {
            Ok(text) => wire::replace_lone_surrogates(text),
            Err(error) => return ledger::refuse_nobody(&envelope::parse_error(&error.to_string()), false, out),
        };
        match envelope::read(&text) {
            Ok(request) => self.request(request, out),
            Err(BadFrame { id, jsonrpc, refusal }) => {
                // An id in flight belongs to its request: what is said here is nobody's.
                let usable = id.and_then(|id| self.ledger.open(id, jsonrpc, out.now_ms).ok());
                match usable {
                    Some(id) => self.refuse(id, &refusal, out),
                    None => ledger::refuse_nobody(&refusal, jsonrpc, out),
                }
            }
        }
    }

    fn tell(&mut self, _told: &Told, _out: &mut Out) {}

    fn own_answered(&mut self, tag: Tag, answer: Result<GatewayAnswer, GatewayRefusal>, out: &mut Out) {
        match self.pending.answered(tag) {
            Some(GatewayPending::Login(id)) => self.logged_in(id, answer, out),
            Some(GatewayPending::Service { id, told }) => match answer.and_then(|answer| told(self, answer)) {
                Ok(json) => {
                    self.ledger.settle(id, Terminal::Result(&json), out);
                }
                Err(refusal) => self.refuse(id, &refusal, out),
            },
            None => {}
        }
    }

    fn part(&mut self, _why: Parting, out: &mut Out) {
        out.close_with(Close::normal());
    }

    fn due(&self) -> Option<u64> {
        [self.auth.due(), self.ledger.due()].into_iter().flatten().min()
    }

    fn tick(&mut self, now_ms: u64, out: &mut Out) {
        if let Some(close) = self.auth.tick(now_ms) {
            out.close_with(close);
        }
    }
}
