//! What each command asks of the engine. The answers are in `replies.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{
    AskId, Change, Delivery, DirectoryVerb, Drain, Image, LaneWish, MODEL_NAME_CHARS_MAX, Part, QueueVerb, SessionVerb,
    SteerPoint, TodoPhase, TodoStatus, TodoTask, Verb, Which, check_model_name,
};
use wire::Out;

use crate::faults::said;
use crate::frames::Writer;
use crate::inbound::{Command, HostAnswer, PhaseMember, RpcCall, Text};
use crate::models::LEVELS;
use crate::pending::{Handoff, NamedModel, ReadFor, RpcPending, Then};
use crate::{Rpc, frames, host_tools, ui};

/// The one version of the framing that we speak.
const PROTOCOL_VERSION: u64 = 1;
/// How much a host may want to know of sub-agents.
const SUBSCRIPTIONS: [&str; 3] = ["off", "progress", "events"];

impl Rpc {
    /// A command: now, or when the host is on its new session. What stops something never waits.
    pub(crate) fn command(&mut self, call: RpcCall, command: Command, out: &mut Out) {
        let urgent = matches!(command, Command::Abort | Command::AbortRetry | Command::AbortBash);
        if !urgent && (self.must_wait() || !self.held.is_empty()) {
            return self.held.push_back((call, command));
        }
        self.act(call, command, out);
    }

    /// On the way to another session, or a message is on its way that may have to be delivered otherwise: none that came
    /// later may overtake it.
    fn must_wait(&self) -> bool {
        let is_unsure = |pending: &RpcPending| match pending {
            RpcPending::Prompt(_, text) => text.behavior.is_some(),
            RpcPending::QueueSlash(..) => true,
            _ => false,
        };
        self.moving || self.pending.iter().any(is_unsure)
    }

    /// Commands that waited, up to the next one that others wait for.
    pub(crate) fn release(&mut self, out: &mut Out) {
        while !self.must_wait() {
            let Some((call, command)) = self.held.pop_front() else { return };
            self.act(call, command, out);
        }
    }

    fn act(&mut self, call: RpcCall, command: Command, out: &mut Out) {
        match command {
            Command::Prompt(text) => self.prompt(call, text, out),
            Command::Steer(text) => self.queue(call, text, Delivery::Steer, out),
            Command::FollowUp(text) => self.queue(call, text, Delivery::FollowUp, out),
            Command::Abort => {
                self.send(Verb::Session(SessionVerb::Interrupt { turn: None }), RpcPending::Abort(call), out)
            }
            Command::AbortAndPrompt(text) => self.stop_then(Then::Prompt(call, text), out),
            Command::NewSession { parent } => self.move_then(Then::New(call, parent), out),
            Command::SwitchSession { path } => self.move_then(Then::Switch(call, path), out),
            Command::OpenSession { dir } => self.open_session(call, &dir, out),
            Command::Branch { entry } => self.move_then(Then::Branch(call, entry), out),
            Command::Clone => self.move_then(Then::Clone(call), out),
            Command::Handoff { instructions } => {
                self.handoff = Some(Handoff { instructions: instructions.map(Into::into) });
                self.move_then(Then::Clone(call), out);
            }
            Command::Compact { instructions } => self.stop_then(Then::Compact(call, instructions), out),
            Command::AbortRetry => self.plain(call, Verb::Session(SessionVerb::AbortRetry), out),
            Command::AbortBash => self.plain(call, Verb::Session(SessionVerb::AbortShell), out),
            Command::Bash { command, aside } => {
                self.send(
                    Verb::Session(SessionVerb::Shell { command: command.into(), aside }),
                    RpcPending::Shell(call),
                    out,
                );
            }
            Command::ClearQueue => {
                self.send(Verb::Session(SessionVerb::Queue(QueueVerb::Clear)), RpcPending::Cleared(call), out)
            }
            Command::GetState => self.send(Verb::Session(SessionVerb::Inspect), RpcPending::State(call), out),
            Command::GetCommands => self.send(Verb::Session(SessionVerb::Inspect), RpcPending::Commands(call), out),
            Command::GetMessages => self.read(call, ReadFor::Messages, out),
            Command::GetMessagesPage { cursor, limit } => self.read(call, ReadFor::Page { cursor, limit }, out),
            Command::GetSessionStats => self.read(call, ReadFor::Stats, out),
            Command::GetBranchMessages => self.read(call, ReadFor::Users, out),
            Command::GetLastAssistantText => self.read(call, ReadFor::LastText, out),
            Command::GetEntries { since } => self.read(call, ReadFor::Entries { since }, out),
            Command::GetTree => self.read(call, ReadFor::Tree, out),
            Command::ExportHtml { path } => {
                let file = path.map_or_else(|| self.export_name(), PathBuf::from);
                self.send(Verb::Session(SessionVerb::Export { file: Some(file) }), RpcPending::Exported(call), out);
            }
            Command::GetAvailableModels => {
                self.send(Verb::Directory(DirectoryVerb::Models), RpcPending::Models(call), out)
            }
            Command::CycleModel => {
                self.moving = true;
                self.send(Verb::Directory(DirectoryVerb::Models), RpcPending::CycleModel(call), out);
            }
            Command::SetModel { provider, model } => self.set_model(call, NamedModel { provider, id: model }, out),
            other => self.set(call, other, out),
        }
    }

    /// Switches and lists: one change, one word back.
    fn set(&mut self, call: RpcCall, command: Command, out: &mut Out) {
        match command {
            Command::SetLocale { locale } => {
                self.set_locale(Some(locale), RpcPending::Plain(call), out);
            }
            Command::SetTodos { phases } => {
                let change = Change::Todos(phases.into_iter().enumerate().map(phase).collect());
                self.send(Verb::Session(SessionVerb::Set(change)), RpcPending::Todos(call), out);
            }
            Command::SetHostTools { tools } => match host_tools::register(tools) {
                Ok(registered) => {
                    let tools = registered.offered.clone();
                    self.send(
                        Verb::Session(SessionVerb::OfferTools { tools }),
                        RpcPending::HostTools(call, registered),
                        out,
                    );
                }
                Err(error) => self.fail(&call, &error, out),
            },
            Command::SetThinkingLevel { level } => match self.view.known.clamp(&level) {
                Some(level) => self.set_level(level, RpcPending::Plain(call), out),
                None => self.respond(&call, None, out),
            },
            Command::CycleThinkingLevel => self.cycle_level(call, out),
            Command::SetSteeringMode { mode } => {
                let steer_drain = drain(&mode);
                self.set_lane(call, LaneWish { steer_drain, ..LaneWish::default() }, out);
            }
            Command::SetFollowUpMode { mode } => {
                let follow_up_drain = drain(&mode);
                self.set_lane(call, LaneWish { follow_up_drain, ..LaneWish::default() }, out);
            }
            Command::SetInterruptMode { mode } => {
                let steer_point = match mode.as_str() {
                    "immediate" => Some(SteerPoint::Immediate),
                    "wait" => Some(SteerPoint::Wait),
                    _ => None,
                };
                self.set_lane(call, LaneWish { steer_point, ..LaneWish::default() }, out);
            }
            Command::SetAutoCompaction { enabled } => {
                self.options.compaction.auto = enabled;
                self.plain(call, Verb::Session(SessionVerb::Set(Change::Compaction(self.options.compaction))), out);
            }
            Command::SetAutoRetry { enabled } => {
                self.options.retry.retries_max = if enabled { self.retries_max } else { 0 };
                self.plain(call, Verb::Session(SessionVerb::Set(Change::Retry(self.options.retry))), out);
            }
            Command::SetSessionName { name } => match name.trim() {
                "" => self.refuse(&call, "Session name cannot be empty", out),
                name => self.plain(call, Verb::Session(SessionVerb::Set(Change::Title(name.into()))), out),
            },
            other => self.answer_ourselves(&call, other, out),
        }
    }

    /// What needs no engine.
    fn answer_ourselves(&mut self, call: &RpcCall, command: Command, out: &mut Out) {
        match command {
            Command::GetIntegrations => self.integrations(call, out),
            Command::GetThinkingLevels => {
                let levels = self.view.known.levels();
                self.respond(
                    call,
                    Some(&|out| {
                        Writer::object(out, |w| {
                            w.list("levels", levels.iter(), |level, out| wire::escape_into(level, out));
                        });
                    }),
                    out,
                );
            }
            Command::GetLoginProviders => self.respond(call, Some(&|out| out.extend(br#"{"providers":[]}"#)), out),
            Command::Login { provider } => {
                let error = format!("Cannot log in to {provider} from here: set its API key in the environment");
                self.refuse(call, &error, out);
            }
            Command::GetSubagents => self.respond(call, Some(&|out| out.extend(br#"{"subagents":[]}"#)), out),
            Command::GetSubagentMessages => self.refuse(call, "There are no sub-agents", out),
            Command::NegotiateProtocol { version: PROTOCOL_VERSION } => self.respond(
                call,
                Some(&|out| {
                    Writer::object(out, |w| {
                        w.number("protocolVersion", PROTOCOL_VERSION);
                        w.list("supportedProtocolVersions", [PROTOCOL_VERSION].iter(), |version, out| {
                            out.extend(version.to_string().bytes());
                        });
                    });
                }),
                out,
            ),
            Command::NegotiateProtocol { version } => {
                let error = format!("Unsupported protocol version: {version} (there is: {PROTOCOL_VERSION})");
                self.refuse(call, &error, out);
            }
            Command::SetHostUriSchemes { schemes } if !schemes.is_empty() => {
                self.refuse(call, "URI schemes of the host are not supported", out);
            }
            Command::SetHostUriSchemes { .. } => {
                self.respond(call, Some(&|out| out.extend(br#"{"schemes":[]}"#)), out);
            }
            Command::SetFastMode { enabled: true } => {
                self.refuse(call, "Fast mode is unavailable for the current model.", out);
            }
            Command::SetFastMode { enabled: false } => {
                self.respond(call, Some(&|out| out.extend(br#"{"enabled":false,"active":false}"#)), out);
            }
            Command::SetSubagentSubscription { level } => self.subscribe(call, &level, out),
            Command::SetEventFilter { events } => self.filter_events(call, events.as_deref(), out),
            // Every other command has its place above.
            _ => self.respond(call, None, out),
        }
    }

    /// A sub-agent is seen as its call and the call's updates, whatever the level.
    fn subscribe(&self, call: &RpcCall, level: &str, out: &mut Out) {
        if !SUBSCRIPTIONS.contains(&level) {
            return self.refuse(call, &format!("Invalid subagent subscription level: {level}"), out);
        }
        let data = |out: &mut Vec<u8>| {
            Writer::object(out, |w| {
                w.text("level", level);
            });
        };
        self.respond(call, Some(&data), out);
    }

    fn filter_events(&mut self, call: &RpcCall, events: Option<&[String]>, out: &mut Out) {
        if events.is_some_and(|events| events.iter().any(String::is_empty)) {
            return self.refuse(call, "events must be null or an array of non-empty event type strings", out);
        }
        self.filter.set(events);
        let data = |out: &mut Vec<u8>| {
            Writer::object(out, |w| match self.filter.events() {
                Some(events) => w.list("events", events, wire::escape_into),
                None => _ = w.raw("events", b"null"),
            });
        };
        self.respond(call, Some(&data), out);
    }

    /// A model that was met is taken at its name. Of another one the list decides whether it is there; what comes behind
    /// waits meanwhile, so that the next prompt goes to it.
    fn set_model(&mut self, call: RpcCall, named: NamedModel, out: &mut Out) {
        match self.view.known.slug_of(&named.provider, &named.id) {
            Some(slug) => {
                let why = RpcPending::SetModel { call, name: named.shown(), scoped: None };
                self.send(Verb::Session(SessionVerb::Set(Change::Model(slug))), why, out);
            }
            None => match check_model_name(&named.shown(), MODEL_NAME_CHARS_MAX) {
                Err(fault) => self.refuse(&call, &said(&fault), out),
                Ok(()) => {
                    self.moving = true;
                    self.send(Verb::Directory(DirectoryVerb::Models), RpcPending::FindModel(call, named), out);
                }
            },
        }
    }

    fn plain(&mut self, call: RpcCall, verb: Verb, out: &mut Out) {
        self.send(verb, RpcPending::Plain(call), out);
    }

    fn read(&mut self, call: RpcCall, what: ReadFor, out: &mut Out) {
        self.send(Verb::Session(SessionVerb::Read { after: 0 }), RpcPending::Read(call, what), out);
    }

    // ---- messages -----------------------------------------------------------------------------------------------

    pub(crate) fn prompt(&mut self, call: RpcCall, text: Text, out: &mut Out) {
        if text.locale.is_some() {
            self.set_locale(text.locale.clone(), RpcPending::Nothing, out);
        }
        if let Some((name, args)) = slash(&text.message) {
            let verb = Verb::Session(SessionVerb::Command { name: name.into(), args: args.into() });
            return self.send(verb, RpcPending::Slash(call, text), out);
        }
        self.deliver(call, text, Delivery::RejectIfBusy, out);
    }

    fn queue(&mut self, call: RpcCall, text: Text, delivery: Delivery, out: &mut Out) {
        if slash(&text.message).is_some() {
            return self.send(Verb::Session(SessionVerb::Inspect), RpcPending::QueueSlash(call, text, delivery), out);
        }
        self.deliver(call, text, delivery, out);
    }

    pub(crate) fn deliver(&mut self, call: RpcCall, mut text: Text, delivery: Delivery, out: &mut Out) {
        if let Some((name, args)) = slash(&text.message)
            && let Some(template) = self.options.templates.iter().find(|template| *template.name == *name)
        {
            text.message = template.expand(args);
        }
        let verb = Verb::Session(SessionVerb::Prompt { parts: parts(&text), delivery });
        self.send(verb, RpcPending::Prompt(call, text), out);
    }

    fn set_locale(&mut self, locale: Option<String>, why: RpcPending, out: &mut Out) {
        self.locale = locale.map(|locale| locale.trim().into()).filter(|locale: &Arc<str>| !locale.is_empty());
        self.send(Verb::Session(SessionVerb::Set(Change::Locale(self.locale.clone()))), why, out);
    }

    /// What a host wants of the queue holds for every session that it comes to.
    fn set_lane(&mut self, call: RpcCall, wish: LaneWish, out: &mut Out) {
        self.lane = self.lane.then(wish);
        self.plain(call, Verb::Session(SessionVerb::Set(Change::Lane(wish))), out);
    }

    fn set_level(&mut self, level: &'static str, why: RpcPending, out: &mut Out) {
        let level = (level != LEVELS[0]).then(|| level.into());
        self.send(Verb::Session(SessionVerb::Set(Change::Thinking(level))), why, out);
    }

    fn cycle_level(&mut self, call: RpcCall, out: &mut Out) {
        let levels = self.view.known.levels();
        if levels.len() < 2 {
            return self.respond(&call, Some(&|out| out.extend(b"null")), out);
        }
        let at = levels.iter().position(|level| *level == self.view.known.level());
        let next = levels[at.map_or(0, |at| (at + 1) % levels.len())];
        self.set_level(next, RpcPending::Level(call, next), out);
    }

    /// Stops what runs, then goes on. A session that works for another one is stopped for nothing else: who wants to leave it
    /// goes, and who wants something of it hears why not.
    fn stop_then(&mut self, then: Then, out: &mut Out) {
        match (self.view.known.state.as_ref().and_then(|state| state.refuses()), then.done_there()) {
            (Some(fault), Some(call)) => self.fault(call, &fault, out),
            (Some(_), None) => self.go_on(then, out),
            (None, _) => {
                self.thens.push_back(then);
                self.send(Verb::Session(SessionVerb::Interrupt { turn: None }), RpcPending::Stop, out);
            }
        }
    }

    fn move_then(&mut self, then: Then, out: &mut Out) {
        self.moving = true;
        self.stop_then(then, out);
    }

    /// The newest session of that directory, or a new one there.
    fn open_session(&mut self, call: RpcCall, dir: &str, out: &mut Out) {
        if self.view.known.state.as_ref().is_none_or(|state| state.file.is_none()) {
            return self.refuse(&call, self.options.without_files, out);
        }
        if dir.trim().is_empty() {
            return self.refuse(&call, "open_session: sessionDir is empty", out);
        }
        // A path that ends so is a directory.
        self.move_then(Then::Switch(call, format!("{}/", dir.trim_end_matches('/'))), out);
    }

    pub(crate) fn go_to(&mut self, which: Which, call: RpcCall, text: Option<String>, out: &mut Out) {
        // A new conversation keeps what was chosen for the old one; a saved one has its own, unless the command line says.
        let model = match which {
            Which::New => self.view.known.model().map(|model| model.slug.clone()),
            _ => self.options.model.clone(),
        };
        self.open(which, model, RpcPending::Open(Some((call, text))), out);
    }

    // ---- answers of the host ------------------------------------------------------------------------------------

    pub(crate) fn answer(&mut self, answer: HostAnswer, out: &mut Out) {
        match answer {
            HostAnswer::Ui { id, answer } => {
                let Some(at) = self.view.dialogs.iter().position(|(ask, _)| ask.as_str() == id) else { return };
                // Gone at once: only the first answer counts.
                let (ask, dialog) = self.view.dialogs.remove(at);
                self.send(
                    Verb::Session(SessionVerb::Answer { ask, answer: ui::answer(dialog, answer) }),
                    RpcPending::Nothing,
                    out,
                );
            }
            HostAnswer::ToolUpdate { id, content } => {
                if let Some(ask) = self.host_call(&id) {
                    let parts = host_tools::parts(content);
                    self.send(Verb::Session(SessionVerb::Progress { ask, parts }), RpcPending::Nothing, out);
                }
            }
            HostAnswer::ToolResult { id, content, details, is_error } => {
                let Some(ask) = self.host_call(&id) else { return };
                self.view.host_calls.retain(|open| *open != ask);
                let answer = if is_error {
                    let parts = vec![Part::text(host_tools::error_text(content))];
                    vocab::Answer::Result { parts, is_error, details: None }
                } else {
                    vocab::Answer::Result { parts: host_tools::parts(content), is_error, details }
                };
                self.send(Verb::Session(SessionVerb::Answer { ask, answer }), RpcPending::Nothing, out);
            }
        }
    }

    fn host_call(&self, id: &str) -> Option<AskId> {
        self.view.host_calls.iter().find(|ask| ask.as_str() == id).cloned()
    }

    // ---- what is said about the session -------------------------------------------------------------------------

    fn export_name(&self) -> PathBuf {
        let file = self.view.known.state.as_ref().and_then(|state| state.file.clone());
        let base = file.as_ref().and_then(|file| file.file_stem()).map(|base| base.to_string_lossy().into_owned());
        let id = || self.view.session.as_ref().map(|id| id.as_str().replace(['/', '\\'], "_")).unwrap_or_default();
        format!("tillerman-session-{}.html", base.unwrap_or_else(id)).into()
    }

    fn integrations(&self, call: &RpcCall, out: &mut Out) {
        let provider = self.view.known.model().map(|model| model.provider.clone());
        let state = match provider.as_deref() {
            None | Some("tour") => "no_provider",
            Some(_) if self.view.auth_failed => "auth_error",
            Some(_) => "connected",
        };
        self.respond(
            call,
            Some(&|out| {
                Writer::object(out, |w| {
                    w.text("version", &self.options.version);
                    w.key("model");
                    Writer::object(w.out, |w| {
                        w.text("state", state).maybe("provider", provider.as_deref());
                    });
                    w.list("services", self.options.services.iter(), |service, out| {
                        Writer::object(out, |w| {
                            w.text("name", &service.name).text("state", service.state.as_str());
                            w.maybe("hint", service.hint.as_deref());
                        });
                    });
                });
            }),
            out,
        );
    }

    pub(crate) fn todos(&self, call: &RpcCall, out: &mut Out) {
        let todos = &self.view.known.todos;
        self.respond(
            call,
            Some(&|out| {
                Writer::object(out, |w| {
                    w.key("todoPhases");
                    frames::todo_phases(todos, w.out);
                });
            }),
            out,
        );
    }
}

/// `/name args`; a lone slash, a path or a comment is text.
fn slash(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (!name.is_empty() && !name.contains('/')).then(|| (name, args.trim()))
}

/// The words of a message, in the order the family shows them.
fn parts(text: &Text) -> Vec<Part> {
    let images = text.images.iter().flatten();
    let images =
        images.map(|image| Part::Image(Image { mime: image.mime.as_str().into(), base64: image.data.as_str().into() }));
    std::iter::once(Part::text(text.message.as_str())).chain(images).collect()
}

fn drain(mode: &str) -> Option<Drain> {
    match mode {
        "all" => Some(Drain::All),
        "one-at-a-time" => Some(Drain::OneAtATime),
        _ => None,
    }
}

fn phase((at, phase): (usize, PhaseMember)) -> TodoPhase {
    let id = phase.id.unwrap_or_else(|| format!("phase-{}", at + 1));
    let tasks = phase.tasks.into_iter().enumerate().map(|(at, task)| TodoTask {
        id: task.id.unwrap_or_else(|| format!("task-{}", at + 1)).into(),
        content: task.content.into(),
        status: task.status.as_deref().and_then(TodoStatus::parse).unwrap_or(TodoStatus::Pending),
        notes: task.notes.map(Into::into),
    });
    TodoPhase { id: id.into(), name: phase.name.into(), tasks: tasks.collect() }
}
