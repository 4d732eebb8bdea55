//! The `acp` dialect: the Agent Client Protocol, version 1, agent side. JSON-RPC 2.0 over NDJSON in both directions: clients
//! call us, and we call them (permissions, files, terminals, forms). A pure state machine over [`wire::Dialect`]: no I/O, no
//! clock, no runtime.
//!
//! * `inbound`: what each method wants from the engine (`params`, `content`: what clients send). `pending`, `replies`, `answers`:
//!   what the engine's replies are for, and what they are answered with. `leaving`: the end of a session.
//! * `outbound`: what the engine tells unasked. `replay`: a saved session told again. `frames`: the lines that we write.
//! * `asks`: what we want from the client, of which `permission` and `permission_content` are questions, `editor` its files and
//!   terminals. `session_view`, `config`, `tools`, `titles`, `untold_calls`: one session as its client sees it. `faults`: what went wrong.
//!
//! The messages themselves are the types of [`acp_types`]. `docs/dialects/acp.md` is the page for authors of clients.

mod asks;
mod bounded;
mod config;
mod content;
mod cost;
mod early;
mod editor;
mod faults;
mod flow;
mod frames;
mod inbound;
mod leaving;
mod opening;
mod outbound;
mod params;
mod pending;
mod permission;
mod permission_content;
mod remote;
mod replay;
mod replies;
mod responses;
mod session_view;
mod titles;
mod tools;
mod untold_calls;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use acp_types::ClientCapabilities;
use vocab::names;
use vocab::{
    Command, DirectoryVerb, Event, Gate, Ids, Mode, ModelInfo, Open, SessionId, SessionVerb, Settings, Tag, Target,
    Told, Verb, Which,
};
use wire::jsonrpc::{self, Frame, RpcError, Version};
use wire::{Dialect, Out, Parting};

pub use bounded::MESSAGE_BYTES_MAX;
pub use flow::WINDOW_BYTES;
pub use remote::RemoteOptions;

use asks::OpenRequest;
use frames::pen;
use pending::Pending;
use session_view::SessionView;
use tools::{CallStyle, Cards};

/// Commands without a reply so far; at the bound lines stay in the pipe until the engine has caught up.
const PENDING_MAX: usize = 1024;
/// Sessions of one connection; one more is refused until another is closed.
const SESSIONS_MAX: usize = 256;
/// What a client on the network says last whose own input has ended: it takes the answers to its prompts, too, and is left then. One
/// that closes its connection takes nothing more.
pub const LAST_LINE: &str = r#"{"jsonrpc":"2.0","method":"_tillerman/last_line"}"#;
/// Its method.
const LAST: &str = "_tillerman/last_line";
/// What a client is called that has not said its name.
const UNNAMED: &str = "acp";
/// How long a client that opens a session waits for the list of models, from the start of the process on: many clients read the
/// list in that answer and nowhere else. A list that comes later is told as an update.
const LIST_WAIT_MS: u64 = 1500;
/// Sessions on one page of a list.
const PAGE_ROWS_MAX: usize = 50;

/// A slash command that clients can offer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlashInfo {
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// What its argument is, where it takes one.
    pub hint: Option<Arc<str>>,
}

/// How a conversation starts.
#[derive(Clone)]
pub struct AcpOptions {
    /// Told as `agentInfo.version`.
    pub version: String,
    /// Of every session that is opened, where it is not the engine's own; a client changes it session by session.
    pub mode: Option<Mode>,
    pub model: Option<Arc<str>>,
    /// What a session that this wire makes or loads starts with; `None`: the engine's defaults.
    pub usual: Option<Arc<Settings>>,
    /// Commands that belong to a session and leave it where it is.
    pub commands: Vec<SlashInfo>,
    /// Leave out what only some clients know (`models`, `sessionId` where it is known, `usage`).
    pub strict: bool,
    /// Ids of messages.
    pub ids: Arc<dyn Ids>,
    /// The client is on the network.
    pub remote: Option<RemoteOptions>,
}

impl AcpOptions {
    pub fn new(version: impl Into<String>, ids: Arc<dyn Ids>) -> Self {
        Self {
            version: version.into(),
            mode: Some(Mode::Prompt),
            model: None,
            usual: None,
            commands: Vec::new(),
            strict: false,
            ids,
            remote: None,
        }
    }
}

/// One client speaking `acp`.
pub struct Acp {
    options: AcpOptions,
    client: ClientCapabilities,
    views: Vec<SessionView>,
    pending: HashMap<Tag, Pending>,
    tags_made: u64,
    /// What the client was asked and has not answered, by our own numbers.
    asked: HashMap<u64, OpenRequest>,
    asked_made: u64,
    /// The list that was asked for last.
    models: Vec<ModelInfo>,
    /// It is on its way and is waited for.
    listing: bool,
    /// Sessions to be opened when it is there, or when it has taken too long.
    held: Vec<(Target, Verb, Pending)>,
    style: CallStyle,
    /// What the client calls itself.
    client_name: Arc<str>,
    ending: bool,
    /// A remote client says nothing more, and hears the answers to what it has said.
    stays_for_answers: bool,
    /// Nothing is waited for any more.
    now: bool,
    /// Bytes that a remote client may be told of a session that it opens.
    window_usual: usize,
    /// Sessions that a remote client listens to and has not opened yet.
    listened: HashSet<SessionId>,
    /// Bytes of what is said that have their places.
    stamped: usize,
}

impl Acp {
    pub fn new(options: AcpOptions) -> Self {
        Self {
            options,
            client: ClientCapabilities::default(),
            views: Vec::new(),
            pending: HashMap::new(),
            tags_made: 0,
            asked: HashMap::new(),
            asked_made: 0,
            models: Vec::new(),
            listing: false,
            held: Vec::new(),
            style: CallStyle::default(),
            client_name: UNNAMED.into(),
            ending: false,
            stays_for_answers: false,
            now: false,
            window_usual: 0,
            listened: HashSet::new(),
            stamped: 0,
        }
    }

    fn view_of(&self, session: &SessionId) -> Option<usize> {
        self.views.iter().position(|view| view.session == *session)
    }
    fn view_named(&self, id: &str) -> Result<usize, RpcError> {
        let found = self.views.iter().position(|view| view.session.as_str() == id);
        found.ok_or_else(|| faults::unknown_session(id))
    }

    fn last_tag(&self) -> Tag {
        Tag(self.tags_made)
    }

    fn submit(&mut self, target: Target, verb: Verb, pending: Pending, out: &mut Out) {
        self.tags_made += 1;
        let tag = Tag(self.tags_made);
        out.commands.push(Command::of(tag, target, verb));
        self.pending.insert(tag, pending);
    }
    /// To the engine itself.
    fn want(&mut self, verb: Verb, pending: Pending, out: &mut Out) {
        self.submit(Target::Current, verb, pending, out);
    }
    fn tell_session(&mut self, at: usize, verb: Verb, pending: Pending, out: &mut Out) {
        let target = Target::Session(self.views[at].session.clone());
        self.submit(target, verb, pending, out);
    }

    /// How calls of a session are written.
    fn cards(&self, at: usize) -> Cards<'_> {
        Cards { style: self.style, cwd: &self.views[at].cwd }
    }

    /// Asks for the list of models; sessions that are opened meanwhile wait for it.
    fn list_models(&mut self, out: &mut Out) {
        self.listing = true;
        self.want(Verb::Directory(DirectoryVerb::ModelsWithin { limit_ms: LIST_WAIT_MS }), Pending::ModelsSoon, out);
    }
    /// A command that opens a session.
    fn open_listed(&mut self, target: Target, verb: Verb, pending: Pending, out: &mut Out) {
        match self.listing {
            true => self.held.push((target, verb, pending)),
            false => self.submit(target, verb, pending, out),
        }
    }
    /// No session waits for the list any more.
    fn open_held(&mut self, out: &mut Out) {
        self.listing = false;
        for (target, verb, pending) in std::mem::take(&mut self.held) {
            self.submit(target, verb, pending, out);
        }
    }

    fn open(&self, which: Which) -> Open {
        Open {
            mode: self.options.mode,
            gate: Some(Gate::Ladder),
            tool_names: Some(names::CANONICAL),
            controller: Some(self.client_name.clone()),
            usual: self.options.usual.clone(),
            ..Open::new(which)
        }
    }

    /// No new work; what runs is stopped.
    fn wind_down(&mut self, out: &mut Out) {
        if std::mem::replace(&mut self.ending, true) {
            return;
        }
        self.want(Verb::Directory(DirectoryVerb::CancelSignIns), Pending::Nothing, out);
        self.open_held(out);
        for at in 0..self.views.len() {
            self.tell_session(at, Verb::Session(SessionVerb::Interrupt { turn: None }), Pending::Nothing, out);
        }
    }

    /// What the client says.
    fn hear_frame(&mut self, frame: wire::Frame<'_>, out: &mut Out) {
        let mut pen = pen(out);
        let line = match frame {
            wire::Frame::Whole(line) if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) => return,
            wire::Frame::Whole(line) => line,
            wire::Frame::TooLong { limit } => {
                let message = format!("the line is longer than {limit} bytes; it was skipped");
                return pen.refuse(None, &RpcError::new(jsonrpc::INVALID_REQUEST, message));
            }
        };
        let text = match wire::check(line) {
            Ok(text) => wire::replace_lone_surrogates(text),
            Err(error) => {
                return pen.refuse(None, &RpcError::new(jsonrpc::PARSE_ERROR, format!("parse error: {error}")));
            }
        };
        match jsonrpc::read(&text, Version::Optional) {
            Frame::Request { id, .. } | Frame::Response { id, .. } if wire::is_replaced(&text, id.get()) => {
                let message = "invalid request: the id is no text that can be repeated";
                pen.refuse(None, &RpcError::new(jsonrpc::INVALID_REQUEST, message));
            }
            Frame::Request { id, method, params } => self.request(id, &method, params, out),
            Frame::Notification { method, params } => self.notified(&method, params, out),
            Frame::Response { id, outcome } => self.answered(id, outcome, out),
            Frame::Batch => {
                pen.refuse(None, &RpcError::new(jsonrpc::INVALID_REQUEST, "batch requests are not supported"));
            }
            Frame::Invalid => pen.refuse(None, &RpcError::new(jsonrpc::INVALID_REQUEST, "invalid request")),
        }
    }

    /// Closes when everything has stopped and every request was answered.
    fn settle(&mut self, out: &mut Out) {
        if self.ending {
            let is_done = |view: &SessionView| match self.is_remote() {
                // What others began goes on without it, and what it began where it does not wait for that.
                true => !self.stays_for_answers || (!view.has_prompts() && view.replaying.is_none()),
                false => !view.is_busy(),
            };
            let stopped = self.views.iter().all(is_done);
            if self.now || (stopped && self.pending.is_empty()) {
                out.close_with(wire::Close::normal());
            }
        }
    }
}

impl Dialect for Acp {
    type Own = wire::NoOwn;

    fn greet(&mut self, out: &mut Out) {
        self.list_models(out);
    }

    fn hear(&mut self, frame: wire::Frame<'_>, out: &mut Out) {
        self.stamped = out.frames.len();
        match frame {
            wire::Frame::Whole(word) if self.is_remote() && wire::FlowWord::is_one(word) => {
                if let Some(word) = wire::FlowWord::read(word) {
                    self.hear_word(word, out);
                }
            }
            frame => self.hear_frame(frame, out),
        }
        if self.is_remote() {
            self.stamp_rest(out);
        }
        self.settle(out);
    }

    fn tell(&mut self, told: &Told, out: &mut Out) {
        self.stamped = out.frames.len();
        match &told.event {
            Event::Reply { tag, result } => self.replied(*tag, result, out),
            Event::SignIn { step, .. } => self.sign_in_step(step, out),
            event => {
                if let Some(at) = self.view_of(&told.session) {
                    let is_remote = self.is_remote();
                    match &mut self.views[at].early {
                        Some(early) => early.push(event.clone()),
                        None if is_remote => self.told_remote(at, event, out),
                        None => self.event(at, event, out),
                    }
                    self.give_up_late(at, out);
                }
            }
        }
        if self.is_remote() {
            self.stamp_rest(out);
        }
        self.settle(out);
    }

    fn part(&mut self, why: Parting, out: &mut Out) {
        if self.is_remote() {
            return self.part_remote(why, out);
        }
        self.now |= why == Parting::GraceOver || (self.ending && matches!(why, Parting::Asked { .. }));
        self.wind_down(out);
        self.settle(out);
    }

    fn listening(&self) -> bool {
        self.pending.len() + self.held.len() < PENDING_MAX
    }
}
