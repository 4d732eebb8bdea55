//! The `rpc` dialect: NDJSON as xcsh, oh-my-pi and pi speak it in `--mode rpc`. A pure state machine over
//! [`wire::Dialect`]: no I/O, no clock, no runtime. It knows which commands wait for what; it does not know what a turn
//! does.
//!
//! `docs/dialects/rpc.md` is the page for authors of controllers.

mod answers;
mod commands;
mod decode;
mod frames;
mod host_tools;
pub mod messages;
mod models;
mod partial_json;
mod replies;
mod run;
mod schema;
mod stream;
mod templates;
pub mod transcript;
mod ui;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use vocab::names::Family;
use vocab::{
    AskEnd, AskId, Body, Command, CompactReason, CompactionPolicy, Event, Fault, FaultKind, Gate, LanePolicy, Mode,
    Open, RetryPolicy, SessionId, Tag, Target, Told, Verb, Which,
};
use wire::{Dialect, Line, Out, Parting};

use decode::{Call, Heard, Refused};
use frames::Writer;
use host_tools::Registered;
use models::Known;
use replies::{Then, Why};
use run::{Came, Run};
use ui::Dialog;

pub use run::RUN_BYTES_MAX;
pub use schema::schema;
pub use stream::{PARTIAL_BYTES_MAX, Updates};
pub use templates::Template;

/// Commands without a reply so far; at the bound lines stay in the pipe until the engine has caught up.
const PENDING_MAX: usize = 1024;
/// Commands that wait until the host is on its new session; at the bound lines stay in the pipe.
const HELD_MAX: usize = 256;
/// Exit code when no session could be opened, or the one there was is lost.
const EXIT_NO_SESSION: u8 = 1;

/// Writes the payload of a response.
type Data<'a> = &'a dyn Fn(&mut Vec<u8>);

/// Which form an error of a known command takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errors {
    /// Under the command `parse`, without the id.
    Seed,
    /// Under its own command, with the id.
    Pi,
}

/// How a conversation starts.
#[derive(Clone, Debug)]
pub struct Options {
    pub which: Which,
    /// Go on in a copy of that session.
    pub fork: bool,
    pub workspace: Option<PathBuf>,
    pub model: Option<Arc<str>>,
    pub mode: Option<Mode>,
    /// Told in `ready`.
    pub version: String,
    pub errors: Errors,
    pub updates: Updates,
    /// Whether `setTitle` requests are sent.
    pub emit_title: bool,
    /// `cycle_model` stays within these, when there are any. `PROVIDER/ID` or slugs.
    pub scope: Vec<Arc<str>>,
    /// What the engine starts a session with, so that one switch can be changed without the others.
    pub lane: LanePolicy,
    pub retry: RetryPolicy,
    pub compaction: CompactionPolicy,
    pub reminders_max: u32,
    /// Prompts that can be called by name.
    pub templates: Vec<Template>,
    /// The model's server wants a key and there is none, as far as is known before the first call.
    pub no_key: bool,
    /// What stands beside the model's provider, for `get_integrations`.
    pub services: Vec<Service>,
}

/// Something that is or could be connected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    pub name: Arc<str>,
    pub state: ServiceState,
    /// What somebody could do about it.
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

impl Options {
    pub fn new(version: impl Into<String>) -> Self {
        Self {
            which: Which::New,
            fork: false,
            workspace: None,
            model: None,
            mode: None,
            version: version.into(),
            errors: Errors::Seed,
            updates: Updates::Full,
            emit_title: false,
            scope: Vec::new(),
            lane: LanePolicy::default(),
            retry: RetryPolicy::default(),
            compaction: CompactionPolicy::default(),
            reminders_max: 0,
            templates: Vec::new(),
            no_key: false,
            services: Vec::new(),
        }
    }
}

/// One host speaking `rpc`.
pub struct Rpc {
    options: Options,
    session: Option<SessionId>,
    known: Known,
    run: Run,
    pending: HashMap<Tag, Why>,
    tags_made: u64,
    /// Retries as they are when they are switched on.
    retries_max: u32,
    /// Somebody waits for the running turn to end: aborts, and what comes after one.
    aborts: Vec<Call>,
    thens: VecDeque<Then>,
    /// A turn or a compaction was asked to stop and has not yet.
    stopping: bool,
    /// On the way to another session; commands wait meanwhile.
    moving: bool,
    held: VecDeque<(Call, decode::Command)>,
    dialogs: Vec<(AskId, Dialog)>,
    host_calls: Vec<AskId>,
    host_tools: Registered,
    locale: Option<Arc<str>>,
    /// What the next new session is said to come from.
    parent: Option<Arc<str>>,
    ids_made: u64,
    /// The model's server refused our key the last time it was asked.
    auth_failed: bool,
    ready: bool,
    ending: bool,
    /// The engine has stopped what ran, so that the conversation can end.
    ended: bool,
    deaf: bool,
}

impl Rpc {
    pub fn new(options: Options) -> Self {
        Self {
            run: Run::new(options.updates, options.reminders_max),
            retries_max: options.retry.retries_max.max(RetryPolicy::default().retries_max),
            auth_failed: options.no_key,
            options,
            session: None,
            known: Known::default(),
            pending: HashMap::new(),
            tags_made: 0,
            aborts: Vec::new(),
            thens: VecDeque::new(),
            stopping: false,
            moving: false,
            held: VecDeque::new(),
            dialogs: Vec::new(),
            host_calls: Vec::new(),
            host_tools: Registered::default(),
            locale: None,
            parent: None,
            ids_made: 0,
            ready: false,
            ending: false,
            ended: false,
            deaf: false,
        }
    }

    fn send(&mut self, verb: Verb, why: Why, out: &mut Out) {
        self.send_to(Target::Current, verb, why, out);
    }

    fn send_to(&mut self, target: Target, verb: Verb, why: Why, out: &mut Out) {
        self.tags_made += 1;
        let tag = Tag(self.tags_made);
        out.commands.push(Command { tag, target, verb });
        self.pending.insert(tag, why);
    }

    fn open(&mut self, which: Which, model: Option<Arc<str>>, why: Why, out: &mut Out) {
        let open = Open {
            // A saved session goes on where it was.
            workspace: self.options.workspace.clone().filter(|_| which == Which::New),
            model,
            mode: self.options.mode,
            gate: Some(Gate::Ladder),
            family: Some(Family::Rpc),
            parent: self.parent.take(),
            ..Open::new(which)
        };
        self.send(Verb::Open(open), why, out);
    }

    /// An id that nothing else here has.
    fn fresh_id(&mut self) -> String {
        self.ids_made += 1;
        format!("{:016x}", self.ids_made)
    }

    // ---- responses ----------------------------------------------------------------------------------------------

    fn respond(&self, call: &Call, data: Option<Data<'_>>, out: &mut Out) {
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

    /// A refusal that keeps its id in every lineage.
    fn refuse(&self, call: &Call, error: &str, out: &mut Out) {
        out.frames.line(|bytes| {
            Writer::object(bytes, |w| {
                if let Some(id) = &call.id {
                    w.raw("id", id.as_bytes());
                }
                w.text("type", "response").text("command", call.command).flag("success", false).text("error", error);
            });
        });
    }

    /// A command that failed on its way, as the option says.
    fn fail(&self, call: &Call, error: &str, out: &mut Out) {
        match self.options.errors {
            Errors::Pi => self.refuse(call, error, out),
            Errors::Seed => unparsed(error, out),
        }
    }

    fn fault(&self, call: &Call, fault: &Fault, out: &mut Out) {
        self.fail(call, &said(fault), out);
    }

    // ---- the end ------------------------------------------------------------------------------------------------

    /// No more input: what is open is declined, what runs is stopped, and then it is over.
    fn end(&mut self, out: &mut Out) {
        if std::mem::replace(&mut self.ending, true) {
            return;
        }
        for ask in std::mem::take(&mut self.host_calls) {
            let text = "RPC client disconnected before host tool execution completed";
            let answer = vocab::Answer::Deny(Some(text.into()));
            self.send(Verb::Answer { ask, answer }, Why::Nothing, out);
        }
        for (ask, dialog) in std::mem::take(&mut self.dialogs) {
            let answer = ui::answer(dialog, decode::UiAnswer::Cancelled);
            self.send(Verb::Answer { ask, answer }, Why::Nothing, out);
        }
        self.send(Verb::AbortShell, Why::Nothing, out);
        self.send(Verb::Interrupt, Why::Stop, out);
    }

    fn settle(&mut self, out: &mut Out) {
        let waits = self.pending.values().any(|why| !matches!(why, Why::Nothing));
        out.close |= self.ending && self.ended && !self.stopping && !waits && self.held.is_empty();
        if self.deaf {
            out.frames.clear();
        }
    }

    /// The session is lost; there is nothing to go on with.
    fn lost(&mut self, fault: &Fault, out: &mut Out) {
        unparsed(&said(fault), out);
        out.exit_code = EXIT_NO_SESSION;
        out.close = true;
    }

    // ---- events -------------------------------------------------------------------------------------------------

    fn event(&mut self, event: &Event, out: &mut Out) {
        if let Event::State(state) = event {
            self.changed(state, out);
            self.known.learn(state);
        }
        if let Event::Logged(entry) = event {
            self.ask_logged(&entry.body, out);
        }
        match self.run.tell(event, &self.known, &mut out.frames) {
            Came::ToItsEnd => self.turn_over(event, out),
            Came::On => {}
        }
        match event {
            Event::Logged(entry) => self.compaction_logged(&entry.body, out),
            Event::CompactionStarted { reason } if *reason != CompactReason::Manual => {
                Writer::event(&mut out.frames, "auto_compaction_start", |w| {
                    w.text("reason", compact_reason(*reason)).text("action", "context-full");
                });
            }
            Event::CompactionFailed { reason, fault } if *reason != CompactReason::Manual => {
                let aborted = fault.kind == FaultKind::Cancelled;
                Writer::event(&mut out.frames, "auto_compaction_end", |w| {
                    w.text("action", "context-full").flag("aborted", aborted).flag("willRetry", false);
                    if !aborted {
                        w.text("errorMessage", &fault.message);
                    }
                });
            }
            Event::Queue(items) => {
                let (steering, follow_up) = answers::queued(items);
                Writer::event(&mut out.frames, "queue_update", |w| {
                    w.list("steering", steering.iter(), |text, out| wire::escape_into(text, out));
                    w.list("followUp", follow_up.iter(), |text, out| wire::escape_into(text, out));
                });
            }
            Event::Notice(notice) => {
                if !matches!(notice, vocab::Notice::Title { .. }) || self.options.emit_title {
                    let id = self.fresh_id();
                    ui::notice(&mut out.frames, &id, notice);
                }
            }
            Event::Trouble { source, during, text } => Writer::event(&mut out.frames, "extension_error", |w| {
                w.text("extensionPath", source).text("event", during).text("error", text);
            }),
            // A compaction that was asked to stop ends without a turn.
            Event::Settled => self.stopped(out),
            Event::Gone { fault } => self.lost(fault, out),
            Event::CompactionStarted { .. }
            | Event::CompactionFailed { .. }
            | Event::State(_)
            | Event::Text { .. }
            | Event::Thinking { .. }
            | Event::CallInput { .. }
            | Event::CallProgress { .. }
            | Event::RetryStarted { .. }
            | Event::RetryEnded { .. }
            | Event::ShellProgress { .. }
            | Event::Consult(_)
            | Event::ItemEnded { .. }
            | Event::Live { .. }
            | Event::Reply { .. }
            | Event::TurnLost(_) => {}
        }
    }

    /// What newer hosts are told of a change; the others ignore it.
    fn changed(&self, state: &vocab::State, out: &mut Out) {
        let Some(before) = &self.known.state else { return };
        if before.title != state.title {
            Writer::event(&mut out.frames, "session_info_changed", |w| {
                w.maybe("name", state.title.as_deref());
            });
        }
        if before.thinking != state.thinking {
            Writer::event(&mut out.frames, "thinking_level_changed", |w| {
                w.text("level", state.thinking.as_deref().unwrap_or(models::LEVELS[0]));
            });
        }
    }

    fn turn_over(&mut self, event: &Event, out: &mut Out) {
        let end = match event {
            Event::Logged(entry) => match &entry.body {
                Body::TurnEnded(end) => Some(end),
                _ => None,
            },
            Event::TurnLost(end) => Some(end),
            _ => None,
        };
        let fault = end.and_then(|end| end.fault.as_ref()).map(|fault| fault.kind);
        self.auth_failed = fault == Some(FaultKind::Auth) || (self.auth_failed && fault.is_some());
        // The answer to an abort stands before `agent_end`, where the originals have it.
        for call in std::mem::take(&mut self.aborts) {
            self.respond(&call, None, out);
        }
        self.run.close(&mut out.frames);
        self.stopped(out);
    }

    fn ask_logged(&mut self, body: &Body, out: &mut Out) {
        match body {
            Body::AskOpened(ask) => {
                if let vocab::AskKind::HostCall { call, tool, input } = &ask.kind {
                    // Other tools that are no built-in belong to somebody else.
                    if self.host_tools.names.iter().any(|name| **name == **tool) {
                        self.host_calls.push(ask.id.clone());
                        Writer::event(&mut out.frames, "host_tool_call", |w| {
                            w.text("id", ask.id.as_str()).text("toolCallId", call.as_str()).text("toolName", tool);
                            w.key("arguments");
                            messages::object(w.out, input);
                        });
                    }
                } else if let Some(dialog) = ui::ask(&mut out.frames, ask.id.as_str(), &ask.kind, ask.timeout_ms) {
                    self.dialogs.push((ask.id.clone(), dialog));
                }
            }
            Body::AskClosed { ask, end } => {
                let withdrawn = matches!(end, AskEnd::Withdrawn);
                let calls = self.host_calls.len();
                self.host_calls.retain(|open| open != ask);
                if withdrawn && self.host_calls.len() < calls {
                    let id = self.fresh_id();
                    Writer::event(&mut out.frames, "host_tool_cancel", |w| {
                        w.text("id", &id).text("targetId", ask.as_str());
                    });
                }
                let dialogs = self.dialogs.len();
                self.dialogs.retain(|(open, _)| open != ask);
                // Still open here means that somebody else answered, or nobody will.
                if self.dialogs.len() < dialogs {
                    let id = self.fresh_id();
                    ui::cancel(&mut out.frames, &id, ask.as_str());
                }
            }
            _ => {}
        }
    }

    fn compaction_logged(&mut self, body: &Body, out: &mut Out) {
        let Body::Compacted(compaction) = body else { return };
        if compaction.reason == CompactReason::Manual {
            return;
        }
        let name = self.run.name_of(compaction.first_kept);
        Writer::event(&mut out.frames, "auto_compaction_end", |w| {
            w.text("action", "context-full");
            w.key("result");
            answers::compaction(compaction, name.as_deref(), None, w.out);
            w.flag("aborted", false).flag("willRetry", compaction.reason == CompactReason::Overflow);
        });
    }
}

impl Dialect for Rpc {
    fn greet(&mut self, out: &mut Out) {
        let (which, model) = (self.options.which.clone(), self.options.model.clone());
        self.moving = true;
        let then = if self.options.fork { Why::OpenSource } else { Why::Open(None) };
        self.open(which, model, then, out);
    }

    fn hear(&mut self, frame: Line<'_>, out: &mut Out) {
        match frame {
            Line::Whole(line) if decode::is_blank(line) => return,
            Line::Whole(line) => match decode::from_wire(line) {
                Ok(Heard::Command(call, command)) => self.command(call, command, out),
                Ok(Heard::Answer(answer)) => self.answer(answer, out),
                Err(Refused::Malformed(what)) => unparsed(&what, out),
                Err(Refused::Unknown { command, shown }) => out.frames.line(|bytes| {
                    Writer::object(bytes, |w| {
                        w.text("type", "response");
                        if let Some(command) = command {
                            w.raw("command", command.as_bytes());
                        }
                        w.flag("success", false).text("error", &format!("Unknown command: {shown}"));
                    });
                }),
                Err(Refused::Wrong { call, what }) => self.fail(&call, &format!("{}: {what}", call.command), out),
            },
            Line::TooLong { limit } => unparsed(&format!("the line is longer than {limit} bytes; it was skipped"), out),
        }
        self.settle(out);
    }

    fn tell(&mut self, told: &Told, out: &mut Out) {
        if let Event::Reply { tag, result } = &told.event {
            self.replied(*tag, result, out);
        } else if self.session.as_ref() == Some(&told.session) {
            self.event(&told.event, out);
        }
        self.settle(out);
    }

    fn pause(&mut self, out: &mut Out) {
        self.run.pause(&mut out.frames);
        self.settle(out);
    }

    fn part(&mut self, why: Parting, out: &mut Out) {
        match why {
            Parting::Eof | Parting::Signal => self.end(out),
            Parting::Deaf => {
                self.deaf = true;
                self.end(out);
            }
            Parting::GraceOver => out.close = true,
        }
        self.settle(out);
    }

    fn listening(&self) -> bool {
        self.ready && self.pending.len() < PENDING_MAX && self.held.len() < HELD_MAX
    }
}

fn unparsed(error: &str, out: &mut Out) {
    out.frames.line(|bytes| {
        Writer::object(bytes, |w| {
            w.text("type", "response").text("command", "parse").flag("success", false);
            w.text("error", &format!("Failed to parse command: {error}"));
        });
    });
}

/// A fault in one line for a host: what happened, and what can be done about it.
fn said(fault: &Fault) -> String {
    match fault.hints.first() {
        Some(hint) => format!("{} ({hint})", fault.message),
        None => fault.message.clone(),
    }
}

fn compact_reason(reason: CompactReason) -> &'static str {
    match reason {
        CompactReason::Manual => "manual",
        CompactReason::Threshold => "threshold",
        CompactReason::Overflow => "overflow",
    }
}
