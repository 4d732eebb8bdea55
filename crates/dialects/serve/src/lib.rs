//! The `serve` dialect: NDJSON, one process, one session, one turn at a time (protocol 1); or many labelled sessions on
//! one pipe (protocol 2). A pure state machine over [`wire::Dialect`]: no I/O, no clock, no runtime. It knows which
//! questions are open and whether a turn runs; it does not know what a turn does.
//!
//! `docs/dialects/serve.md` is the page for authors of controllers.

mod data;
mod faults;
mod frames;
mod inbound;
mod messages;
mod outbound;
mod replies;
mod schema;
mod session_view;
mod slash;
mod tool_names;

pub use tool_names::TOOL_NAMES;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use vocab::{
    Answer, Ask, AskEntry, AskId, AskKind, Body, Delivery, Event, ExtensionEvent, FaultKind, Gate, Mode, NoteEntry,
    Notice, Open, Part, Scope, SessionId, SessionVerb, Settings, State, Told, Verb, Which,
};
use wire::{Close, Dialect, Frame, Out, Parting, Pending};

use frames::{Closed, Hello, Inbound, OpenRequest, Say, SessionMember};
use inbound::{HeardMessage, shown};
use outbound::ServePen;
use replies::{PendingReply, ServePending};
use session_view::{HELD_MAX, SessionView};

pub use schema::schema;

/// Sessions open at once in protocol 2; the next `open` is refused with `too_many_sessions`.
const SESSIONS_MAX: usize = 64;
/// The longest label in protocol 2; every line repeats it, so a longer one is refused.
const LABEL_BYTES_MAX: usize = 256;
/// States of sessions that no label stands for yet; the oldest is dropped, and the next state of its session tells all.
const STRAYS_MAX: usize = 16;

/// What a denied call says when the controller gave no reason.
const DENIED: &str = "denied by remote controller";
/// What a denied call says when there is no controller left to ask.
const DISCONNECTED: &str = "controller disconnected before responding";

/// How a conversation starts.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The session of protocol 1.
    pub which: Which,
    /// Defaults of `open` in protocol 2.
    pub workspace: Option<PathBuf>,
    pub model: Option<Arc<str>>,
    pub mode: Option<Mode>,
    /// What a session that this wire makes or loads starts with; `None`: the engine's defaults.
    pub usual: Option<Arc<Settings>>,
    /// Speak protocol 2.
    pub multi: bool,
    /// Told in `ready`.
    pub version: String,
}

impl ServeOptions {
    pub fn new(version: impl Into<String>) -> Self {
        Self {
            which: Which::New,
            workspace: None,
            model: None,
            mode: None,
            usual: None,
            multi: false,
            version: version.into(),
        }
    }
}

/// One controller speaking `serve`.
pub struct Serve {
    options: ServeOptions,
    views: Vec<SessionView>,
    views_made: u64,
    pending: Pending<PendingReply>,
    /// States told before the reply that says which label moved there.
    strays: VecDeque<(SessionId, Arc<State>)>,
    /// Lines may be handed over.
    greeted: bool,
    /// No new work is taken; the conversation ends when the running work has.
    ending: bool,
    /// Running turns were interrupted to end sooner.
    forced: bool,
    deaf: bool,
}

impl Serve {
    pub fn new(options: ServeOptions) -> Self {
        Self {
            options,
            views: Vec::new(),
            views_made: 0,
            pending: Pending::default(),
            strays: VecDeque::new(),
            greeted: false,
            ending: false,
            forced: false,
            deaf: false,
        }
    }

    fn protocol(&self) -> u8 {
        if self.options.multi { 2 } else { 1 }
    }

    /// Writes what belongs to no session, or to a label that stands for none.
    fn pen<'a>(&self, label: Option<&'a str>, out: &'a mut Out) -> ServePen<'a> {
        let session = match (self.options.multi, label) {
            (false, _) => SessionMember::Absent,
            (true, None) => SessionMember::Process,
            (true, Some(label)) => SessionMember::Label(label),
        };
        ServePen { frames: &mut out.frames, session, deaf: self.deaf }
    }

    fn view_pen<'a>(&'a self, at: usize, out: &'a mut Out) -> ServePen<'a> {
        ServePen { frames: &mut out.frames, session: self.views[at].voice(), deaf: self.deaf }
    }

    fn add_view(&mut self, label: Option<Arc<str>>) -> usize {
        self.views_made += 1;
        self.views.push(SessionView::new(self.views_made, label));
        self.views.len() - 1
    }

    fn view_of(&self, session: &SessionId) -> Option<usize> {
        // Protocol 1 has one view, and it follows wherever a slash command moves it.
        if !self.options.multi {
            return (!self.views.is_empty()).then_some(0);
        }
        self.views.iter().position(|view| view.session.as_ref() == Some(session))
    }

    fn send(&mut self, at: usize, verb: Verb, what: ServePending, out: &mut Out) {
        let view = &self.views[at];
        self.pending.submit(view.target(), verb, PendingReply { view: view.number, what }, out);
    }

    fn open(&mut self, at: usize, which: Which, workspace: Option<PathBuf>, model: Option<Arc<str>>, out: &mut Out) {
        let open = Open {
            workspace: workspace.or_else(|| self.options.workspace.clone()),
            model: model.or_else(|| self.options.model.clone()),
            mode: self.options.mode,
            gate: Some(Gate::Proxy),
            tool_names: Some(TOOL_NAMES),
            controller: Some("serve".into()),
            usual: self.options.usual.clone(),
            ..Open::new(which)
        };
        self.send(at, Verb::Open(open), ServePending::Open, out);
    }

    fn obey(&mut self, heard: HeardMessage, out: &mut Out) {
        let label = heard.session.as_deref();
        match heard.message {
            _ if self.ending && heard.message != Inbound::Say(Say::Interrupt {}) => {
                self.pen(label, out).refuse(faults::code(FaultKind::ShuttingDown), "the process is shutting down");
            }
            Inbound::Shutdown => {
                out.ending = true;
                self.end(out);
            }
            Inbound::Open(request) => self.open_label(label.unwrap_or_default(), request, out),
            Inbound::Say(say) => {
                let view = match label {
                    None => (!self.views.is_empty()).then_some(0),
                    Some(label) => self.views.iter().position(|view| view.label.as_deref() == Some(label)),
                };
                match view {
                    Some(at) => self.say(at, say, out),
                    None => self.pen(label, out).refuse(
                        faults::code(FaultKind::UnknownSession),
                        &format!("no open session {:?}", shown(label.unwrap_or_default())),
                    ),
                }
            }
        }
    }

    fn open_label(&mut self, label: &str, request: OpenRequest, out: &mut Out) {
        let refusal = if label.is_empty() || label.len() > LABEL_BYTES_MAX {
            Some((faults::INVALID_MESSAGE, format!("open.session: expected 1 to {LABEL_BYTES_MAX} bytes")))
        } else if self.views.iter().any(|view| view.label.as_deref() == Some(label)) {
            Some((faults::INVALID_MESSAGE, format!("open.session: {:?} is open already", shown(label))))
        } else if self.views.len() == SESSIONS_MAX {
            Some((faults::TOO_MANY_SESSIONS, format!("{SESSIONS_MAX} sessions are open; close one first")))
        } else {
            None
        };
        if let Some((code, message)) = refusal {
            return self.pen(Some(label), out).refuse(code, &message);
        }
        let at = self.add_view(Some(label.into()));
        let which = request.resume.as_deref().map_or(Which::New, Which::parse);
        self.open(at, which, request.workspace.map(PathBuf::from), request.model.map(Arc::from), out);
    }

    /// A message to one session: now, or after what it must wait for.
    fn say(&mut self, at: usize, say: Say, out: &mut Out) {
        let view = &mut self.views[at];
        if view.ending && say != (Say::Interrupt {}) {
            let code = faults::code(FaultKind::ShuttingDown);
            return self.view_pen(at, out).refuse(code, "the session is closing");
        }
        if !view.must_hold(&say) {
            return self.act(at, say, out);
        }
        if view.held.len() < HELD_MAX {
            return view.held.push_back(say);
        }
        let message = format!("{HELD_MAX} messages wait for this session already");
        self.view_pen(at, out).refuse(faults::code(FaultKind::QueueFull), &message);
    }

    fn act(&mut self, at: usize, say: Say, out: &mut Out) {
        match say {
            Say::Prompt { text } if text.trim().is_empty() => {
                self.view_pen(at, out).refuse(faults::code(FaultKind::EmptyPrompt), "the prompt is blank");
            }
            Say::Prompt { text } => {
                self.views[at].turns.prompted();
                // A second prompt is refused, not queued: this dialect promises one turn at a time.
                let verb = Verb::Session(SessionVerb::Prompt {
                    parts: vec![Part::text(text)],
                    delivery: Delivery::RejectIfBusy,
                });
                self.send(at, verb, ServePending::Prompt, out);
            }
            Say::Slash { command, args } => {
                let name = command.strip_prefix('/').unwrap_or(&command).to_lowercase();
                let exit = matches!(&*name, "exit" | "quit");
                self.views[at].slashes += 1;
                self.views[at].exits += usize::from(exit);
                self.send(
                    at,
                    Verb::Session(SessionVerb::Slash { name: name.clone(), args }),
                    ServePending::Slash { name, exit },
                    out,
                );
            }
            Say::Interrupt {} => {
                self.send(at, Verb::Session(SessionVerb::Interrupt { turn: None }), ServePending::Nothing, out)
            }
            Say::PermissionResponse { request_id, allow, reason } => {
                let asks = &mut self.views[at].asks;
                let Some(open) = asks.iter().position(|ask| ask.as_str() == request_id) else {
                    let message = format!("no open request {:?}", shown(&request_id));
                    return self.view_pen(at, out).refuse(faults::code(FaultKind::UnknownAsk), &message);
                };
                // Gone at once: only the first answer counts, also before the engine has confirmed it.
                let ask = asks.remove(open);
                let reason = reason.filter(|reason| !reason.trim().is_empty());
                let answer = if allow {
                    Answer::Allow(Scope::Once)
                } else {
                    Answer::Deny(Some(reason.as_deref().unwrap_or(DENIED).into()))
                };
                self.send(at, Verb::Session(SessionVerb::Answer { ask, answer }), ServePending::Answer, out);
            }
            Say::Close {} => self.end_view(at, out),
        }
    }

    /// Messages that waited, in their order, up to the next one that must wait.
    fn release(&mut self, at: usize, out: &mut Out) {
        while let Some(say) = self.views[at].held.pop_front() {
            let view = &self.views[at];
            if view.exits > 0 || (view.label.is_some() && view.slashes > 0) {
                self.views[at].held.push_front(say);
                return;
            }
            if view.ending && say != (Say::Interrupt {}) {
                let code = faults::code(FaultKind::ShuttingDown);
                self.view_pen(at, out).refuse(code, "the session is closing");
            } else {
                self.act(at, say, out);
            }
        }
    }

    /// What an opened ask needs besides its line.
    fn asked(&mut self, at: usize, ask: &Ask, out: &mut Out) {
        let answer = match &ask.kind {
            AskKind::Permission(_) | AskKind::Budget(_) if self.ending || self.views[at].ending => {
                Answer::Deny(Some(DISCONNECTED.into()))
            }
            AskKind::Permission(_) | AskKind::Budget(_) => {
                if !self.views[at].asks.contains(&ask.id) {
                    self.views[at].asks.push(ask.id.clone());
                }
                return;
            }
            AskKind::HostCall { .. } => Answer::Deny(Some("this controller has no tools of its own".into())),
            AskKind::Select { .. } | AskKind::Confirm { .. } | AskKind::Input { .. } | AskKind::Editor { .. } => {
                Answer::Dismissed
            }
        };
        self.send(at, Verb::Session(SessionVerb::Answer { ask: ask.id.clone(), answer }), ServePending::Nothing, out);
    }

    /// No more messages to this session; what runs may finish, and open questions are denied.
    fn end_view(&mut self, at: usize, out: &mut Out) {
        self.views[at].ending = true;
        self.deny_open(at, out);
    }

    fn deny_open(&mut self, at: usize, out: &mut Out) {
        let asks: Vec<AskId> = std::mem::take(&mut self.views[at].asks);
        for ask in asks {
            let answer = Answer::Deny(Some(DISCONNECTED.into()));
            self.send(at, Verb::Session(SessionVerb::Answer { ask, answer }), ServePending::Nothing, out);
        }
    }

    /// The same for all sessions.
    fn end(&mut self, out: &mut Out) {
        self.ending = true;
        for at in 0..self.views.len() {
            self.deny_open(at, out);
        }
    }

    /// Running turns are interrupted; asked a second time, nothing is waited for.
    fn force(&mut self, out: &mut Out) {
        self.ending = true;
        if std::mem::replace(&mut self.forced, true) {
            return out.close_with(Close::normal());
        }
        for at in 0..self.views.len() {
            if self.views[at].turns.busy() {
                self.send(at, Verb::Session(SessionVerb::Interrupt { turn: None }), ServePending::Nothing, out);
            }
        }
    }

    /// Ends what can end now.
    fn settle(&mut self, out: &mut Out) {
        let (ending, forced) = (self.ending, self.forced);
        let done = |view: &SessionView| (forced && !view.turns.busy()) || view.is_idle();
        if !self.options.multi {
            if ending && self.views.iter().all(done) {
                out.close_with(Close::normal());
            }
            return;
        }
        while let Some(at) = self.views.iter().position(|view| (ending || view.ending) && done(view)) {
            self.send(at, Verb::Leave, ServePending::Nothing, out);
            self.view_pen(at, out).write(&Closed {});
            self.views.remove(at);
        }
        if ending && self.views.is_empty() {
            out.close_with(Close::normal());
        }
    }

    pub(crate) fn event(&mut self, at: usize, event: &Event, out: &mut Out) {
        let view = &mut self.views[at];
        let label = view.label.clone();
        let session = label.as_deref().map_or(SessionMember::Absent, SessionMember::Label);
        let mut pen = ServePen { frames: &mut out.frames, session, deaf: self.deaf };
        outbound::event(event, view, &mut pen);
        if let Event::Logged(entry) = event {
            view.observe(entry);
            match &entry.body {
                Body::Ask(AskEntry::Opened(ask)) => self.asked(at, ask, out),
                // This wire has no word for it; people find it on stderr.
                Body::Note(NoteEntry::Recovered { text }) => out.notes.push(text.to_string()),
                _ => {}
            }
        } else if let Event::Extension(ExtensionEvent::Notice(Notice::Say { text, .. })) = event {
            out.notes.push(text.to_string());
        } else if let Event::TurnLost(end) = event {
            view.turns.ended(&end.turn);
        } else if let Event::Gone { fault } = event {
            self.gone(at, fault, out);
        }
    }
}

impl Dialect for Serve {
    type Own = wire::NoOwn;

    fn greet(&mut self, out: &mut Out) {
        if self.options.multi {
            let hello = Hello { protocol: self.protocol(), version: &self.options.version };
            self.pen(None, out).write(&hello);
            self.greeted = true;
        } else {
            let at = self.add_view(None);
            self.open(at, self.options.which.clone(), None, None, out);
        }
    }

    fn hear(&mut self, frame: Frame<'_>, out: &mut Out) {
        match frame {
            Frame::Whole(line) if inbound::is_blank(line) => return,
            Frame::Whole(line) => match inbound::from_wire(line, self.protocol()) {
                Ok(heard) => self.obey(heard, out),
                Err(refused) => self.pen(refused.session.as_deref(), out).refuse(refused.code, &refused.message),
            },
            Frame::TooLong { limit } => {
                let message = format!("the line is longer than {limit} bytes; it was skipped");
                self.pen(None, out).refuse(faults::LINE_TOO_LONG, &message);
            }
        }
        self.settle(out);
    }

    fn tell(&mut self, told: &Told, out: &mut Out) {
        if let Event::Reply { tag, result } = &told.event {
            self.replied(*tag, result, out);
        } else if let Some(at) = self.view_of(&told.session) {
            for lost in self.views[at].calls.lost_by(&told.event) {
                self.event(at, &lost, out);
            }
            self.event(at, &told.event, out);
        } else if let Event::State(state) = &told.event {
            self.stray(&told.session, state);
        }
        self.settle(out);
    }

    fn part(&mut self, why: Parting, out: &mut Out) {
        match why {
            Parting::Eof => self.end(out),
            Parting::Deaf => {
                self.deaf = true;
                self.end(out);
            }
            Parting::Asked { .. } | Parting::GraceOver => self.force(out),
        }
        self.settle(out);
    }

    fn listening(&self) -> bool {
        self.greeted && !self.pending.is_full()
    }
}

/// The one line said instead of `ready` when there is not even an engine to ask: `bootstrap_failed`, `invalid_flag`.
pub fn cannot_start(code: &'static str, fault: &vocab::Fault) -> String {
    let mut frames = wire::FrameBuf::default();
    let code = match faults::opening_code(fault.kind) {
        "bootstrap_failed" => code,
        particular => particular,
    };
    ServePen { frames: &mut frames, session: SessionMember::Absent, deaf: false }.refuse(code, &faults::message(fault));
    String::from_utf8_lossy(frames.as_bytes()).into_owned()
}
