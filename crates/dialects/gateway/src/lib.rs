//! The gateway's wire: JSON frames with an id over one connection, many sessions behind it. Pure: frames, events and time go
//! in; frames and commands come out.
//!
//! * `shape`, `methods`, `params`, `results`, `events`: what can be asked and told, declared once. `envelope`: one frame in.
//!   `ledger`: the ids, and every frame out.
//! * `auth_state`, `rate`: who is there, and how fast they may ask.
//! * `inbound`: what each method does. `opening`, `leaving`: being on sessions. `works`, `pending`: what was wanted. `replies`, `repeats`: what
//!   the answers mean. `commands`: what a slash at the start of a message means.
//! * `session_view`, `run`, `context`, `confirm`: one session as this connection sees it. `outbound`, `ends`, `end_of_run`: what is told of it.
//! * `projection`, `log_context`, `cursor`, `listeners`, `news`: subscriptions and replays.

mod auth_state;
mod checkpoints;
mod commands;
mod confirm;
mod context;
mod cursor;
mod end_of_run;
mod ends;
mod envelope;
pub mod events;
mod faults;
mod heard_reply;
mod inbound;
mod leaving;
mod ledger;
mod listeners;
mod log_context;
mod methods;
mod news;
mod opening;
mod openrpc;
mod outbound;
mod own;
pub mod params;
mod pending;
mod projection;
mod rate;
mod repeats;
mod replies;
pub mod results;
mod run;
pub mod services;
mod session_view;
pub mod shape;
mod tool_names;
mod works;

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use vocab::{Clock, Event, Ids, SessionId, Settings, Tag, Told};
use wire::{Close, CloseCode, Dialect, Frame, Parting, Pending};

use auth_state::Auth;
use envelope::{BadFrame, GatewayRequest};
use ledger::{Awaits, IN_FLIGHT_MAX, IdLedger, NotOpened, RequestId, Terminal};
use news::News;
use opening::Opening;
use own::Out;
use pending::{GatewayPending, StopWish, SubscribePlan, Work};
use rate::{Bucket, Rate};
use session_view::SessionView;

pub use auth_state::{AuthState, MayAsk};
pub use confirm::CONFIRM_MS;
pub use context::ContextRules;
pub use cursor::{EventCursor, Within};
pub use end_of_run::EndOfRun;
pub use events::{EVENTS, EventRow};
pub use log_context::ModelPrices;
pub use methods::{METHODS, MethodRow};
pub use openrpc::openrpc;
pub use own::{Code, GatewayAnswer, GatewayOwn, GatewayRefusal, NewsItem, NewsMark, Scopes, Topic};
pub use rate::BURST_MAX;
pub use replies::REVOKED;
pub use tool_names::TOOL_NAMES;

/// What becomes of runs whose connection goes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OnDisconnect {
    #[default]
    Continue,
    Cancel,
}

/// What a session starts with that has nothing of its own; `None`: what the engine has.
pub type UsualSettings = Arc<dyn Fn(&SessionId) -> Option<Arc<Settings>> + Send + Sync>;

/// What all connections of one process share.
#[derive(Clone)]
pub struct GatewayOptions {
    pub version: String,
    /// Of this run of the process: another one after a restart.
    pub instance: Arc<str>,
    pub usual: UsualSettings,
    pub on_disconnect: OnDisconnect,
    /// The percentage of the context from which on it is compacted, as `budget` says it.
    pub compact_pct: u64,
    /// When people are told how full the context is; `None`: never.
    pub context: Option<ContextRules>,
    pub prices: ModelPrices,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
}

impl GatewayOptions {
    pub fn new(version: impl Into<String>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        let compact_pct = u64::from(vocab::CompactionPolicy::default().threshold_pct);
        Self {
            version: version.into(),
            instance: "".into(),
            usual: Arc::new(|_| None),
            on_disconnect: OnDisconnect::default(),
            compact_pct,
            context: Some(ContextRules::default()),
            prices: Arc::new(|_| None),
            clock,
            ids,
        }
    }
}

/// One connection.
pub struct Gateway {
    options: Arc<GatewayOptions>,
    connection: Arc<str>,
    /// The session that is meant where none is named.
    attached: SessionId,
    auth: Auth,
    rate: Bucket,
    ledger: IdLedger,
    pending: Pending<GatewayPending>,
    /// Where prompts of this connection belong in a trace, unless they say it themselves.
    trace: Option<Arc<str>>,
    /// Sessions that the connection is on.
    views: Vec<SessionView>,
    opening: Vec<Opening>,
    /// Sessions before whose tools this connection is asked.
    callbacks: Vec<SessionId>,
    works: Vec<Work>,
    works_made: u64,
    stops: Vec<StopWish>,
    subscribing: Vec<SubscribePlan>,
    subscribes_made: u64,
    news: News,
    /// When a service is asked again whether the attached session was deleted.
    watch_again_ms: Option<u64>,
    /// Reused for frames that come often.
    scratch: Vec<u8>,
    /// The process ends: nothing new is taken.
    shutting_down: bool,
}

impl Gateway {
    pub fn new(options: Arc<GatewayOptions>, connection: Arc<str>, auth: AuthState, trace: Option<Arc<str>>) -> Self {
        Self {
            attached: SessionId::from(format!("ws:{connection}")),
            options,
            connection,
            auth: Auth::new(auth),
            rate: Bucket::default(),
            ledger: IdLedger::default(),
            pending: Pending::default(),
            trace,
            views: Vec::new(),
            opening: Vec::new(),
            callbacks: Vec::new(),
            works: Vec::new(),
            works_made: 0,
            stops: Vec::new(),
            subscribing: Vec::new(),
            subscribes_made: 0,
            news: News::default(),
            watch_again_ms: None,
            scratch: Vec::new(),
            shutting_down: false,
        }
    }

    /// One request; whatever is wrong with it is its answer. `rate`: whether it comes too fast.
    fn request(&mut self, request: GatewayRequest<'_>, out: &mut Out) -> Result<(), BadFrame> {
        let GatewayRequest { id, jsonrpc, method, params } = request;
        let rate = self.check_rate(out);
        let id = self.ledger.open(id, jsonrpc, out.now_ms).map_err(|why| {
            let refusal = match why {
                NotOpened::Duplicate => envelope::duplicate(id),
                NotOpened::Full => {
                    let message = format!("{IN_FLIGHT_MAX} requests are in flight");
                    let refusal = GatewayRefusal::new(Code::Busy, message).because("rate_limited");
                    refusal.with("id", id.number()).with("retryAfterMs", faults::BUSY_MS)
                }
            };
            let refusal = rate.clone().err().unwrap_or(refusal);
            BadFrame { id: None, jsonrpc, refusal }
        })?;
        if let Err(refusal) = rate.and_then(|()| self.ask(id, &method, params, out)) {
            self.refuse(id, &refusal, out);
        }
        Ok(())
    }

    fn ask(
        &mut self,
        id: RequestId,
        method: &str,
        params: Option<&RawValue>,
        out: &mut Out,
    ) -> Result<(), GatewayRefusal> {
        let row = methods::find(method);
        self.auth.allows(row.map_or(MayAsk::Needs(Scopes::NONE), |row| row.may_ask))?;
        let row = row.ok_or_else(|| envelope::no_method(method))?;
        if self.shutting_down {
            return Err(ends::shutting_down());
        }
        (row.answer)(self, id, params, out)
    }

    fn check_rate(&mut self, out: &mut Out) -> Result<(), GatewayRefusal> {
        let retry_after_ms = match self.rate.take(out.now_ms) {
            Rate::Fine => return Ok(()),
            Rate::TooFast { retry_after_ms } => retry_after_ms,
            Rate::Enough { retry_after_ms } => {
                out.close_when_answered = Some(Close::new(CloseCode::PolicyViolation, "too many requests"));
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

    /// After whatever happened.
    fn afterwards(&mut self, out: &mut Out) {
        self.stops_too_late(out);
        self.note_use(out.now_ms);
        self.leave_too_many(out);
        self.close_if_over(out);
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
}

/// As JSON.
pub(crate) fn written(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec())
}

impl Dialect for Gateway {
    type Own = GatewayOwn;

    /// The client speaks first.
    fn greet(&mut self, _: &mut Out) {}

    fn hear(&mut self, frame: Frame<'_>, out: &mut Out) {
        let text = match frame {
            Frame::Whole(wire::NO_TEXT) => Err(envelope::no_text()),
            Frame::Whole(bytes) => wire::check(bytes).map_err(|error| envelope::parse_error(&error.to_string())),
            Frame::TooLong { limit } => Err(envelope::too_long(limit)),
        };
        let text = text.map(wire::replace_lone_surrogates);
        let heard = match &text {
            Ok(text) => envelope::read(text).and_then(|request| self.request(request, out)),
            Err(refusal) => Err(BadFrame { id: None, jsonrpc: false, refusal: refusal.clone() }),
        };
        if let Err(BadFrame { id, jsonrpc, refusal }) = heard {
            // Who debugs a client can go on: what is no request counts for nothing, and ends nothing. An id in flight belongs to its request: what is said here is nobody's.
            let usable = id.and_then(|id| self.ledger.open(id, jsonrpc, out.now_ms).ok());
            match usable {
                Some(id) => self.refuse(id, &refusal, out),
                None => ledger::refuse_nobody(&refusal, jsonrpc, out),
            }
        }
        self.afterwards(out);
    }

    fn tell(&mut self, told: &Told, out: &mut Out) {
        match &told.event {
            Event::Reply { tag, result } => self.replied(*tag, result.clone(), out),
            _ => {
                if let Some(at) = self.view_at(&told.session) {
                    self.event(at, told, out);
                }
            }
        }
        if !matches!(told.event, Event::Delta(_)) {
            self.afterwards(out);
        }
    }

    fn own_answered(&mut self, tag: Tag, answer: Result<GatewayAnswer, GatewayRefusal>, out: &mut Out) {
        self.own_replied(tag, answer, out);
        self.afterwards(out);
    }

    fn pause(&mut self, out: &mut Out) {
        self.afterwards(out);
    }

    fn part(&mut self, why: Parting, out: &mut Out) {
        self.parted(why, out);
        self.afterwards(out);
    }

    fn listening(&self) -> bool {
        !self.pending.is_full()
    }

    fn due(&self) -> Option<u64> {
        [self.auth.due(), self.ledger.due(), self.leave_due(), self.watch_again_ms].into_iter().flatten().min()
    }

    fn tick(&mut self, now_ms: u64, out: &mut Out) {
        if let Some(close) = self.auth.tick(now_ms) {
            out.close_with(close);
        }
        for id in self.ledger.expired(now_ms) {
            match self.ledger.stage(id) {
                Some(Awaits::Held { .. }) => self.wait_timed_out(id, out),
                _ => self.timed_out(id, out),
            }
        }
        for id in self.ledger.forgotten(now_ms) {
            out.notes.push(format!("a request was owed an answer for too long: {:?}", self.ledger.stage(id)));
            let refusal = self.incident(GatewayRefusal::internal("forgotten", "nothing came of it"), out);
            self.refuse(id, &refusal, out);
        }
        self.watch_again(out);
        self.leave_unused(out);
        self.afterwards(out);
    }
}
