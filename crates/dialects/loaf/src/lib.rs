//! The `loaf` dialect: JSON-RPC 2.0 over NDJSON, many sessions on one pipe, events as notifications (protocol 1.0.0). A pure
//! state machine over [`wire::Dialect`]: no I/O and no runtime; time and ids come through ports.
//!
//! * `methods`, `params`, `faults`, `frames`: the wire. `inbound`: what each method wants from the engine.
//! * `own`: what it says to the service beside the engine. `pending`: what was wanted. `replies`: what the answers mean. `outbound`: what it tells unasked.
//! * `session_view`, `turn`, `calls`, `reasoning`, `compaction`, `context`: one session as its controller sees it.
//! * `models`, `images`, `messages`, `history`, `commands`, `accounts`: the rest of the vocabulary.
//!
//! `docs/dialects/loaf.md` is the page for authors of controllers.

mod accounts;
mod calls;
mod commands;
mod compaction;
mod context;
mod ending;
mod faults;
mod frames;
mod history;
mod images;
mod inbound;
mod messages;
mod methods;
mod models;
mod outbound;
mod own;
mod params;
mod pending;
mod reasoning;
mod replies;
mod schema;
mod send;
mod session_view;
mod tool_names;
mod turn;

pub use tool_names::TOOL_NAMES;

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{
    Abilities, AccountList, Clock, DirectoryVerb, Event, Fault, Gate, IdKind, Ids, Mode, ModelInfo, Open, SessionId,
    SessionVerb, Settings, Tag, Target, Told, Verb, Which,
};
use wire::jsonrpc::{self, Frame, Version};
use wire::{Dialect, Parting, Pending};

use ending::End;
use faults::RpcFault;
use frames::{LoafCall, LoafPen};
use models::UsualModel;
use own::Out;
use params::Params;
use pending::LoafPending;
use session_view::SessionView;
use turn::TurnScene;

pub use compaction::{HIGH_WATERMARK_PCT, TARGET_PCT};
pub use models::ANY_ROUTE;
pub use own::{
    KeyTried, Listed, LoadedImage, LoafAnswer, LoafLimits, LoafOwn, ModelUse, PlanUse, SkillList, SkillRow, WindowUse,
    account, prefer,
};
pub use schema::schema;

/// What is spoken here.
pub const PROTOCOL: &str = "1.0.0";
/// Sessions of one process. This wire has no way to close one; the next `session.create` is refused.
const SESSIONS_MAX: usize = 256;
/// What a client is called that has not said its name.
const UNNAMED: &str = "loaf";

/// How a conversation starts.
#[derive(Clone)]
pub struct LoafOptions {
    /// Told in the handshake as `server_version`.
    pub version: String,
    pub workspace: Option<PathBuf>,
    pub mode: Option<Mode>,
    /// What a session that this wire makes or loads starts with; `None`: the engine's defaults.
    pub usual: Option<Arc<Settings>>,
    /// The model that is selected; `None`: the controller has to select one.
    pub model: Option<Arc<ModelInfo>>,
    /// The thinking level that was selected some earlier time, as this wire writes it (`HIGH`).
    pub thinking: Option<Arc<str>>,
    /// The OpenRouter route that was selected some earlier time; `None` = any.
    pub route: Option<Arc<str>>,
    /// The user has been through the first steps.
    pub onboarded: bool,
    /// Stamps of events.
    pub clock: Arc<dyn Clock>,
    /// Sessions and turns of this wire.
    pub ids: Arc<dyn Ids>,
}

impl LoafOptions {
    pub fn new(version: impl Into<String>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self {
            version: version.into(),
            workspace: None,
            mode: None,
            usual: None,
            model: None,
            thinking: None,
            route: None,
            onboarded: false,
            clock,
            ids,
        }
    }
}

/// One controller speaking `loaf`.
pub struct Loaf {
    options: LoafOptions,
    views: Vec<SessionView>,
    views_made: u64,
    pending: Pending<LoafPending>,
    /// Messages of all sessions, numbered for the controller.
    messages: u64,
    accounts: AccountList,
    skills: SkillList,
    /// The list that was asked for last.
    models: Vec<ModelInfo>,
    choice: UsualModel,
    onboarded: bool,
    /// What the client calls itself.
    client_name: Arc<str>,
    debug: bool,
    /// Answers that are needed before the first request is heard.
    to_learn: u8,
    end: End,
}

impl Loaf {
    pub fn new(options: LoafOptions) -> Self {
        let asked = options.thinking.as_deref();
        let thinking = options.model.as_deref().map_or(models::Thinking::OFF, |info| models::fitting(info, asked));
        let route = options.route.clone().unwrap_or_else(|| ANY_ROUTE.into());
        Self {
            choice: UsualModel { model: options.model.clone(), thinking, route },
            onboarded: options.onboarded,
            client_name: UNNAMED.into(),
            options,
            views: Vec::new(),
            views_made: 0,
            pending: Pending::default(),
            messages: 0,
            accounts: AccountList::default(),
            skills: SkillList::default(),
            models: Vec::new(),
            debug: false,
            to_learn: 0,
            end: End::default(),
        }
    }

    fn pen<'a>(&self, out: &'a mut Out) -> LoafPen<'a> {
        LoafPen { frames: &mut out.frames, now_ms: self.options.clock.now_ms(), mute: self.end.mute }
    }

    /// A session, and what its events need besides it.
    fn scene(&mut self, at: usize) -> (&mut SessionView, TurnScene<'_>) {
        let scene = TurnScene { choice: &self.choice, numbers: &mut self.messages, debug: self.debug };
        (&mut self.views[at], scene)
    }

    fn view_of(&self, session: &SessionId) -> Option<usize> {
        self.views.iter().position(|view| view.session == *session)
    }
    /// Where the session of this number is now.
    fn view_at(&self, number: u64) -> Option<usize> {
        self.views.iter().position(|view| view.number == number)
    }
    fn view_named(&self, id: &str) -> Result<usize, RpcFault> {
        let found = self.views.iter().position(|view| &*view.id == id);
        found.ok_or_else(|| RpcFault::unknown_session(id))
    }

    /// A fresh id of this wire.
    fn mint(&self, kind: IdKind) -> Arc<str> {
        self.options.ids.mint(kind).into()
    }

    fn submit(&mut self, target: Target, verb: Verb, what: LoafPending, out: &mut Out) {
        self.pending.submit(target, verb, what, out);
    }
    /// To the service beside the engine.
    fn call(&mut self, call: LoafOwn, what: LoafPending, out: &mut Out) {
        self.pending.call(call, what, out);
    }
    /// To the engine itself, or whatever session comes first.
    fn want(&mut self, verb: Verb, what: LoafPending, out: &mut Out) {
        self.submit(Target::Current, verb, what, out);
    }
    fn tell_view(&mut self, at: usize, verb: Verb, what: LoafPending, out: &mut Out) {
        let target = Target::Session(self.views[at].session.clone());
        self.submit(target, verb, what, out);
    }

    fn open(&self, which: Which) -> Open {
        Open {
            workspace: self.options.workspace.clone(),
            mode: self.options.mode,
            gate: Some(Gate::Ladder),
            tool_names: Some(TOOL_NAMES),
            controller: Some(self.client_name.clone()),
            // There is no question on this wire.
            abilities: Abilities { answers: false, ..Abilities::default() },
            usual: self.options.usual.clone(),
            ..Open::new(which)
        }
    }
    fn open_new(&self) -> Open {
        let model = self.choice.model.as_ref().map(|info| info.slug.clone());
        Open { model, ..self.open(Which::New) }
    }

    /// The selection, for a session that has just been opened: another model may have been selected meanwhile.
    fn apply_selection(&mut self, at: usize, out: &mut Out) {
        let selected = self.choice.model.as_ref().map(|info| info.slug.clone());
        if let Some(slug) = selected.filter(|slug| *slug != self.views[at].state.model) {
            self.tell_view(at, Verb::Session(SessionVerb::Set(vocab::Change::Model(slug))), LoafPending::Chosen, out);
        }
        self.apply_thinking(at, out);
    }

    fn apply_thinking(&mut self, at: usize, out: &mut Out) {
        let level = self.choice.thinking.level();
        self.tell_view(at, Verb::Session(SessionVerb::Set(vocab::Change::Thinking(level))), LoafPending::Nothing, out);
    }

    /// One request; whatever is wrong with it is its answer.
    fn request(&mut self, call: &LoafCall, params: Result<Params, RpcFault>, out: &mut Out) {
        let asked = match self.end.ending {
            true => Err(RpcFault::shutting_down()),
            false => params.and_then(|params| self.ask(call, params, out)),
        };
        if let Err(problem) = asked {
            self.pen(out).fail(call, &problem);
        }
    }
}

impl Dialect for Loaf {
    type Own = LoafOwn;

    fn greet(&mut self, out: &mut Out) {
        self.to_learn = 2;
        self.want(Verb::Directory(DirectoryVerb::Accounts), LoafPending::Accounts(accounts::Then::Start), out);
        self.call(LoafOwn::Skills, LoafPending::Skills(None), out);
    }

    fn hear(&mut self, frame: wire::Frame<'_>, out: &mut Out) {
        let line = match frame {
            wire::Frame::Whole(line) if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) => return,
            wire::Frame::Whole(line) => line,
            wire::Frame::TooLong { limit } => return self.pen(out).refuse(None, &RpcFault::line_too_long(limit)),
        };
        let text = match wire::check(line) {
            Ok(text) => wire::replace_lone_surrogates(text),
            Err(error) => return self.pen(out).refuse(None, &RpcFault::parse(&error.to_string())),
        };
        match jsonrpc::read(&text, Version::Required) {
            // It could not be echoed as it came.
            Frame::Request { id, .. } if wire::is_replaced(&text, id.get()) => {
                self.pen(out).refuse(None, &RpcFault::request());
            }
            Frame::Request { id, method, params } => match methods::find(&method) {
                Some(entry) => {
                    let call = LoafCall { id: id.to_owned(), method: entry.method, command: false };
                    self.request(&call, Params::checked(entry, params), out);
                }
                None => self.pen(out).refuse(Some(id), &RpcFault::method(&method)),
            },
            Frame::Notification { .. } => {}
            Frame::Batch => self.pen(out).refuse(None, &RpcFault::batch()),
            Frame::Response { .. } | Frame::Invalid => self.pen(out).refuse(None, &RpcFault::request()),
        }
        self.settle(out);
    }

    fn tell(&mut self, told: &Told, out: &mut Out) {
        match &told.event {
            Event::Reply { tag, result } => self.replied(*tag, result, out),
            Event::SignIn { account, step, .. } => self.sign_in_step(*account, step, out),
            event => {
                if let Some(at) = self.view_of(&told.session) {
                    self.event(at, event, out);
                }
            }
        }
        self.settle(out);
    }

    fn own_answered(&mut self, tag: Tag, answer: Result<LoafAnswer, Fault>, out: &mut Out) {
        self.answered(tag, answer, out);
        self.settle(out);
    }

    fn part(&mut self, why: Parting, out: &mut Out) {
        self.parted(why, out);
        self.settle(out);
    }

    fn listening(&self) -> bool {
        self.to_learn == 0 && !self.pending.is_full()
    }
}
