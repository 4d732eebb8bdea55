//! The `rpc` dialect: NDJSON as xcsh, oh-my-pi and pi speak it in `--mode rpc`. A pure state machine over
//! [`wire::Dialect`]: no I/O, no clock, no runtime. It knows which commands wait for what; it does not know what a turn
//! does.
//!
//! `docs/dialects/rpc.md` is the page for authors of controllers.

mod answers;
mod faults;
mod filter;
mod frames;
mod host_tools;
mod inbound;
mod models;
mod outbound;
mod output;
mod partial_json;
mod pending;
mod prompts;
mod replies;
mod schema;
mod session_view;
mod stream;
mod templates;
mod ui;

pub use pi_format::TOOL_NAMES;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use vocab::{
    CompactionPolicy, DirectoryVerb, Event, Fault, Gate, LaneWish, Mode, Open, RetryPolicy, SessionVerb, Settings,
    Target, Told, Verb, Which,
};
use wire::{Close, CloseCode, Dialect, Frame, Out, Parting, Pending};

use faults::{said, unknown, unparsed};
use filter::Filter;
use frames::Writer;
use host_tools::Registered;
use inbound::{HeardLine, Refused, RpcCall};
use pending::{Handoff, RpcPending, Then};
use session_view::SessionView;

pub use inbound::COMMANDS;
pub use outbound::run::RUN_BYTES_MAX;
pub use schema::schema;
pub use stream::{PARTIAL_BYTES_MAX, Updates};
pub use templates::Template;

/// Commands that wait until the host is on its new session; at the bound lines stay in the pipe.
const HELD_MAX: usize = 256;
/// What a note begins with that says why we do not start. Hosts look for it at the start of a line on stderr.
pub const START_FAILED: &str = "Error: ";

/// Writes the payload of a response.
type ResponseData<'a> = &'a dyn Fn(&mut Vec<u8>);

/// Which form an error takes. That of a known command has its id in both, or a host with two open requests could not tell
/// which of them failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errors {
    /// As xcsh and the older oh-my-pi: under the command `parse`, an unknown command without its id, and a refused prompt is
    /// acknowledged first.
    Seed,
    /// As pi and oh-my-pi 18: under its own command, everything under its id.
    Pi,
}

/// How a conversation starts.
#[derive(Clone, Debug)]
pub struct RpcOptions {
    pub which: Which,
    /// Go on in a copy of that session.
    pub fork: bool,
    /// What the first session is called from now on.
    pub title: Option<Arc<str>>,
    pub workspace: Option<PathBuf>,
    pub model: Option<Arc<str>>,
    pub mode: Option<Mode>,
    /// What a session that this wire makes or loads starts with; `None`: the engine's defaults.
    pub usual: Option<Arc<Settings>>,
    /// Told in `ready`.
    pub version: String,
    pub errors: Errors,
    pub updates: Updates,
    /// Whether `setTitle` requests are sent.
    pub emit_title: bool,
    /// `cycle_model` stays within these, when there are any. `PROVIDER/ID` or slugs.
    pub scope: Vec<Arc<str>>,
    /// What the engine starts a session with, so that one switch can be changed without the others.
    pub retry: RetryPolicy,
    pub compaction: CompactionPolicy,
    pub reminders_max: u32,
    /// Prompts that can be called by name.
    pub templates: Vec<Template>,
    /// The model's server wants a key and there is none, as far as is known before the first call.
    pub no_key: bool,
    /// Said to who wants sessions of a directory where sessions have no files.
    pub without_files: &'static str,
    /// What stands beside the model's provider, for `get_integrations`.
    pub services: Vec<Service>,
}

/// Something that is or could be connected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    pub name: Arc<str>,
    pub state: ServiceState,
    /// What the user could do about it.
    pub hint: Option<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceState {
    Connected,
    Unauthenticated,
    Unavailable,
}

impl ServiceState {
    fn as_str(self) -> &'static str {
        match self {
            ServiceState::Connected => "connected",
            ServiceState::Unauthenticated => "unauthenticated",
            ServiceState::Unavailable => "unavailable",
        }
    }
}

impl RpcOptions {
    pub fn new(version: impl Into<String>) -> Self {
        Self {
            which: Which::New,
            fork: false,
            title: None,
            workspace: None,
            model: None,
            mode: None,
            usual: None,
            version: version.into(),
            errors: Errors::Pi,
            updates: Updates::Full,
            emit_title: false,
            scope: Vec::new(),
            retry: RetryPolicy::default(),
            compaction: CompactionPolicy::default(),
            reminders_max: 0,
            templates: Vec::new(),
            no_key: false,
            without_files: "open_session requires session persistence (omit --no-session)",
            services: Vec::new(),
        }
    }
}

/// One host speaking `rpc`.
pub struct Rpc {
    options: RpcOptions,
    view: SessionView,
    filter: Filter,
    pending: Pending<RpcPending>,
    /// Retries as they are when they are switched on.
    retries_max: u32,
    /// A request waits for the running turn to end: aborts, and what comes after one.
    aborts: Vec<RpcCall>,
    thens: VecDeque<Then>,
    /// On the way to another session; commands wait meanwhile.
    moving: bool,
    held: VecDeque<(RpcCall, inbound::Command)>,
    host_tools: Registered,
    locale: Option<Arc<str>>,
    /// What the host has said about the queue.
    lane: LaneWish,
    /// What the next new session is said to come from.
    parent: Option<Arc<str>>,
    /// The session that is moved to next is this copy.
    handoff: Option<Handoff>,
    ids_made: u64,
    ready: bool,
    ending: bool,
    /// The engine has stopped what ran, so that the conversation can end.
    ended: bool,
    deaf: bool,
}

impl Rpc {
    pub fn new(options: RpcOptions) -> Self {
        Self {
            retries_max: options.retry.retries_max.max(RetryPolicy::default().retries_max),
            view: SessionView::new(&options),
            options,
            filter: Filter::default(),
            pending: Pending::default(),
            aborts: Vec::new(),
            thens: VecDeque::new(),
            moving: false,
            held: VecDeque::new(),
            host_tools: Registered::default(),
            locale: None,
            lane: LaneWish::default(),
            parent: None,
            handoff: None,
            ids_made: 0,
            ready: false,
            ending: false,
            ended: false,
            deaf: false,
        }
    }

    fn send(&mut self, verb: Verb, what: RpcPending, out: &mut Out) {
        self.send_to(Target::Current, verb, what, out);
    }

    fn send_to(&mut self, target: Target, verb: Verb, what: RpcPending, out: &mut Out) {
        self.pending.submit(target, verb, what, out);
    }

    fn open(&mut self, which: Which, model: Option<Arc<str>>, what: RpcPending, out: &mut Out) {
        let open = Open {
            // A saved session goes on where it was.
            workspace: self.options.workspace.clone().filter(|_| which == Which::New),
            model,
            mode: self.options.mode,
            gate: Some(Gate::Ladder),
            tool_names: Some(TOOL_NAMES),
            controller: Some("rpc".into()),
            parent: self.parent.take(),
            usual: self.options.usual.clone(),
            ..Open::new(which)
        };
        self.send(Verb::Open(open), what, out);
    }

    /// An id that nothing else here has.
    fn fresh_id(&mut self) -> String {
        self.ids_made += 1;
        format!("{:016x}", self.ids_made)
    }

    // ---- responses ----------------------------------------------------------------------------------------------

    fn respond(&self, call: &RpcCall, data: Option<ResponseData<'_>>, out: &mut Out) {
        out.frames.line(|bytes| {
            Writer::object(bytes, |w| {
                if let Some(id) = &call.id {
                    w.raw("id", id.as_bytes());
                }
                w.text("type", "response").text("command", call.command).flag("success", true);
                if let Some(data) = data {
                    w.key("data");
                    data(w.out);
                }
            });
        });
    }

    // ---- the end ------------------------------------------------------------------------------------------------

    /// No more input: what is open is declined, what runs is stopped, and then it is over.
    pub(crate) fn end(&mut self, out: &mut Out) {
        if std::mem::replace(&mut self.ending, true) {
            return;
        }
        for ask in std::mem::take(&mut self.view.host_calls) {
            let text = "RPC client disconnected before host tool execution completed";
            let answer = vocab::Answer::Deny(Some(text.into()));
            self.send(Verb::Session(SessionVerb::Answer { ask, answer }), RpcPending::Nothing, out);
        }
        for (ask, dialog) in std::mem::take(&mut self.view.dialogs) {
            let answer = ui::answer(dialog, inbound::UiAnswer::Cancelled);
            self.send(Verb::Session(SessionVerb::Answer { ask, answer }), RpcPending::Nothing, out);
        }
        self.send(Verb::Session(SessionVerb::AbortShell), RpcPending::Nothing, out);
        self.send(Verb::Session(SessionVerb::Interrupt { turn: None }), RpcPending::Stop, out);
    }

    fn settle(&mut self, out: &mut Out) {
        let waits = self.pending.iter().any(|what| !matches!(what, RpcPending::Nothing));
        if self.ending && self.ended && !self.view.stopping && !waits && self.held.is_empty() {
            out.close_with(Close::normal());
        }
        if self.deaf {
            out.frames.clear();
        }
    }

    /// The session is lost; there is nothing to go on with.
    fn lost(&mut self, fault: &Fault, out: &mut Out) {
        self.view.prompts.lost(fault, &said(fault), &mut out.frames);
        unparsed(&said(fault), out);
        // Many hosts look at stderr when we end, and at nothing else. Before we are ready it is what keeps us from starting.
        let word = if self.ready { "" } else { START_FAILED };
        out.notes.push(format!("{word}{}", said(fault)));
        out.close_with(Close::new(CloseCode::Internal, said(fault)));
    }
}

impl Dialect for Rpc {
    type Own = wire::NoOwn;

    fn greet(&mut self, out: &mut Out) {
        let (which, model) = (self.options.which.clone(), self.options.model.clone());
        self.moving = true;
        if self.options.fork {
            // Read and not opened: the old one stays as it is, also where its turn was cut off.
            return self.send(Verb::Directory(DirectoryVerb::Find(which)), RpcPending::Source, out);
        }
        self.open(which, model, RpcPending::Open(None), out);
    }

    fn hear(&mut self, frame: Frame<'_>, out: &mut Out) {
        match frame {
            Frame::Whole(line) if inbound::is_blank(line) => return,
            Frame::Whole(line) => match inbound::from_wire(line) {
                Ok(HeardLine::Command(call, command)) => self.command(call, command, out),
                Ok(HeardLine::Answer(answer)) => self.answer(answer, out),
                Err(Refused::Malformed(what)) => unparsed(&what, out),
                Err(Refused::Unknown { id, command, shown }) => {
                    let id = id.filter(|_| self.options.errors == Errors::Pi);
                    unknown(id.as_deref(), command.as_deref(), &shown, out);
                }
                Err(Refused::Wrong { call, what }) => self.fail(&call, &format!("{}: {what}", call.command), out),
            },
            Frame::TooLong { limit } => {
                unparsed(&format!("the line is longer than {limit} bytes; it was skipped"), out)
            }
        }
        self.settle(out);
    }

    fn tell(&mut self, told: &Told, out: &mut Out) {
        let from = out.frames.len();
        if let Event::Reply { tag, result } = &told.event {
            self.replied(*tag, result, out);
        } else if self.view.session.as_ref() == Some(&told.session) {
            self.event(&told.event, out);
        }
        self.filter.apply(from, &mut out.frames);
        self.settle(out);
    }

    fn pause(&mut self, out: &mut Out) {
        let from = out.frames.len();
        self.view.run.pause(&mut out.frames);
        self.filter.apply(from, &mut out.frames);
        self.settle(out);
    }

    fn part(&mut self, why: Parting, out: &mut Out) {
        match why {
            Parting::Eof | Parting::Asked { .. } => self.end(out),
            Parting::Deaf => {
                self.deaf = true;
                self.end(out);
            }
            Parting::GraceOver => out.close_with(Close::normal()),
        }
        self.settle(out);
    }

    fn listening(&self) -> bool {
        self.ready && !self.pending.is_full() && self.held.len() < HELD_MAX
    }
}
