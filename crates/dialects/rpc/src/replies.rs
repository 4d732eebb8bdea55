//! What the engine's answers mean: each command that a host sent ends in exactly one response, some of them by way of
//! further questions to the engine.

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{
    Change, Compaction, Delivery, Entry, Fault, FaultKind, ModelInfo, Opened, Reply, SessionId, Tag, Target, Verb,
    Which,
};
use wire::Out;

use crate::decode::{Call, Text};
use crate::frames::Writer;
use crate::host_tools::Registered;
use crate::prompts::{Disposition, Prompts};
use crate::{Errors, Rpc, answers, events, frames, models, said};
use pi_format::transcript::{LineKind, MessageRole, Transcript};

/// What a prompt is answered while something runs and nobody said what to do then.
const BUSY: &str = "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.";
const BUSY_PI: &str =
    "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

/// What a reply is for.
pub(crate) enum Why {
    /// Nobody waits for it.
    Nothing,
    /// The first session, or the one a command leads to, with the text that a branch gives back.
    Open(Option<(Call, Option<String>)>),
    /// A session that is to be copied.
    OpenSource,
    Copied,
    Stop,
    Abort(Call),
    Plain(Call),
    Prompt(Call, Text),
    Slash(Call, Text),
    QueueSlash(Call, Text, Delivery),
    State(Call),
    Commands(Call),
    Todos(Call),
    HostTools(Call, Registered),
    Models(Call),
    CycleModel(Call),
    /// Whether there is such a model.
    FindModel(Call, Named),
    /// How older lines of the log are called.
    Names,
    SetModel {
        call: Call,
        name: String,
        scoped: Option<bool>,
    },
    Level(Call, &'static str),
    Compact(Call),
    Compacted(Call, Box<Compaction>),
    Shell(Call),
    Cleared(Call),
    Exported(Call),
    Read(Call, ReadFor),
    Fork(Call),
    /// The copy is being summarised.
    Handoff(Call),
}

/// A model as hosts name it.
pub(crate) struct Named {
    pub(crate) provider: String,
    pub(crate) id: String,
}

impl Named {
    pub(crate) fn shown(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

/// What the log is read for.
pub(crate) enum ReadFor {
    Messages,
    Page { cursor: Option<String>, limit: Option<u64> },
    Stats,
    Users,
    LastText,
    Entries { since: Option<String> },
    Tree,
    Branch { entry: String },
}

/// What follows when nothing runs any more.
pub(crate) enum Then {
    Prompt(Call, Text),
    New(Call, Option<String>),
    Switch(Call, String),
    Branch(Call, String),
    Clone(Call),
    Compact(Call, Option<String>),
}

impl Rpc {
    pub(crate) fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut Out) {
        let Some(why) = self.pending.remove(&tag) else { return };
        match (why, result) {
            (Why::Nothing, _) => {}
            (Why::Open(command), Ok(Reply::Opened(opened))) => self.opened(opened, command, out),
            (Why::Open(Some((call, _))), Err(fault)) => self.not_moved(&call, fault, out),
            (Why::Open(None) | Why::OpenSource | Why::Copied, Err(fault)) => self.lost(fault, out),
            (Why::OpenSource, Ok(Reply::Opened(opened))) => {
                self.session = Some(opened.session.clone());
                self.send(Verb::Fork { at: None }, Why::Copied, out);
            }
            (Why::Copied, Ok(Reply::Forked { session, .. })) => {
                self.open(Which::Id(session.to_string()), None, Why::Open(None), out);
            }
            (Why::Stop, result) => {
                self.ended |= self.ending;
                self.stop_heard(result, out);
            }
            (Why::Abort(call), result) => {
                self.aborts.push(call);
                self.stop_heard(result, out);
            }
            (Why::Prompt(call, text), result) => self.prompted(call, text, result, out),
            (Why::Slash(call, text), Err(fault)) if fault.kind == FaultKind::UnknownCommand => {
                self.deliver(call, text, Delivery::RejectIfBusy, out);
            }
            (Why::Slash(call, _), Ok(reply)) => self.acknowledge(&call, reply, Disposition::Handled, out),
            (Why::FindModel(call, named), result) => self.model_found(call, &named, result, out),
            (Why::CycleModel(call), Err(fault)) => self.not_moved(&call, fault, out),
            (Why::Names, Ok(Reply::Entries(entries))) => {
                let transcript = Transcript::new(entries, &self.known);
                self.past_names = transcript.lines().iter().map(|line| (line.seq, line.name.clone())).collect();
            }
            (Why::Shell(call), result) => self.shell_ended(tag, &call, result, out),
            (Why::QueueSlash(call, text, delivery), result) => self.queue_slash(call, text, delivery, result, out),
            (Why::SetModel { call, name, scoped }, result) => self.model_set(&call, &name, scoped, result, out),
            (Why::Fork(call), Ok(Reply::Forked { session, text })) => {
                let text = matches!(call.command, "branch" | "fork").then(|| text.clone());
                self.go_to(Which::Id(session.to_string()), call, text, out);
            }
            (Why::Fork(call), Err(fault)) => match self.handoff.take() {
                // Nothing was said yet: there is nothing to hand over, and that is an answer.
                Some(_) if fault.kind == FaultKind::NothingToDo => self.handed_over(&call, false, out),
                _ => self.not_moved(&call, fault, out),
            },
            (Why::Handoff(call), Ok(Reply::Compacted(compaction))) => {
                self.send(Verb::Read { after: 0 }, Why::Compacted(call, compaction.clone()), out);
            }
            (Why::Handoff(call), Ok(_)) => self.handed_over(&call, true, out),
            (Why::Handoff(call), Err(fault)) if fault.kind == FaultKind::NothingToDo => {
                self.handed_over(&call, false, out);
            }
            (Why::Handoff(call), Err(fault)) => self.not_moved(&call, fault, out),
            (Why::Compacted(call, _), Err(fault)) if call.command == "handoff" => self.not_moved(&call, fault, out),
            (Why::Read(call, ReadFor::Branch { entry }), Ok(Reply::Entries(entries))) => {
                self.branch(call, &entry, entries, out);
            }
            (Why::Read(call, ReadFor::Branch { .. }), Err(fault)) => self.not_moved(&call, fault, out),
            (Why::HostTools(call, _), Err(fault)) if fault.kind == FaultKind::Invalid => {
                self.fail(&call, &format!("RPC host {}", fault.message), out);
            }
            (Why::Exported(call), Err(fault)) if fault.kind == FaultKind::NothingToDo => {
                self.fail(&call, "Nothing to export yet - start a conversation first", out);
            }
            (why, result) => self.answered(why, result, out),
        }
    }

    /// Replies that end their command.
    fn answered(&mut self, why: Why, result: &Result<Reply, Fault>, out: &mut Out) {
        let reply = match (why.call(), result) {
            (None, _) => return,
            // A list that nobody gives is no reason to hide the model that is used.
            (Some(call), Err(fault)) if matches!(why, Why::Models(_)) && self.known.model().is_some() => {
                let known: Vec<_> = self.known.model().map(|model| (**model).clone()).into_iter().collect();
                out.notes.push(said(fault));
                return self.respond(call, Some(&|out| answers::models(&known, out)), out);
            }
            (Some(call), Err(fault)) => {
                let call = call.clone();
                return self.fault(&call, fault, out);
            }
            (Some(_), Ok(reply)) => reply,
        };
        match (why, reply) {
            (Why::State(call), Reply::Inspected(it)) => {
                let mut data = Vec::new();
                answers::state(it, &mut data);
                self.respond(&call, Some(&|out| out.extend_from_slice(&data)), out);
            }
            (Why::Commands(call), Reply::Inspected(it)) => {
                let templates = &self.options.templates;
                self.respond(&call, Some(&|out| answers::commands(&it.commands, templates, out)), out);
            }
            (Why::Todos(call), _) => self.todos(&call, out),
            (Why::HostTools(call, registered), _) => {
                self.respond(&call, Some(&|out| answers::tool_names(&registered.names, out)), out);
                self.host_tools = registered;
            }
            (Why::Models(call), Reply::Models(models)) => {
                models.iter().for_each(|model| self.known.meet(model));
                self.respond(&call, Some(&|out| answers::models(models, out)), out);
            }
            (Why::CycleModel(call), Reply::Models(models)) => self.cycle_model(call, models, out),
            (Why::Level(call, level), _) => {
                self.respond(
                    &call,
                    Some(&|out| {
                        Writer::object(out, |w| {
                            w.text("level", level);
                        })
                    }),
                    out,
                );
            }
            (Why::Compact(call), Reply::Compacted(compaction)) => {
                self.send(Verb::Read { after: 0 }, Why::Compacted(call, compaction.clone()), out);
            }
            (Why::Compacted(call, compaction), Reply::Entries(entries)) => {
                let transcript = Transcript::new(entries, &self.known);
                let name = transcript.first_kept().map(|name| &**name);
                let files = answers::Files::before(compaction.first_kept, entries);
                let mut data = Vec::new();
                answers::compaction(&compaction, name, Some(&files), &mut data);
                events::compaction_ended(compaction.reason, &data, out);
                match call.command {
                    "handoff" => self.handed_over(&call, true, out),
                    _ => self.respond(&call, Some(&|out| out.extend_from_slice(&data)), out),
                }
            }
            (Why::Cleared(call), Reply::Queue(items)) => {
                self.respond(&call, Some(&|out| answers::cleared(items, out)), out);
            }
            (Why::Exported(call), Reply::Exported(exported)) => {
                let path = exported.path.display().to_string();
                self.respond(
                    &call,
                    Some(&|out| {
                        Writer::object(out, |w| {
                            w.text("path", &path);
                        })
                    }),
                    out,
                );
            }
            (Why::Read(call, what), Reply::Entries(entries)) => self.was_read(&call, &what, entries, out),
            (why, _) => {
                if let Some(call) = why.call() {
                    self.respond(call, None, out);
                }
            }
        }
    }

    // ---- sessions -----------------------------------------------------------------------------------------------

    fn opened(&mut self, opened: &Opened, command: Option<(Call, Option<String>)>, out: &mut Out) {
        let before = self.session.replace(opened.session.clone());
        self.prompts.left(&mut out.frames);
        self.past_names.clear();
        self.resumed = opened.resumed;
        self.waiting = 0;
        let state = Arc::new(opened.state.clone());
        let level = self.known.state.as_ref().and_then(|state| state.thinking.clone());
        self.run.forget(&state.model);
        self.known.learn(&state);
        if let Some(before) = before.filter(|before| *before != opened.session) {
            self.send_to(Target::Session(before), Verb::Leave, Why::Nothing, out);
            self.carry_over(level.filter(|_| !opened.resumed), out);
        }
        if let (Some((call, _)), Some(instructions)) = (&command, self.handoff.take()) {
            // Still moving: what comes next waits for the summary.
            return self.send(Verb::Compact { instructions, wait: false }, Why::Handoff(call.clone()), out);
        }
        match command {
            Some((call, text)) => {
                let mut data = Vec::new();
                answers::moved(opened, call.command == "open_session", text.as_deref(), &mut data);
                self.respond(&call, Some(&|out| out.extend_from_slice(&data)), out);
            }
            None => {
                self.ready = true;
                Writer::event(&mut out.frames, "ready", |w| {
                    w.text("version", &self.options.version);
                });
                if let Some(title) = self.options.title.clone() {
                    self.send(Verb::Set(Change::Title(title)), Why::Nothing, out);
                }
            }
        }
        self.moving = false;
        self.release(out);
    }

    /// What belongs to the host and not to one session.
    fn carry_over(&mut self, level: Option<Arc<str>>, out: &mut Out) {
        if !self.host_tools.offered.is_empty() {
            let tools = self.host_tools.offered.clone();
            self.send(Verb::OfferTools { tools }, Why::Nothing, out);
        }
        let (lane, retry, compaction) = (self.options.lane, self.options.retry, self.options.compaction);
        let mut changes = vec![Change::Lane(lane), Change::Retry(retry), Change::Compaction(compaction)];
        changes.extend(self.locale.clone().map(|locale| Change::Locale(Some(locale))));
        changes.extend(level.map(|level| Change::Thinking(Some(level))));
        for change in changes {
            self.send(Verb::Set(change), Why::Nothing, out);
        }
    }

    fn not_moved(&mut self, call: &Call, fault: &Fault, out: &mut Out) {
        self.fault(call, fault, out);
        self.moving = false;
        self.release(out);
    }

    /// The host is on a session that goes on from a summary; `null` when there was nothing to summarise.
    fn handed_over(&mut self, call: &Call, summarised: bool, out: &mut Out) {
        self.respond(call, Some(&|out| out.extend_from_slice(if summarised { b"{}" } else { b"null" })), out);
        self.moving = false;
        self.release(out);
    }

    fn branch(&mut self, call: Call, entry: &str, entries: &[Arc<Entry>], out: &mut Out) {
        let transcript = Transcript::new(entries, &self.known);
        let is_user = |kind: &LineKind| matches!(kind, LineKind::Message(said) if said.role == MessageRole::User);
        let at = transcript.line(entry).filter(|line| is_user(&line.kind)).map(|line| line.seq);
        let Some(at) = at else {
            let what = if call.command == "fork" { "forking" } else { "branching" };
            self.fail(&call, &format!("Invalid entry ID for {what}"), out);
            self.moving = false;
            return self.release(out);
        };
        self.send(Verb::Fork { at: Some(at) }, Why::Fork(call), out);
    }

    // ---- stopping -----------------------------------------------------------------------------------------------

    /// Only a run says later that it has ended. A compaction, or a prompt that had not begun, is over by the time the
    /// engine says that it was stopped.
    fn stop_heard(&mut self, result: &Result<Reply, Fault>, out: &mut Out) {
        let was_running = matches!(result, Ok(Reply::Interrupted { was_running: true }));
        if was_running && self.run.is_on(&self.known) {
            self.stopping = true;
        } else {
            self.stopped(out);
        }
    }

    /// Nothing runs: whoever waited for that goes on.
    pub(crate) fn stopped(&mut self, out: &mut Out) {
        self.stopping = false;
        for call in std::mem::take(&mut self.aborts) {
            self.respond(&call, None, out);
        }
        for then in std::mem::take(&mut self.thens) {
            match then {
                Then::Prompt(call, text) => self.prompt(call, text, out),
                Then::New(call, parent) => {
                    self.parent = parent.map(Into::into);
                    self.go_to(Which::New, call, None, out);
                }
                Then::Switch(call, path) => self.go_to(Which::Path(PathBuf::from(path)), call, None, out),
                Then::Branch(call, entry) => {
                    self.send(Verb::Read { after: 0 }, Why::Read(call, ReadFor::Branch { entry }), out);
                }
                Then::Clone(call) => self.send(Verb::Fork { at: None }, Why::Fork(call), out),
                Then::Compact(call, instructions) => {
                    let instructions = instructions.map(Into::into);
                    self.send(Verb::Compact { instructions, wait: false }, Why::Compact(call), out);
                }
            }
        }
    }

    // ---- messages -----------------------------------------------------------------------------------------------

    fn prompted(&mut self, call: Call, text: Text, result: &Result<Reply, Fault>, out: &mut Out) {
        let fault = match result {
            Ok(reply) => return self.acknowledge(&call, reply, Disposition::Started, out),
            Err(fault) => fault,
        };
        let queued = match text.behavior.as_deref() {
            Some("steer") => Some(Delivery::Steer),
            Some("followUp") => Some(Delivery::FollowUp),
            _ => None,
        };
        let error = match (fault.kind, queued) {
            // It was busy a moment ago, and the host said what it wants then.
            (FaultKind::TurnInProgress, Some(delivery)) => return self.deliver(call, text, delivery, out),
            (FaultKind::TurnInProgress, None) if self.options.errors == Errors::Pi => BUSY_PI.to_owned(),
            (FaultKind::TurnInProgress, None) => BUSY.to_owned(),
            _ => said(fault),
        };
        // The seed acknowledges first and says later what came of it, under the same id.
        if self.options.errors == Errors::Seed {
            self.respond(&call, None, out);
        }
        self.refuse(&call, &error, out);
    }

    /// The message is taken, and this is what happens to it; `usual` where the engine does not say.
    fn acknowledge(&mut self, call: &Call, reply: &Reply, usual: Disposition, out: &mut Out) {
        let (disposition, waits) = match reply {
            Reply::Started { .. } => (Disposition::Started, None),
            Reply::Waiting { item, .. } => (Disposition::Queued, Some(item)),
            _ => (usual, None),
        };
        let data = |out: &mut Vec<u8>| {
            Writer::object(out, |w| {
                w.text("disposition", disposition.as_str());
            });
        };
        self.respond(call, Some(&data), out);
        match disposition {
            Disposition::Started | Disposition::Queued => self.prompts.taken(call, waits),
            Disposition::Handled => Prompts::handled(call, self.is_settled(), &mut out.frames),
        }
    }

    /// What nobody was told of the output comes before the response.
    fn shell_ended(&mut self, tag: Tag, call: &Call, result: &Result<Reply, Fault>, out: &mut Out) {
        match result {
            Ok(Reply::Shell(shell)) => {
                let rest = self.outputs.ended(tag, shell);
                frames::bash_update(&mut out.frames, call.id.as_deref(), &rest);
                self.respond(call, Some(&|out| answers::shell(shell, out)), out);
            }
            Ok(_) => self.respond(call, None, out),
            Err(fault) => {
                self.outputs.forget(tag);
                self.fault(call, fault, out);
            }
        }
    }

    fn queue_slash(
        &mut self,
        call: Call,
        text: Text,
        delivery: Delivery,
        result: &Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let name = text.message.split_whitespace().next().unwrap_or_default().trim_start_matches('/').to_owned();
        let taken =
            matches!(result, Ok(Reply::Inspected(it)) if it.commands.iter().any(|command| *command.name == *name));
        if taken {
            let error = format!(
                "Extension command \"/{name}\" cannot be queued. Use prompt() or execute the command when not streaming."
            );
            return self.fail(&call, &error, out);
        }
        self.deliver(call, text, delivery, out);
    }

    // ---- models -------------------------------------------------------------------------------------------------

    fn model_set(
        &mut self,
        call: &Call,
        name: &str,
        scoped: Option<bool>,
        result: &Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let fault = match result {
            Err(fault) => fault,
            Ok(_) => return self.model_now(call, scoped, out),
        };
        let error = match fault.kind {
            FaultKind::UnknownModel | FaultKind::NotFound => format!("Model not found: {name}"),
            FaultKind::Auth => format!("No API key for {name}"),
            _ => said(fault),
        };
        self.refuse(call, &error, out);
    }

    /// Only what is listed is there; where a provider gives no list, those who serve it decide.
    fn model_found(&mut self, call: Call, named: &Named, result: &Result<Reply, Fault>, out: &mut Out) {
        let listed: &[ModelInfo] = match result {
            Ok(Reply::Models(models)) => models,
            _ => &[],
        };
        listed.iter().for_each(|model| self.known.meet(model));
        let of_provider = |model: &ModelInfo| *models::provider(model) == *named.provider;
        let unlisted = !listed.iter().any(of_provider) && self.known.model().is_some_and(|model| of_provider(model));
        let slug = self.known.slug_of(&named.provider, &named.id);
        match slug.or_else(|| unlisted.then(|| named.shown().into())) {
            Some(slug) => {
                let why = Why::SetModel { call, name: named.shown(), scoped: None };
                self.send(Verb::Set(Change::Model(slug)), why, out);
            }
            None => self.refuse(&call, &format!("Model not found: {}", named.shown()), out),
        }
        self.moving = false;
        self.release(out);
    }

    fn model_now(&mut self, call: &Call, scoped: Option<bool>, out: &mut Out) {
        let Some(state) = self.known.state.clone() else { return self.respond(call, None, out) };
        let model = |out: &mut Vec<u8>| models::write(&state.model_info, out);
        match scoped {
            None => self.respond(call, Some(&model), out),
            Some(scoped) => self.respond(
                call,
                Some(&|out| {
                    Writer::object(out, |w| {
                        w.key("model");
                        model(w.out);
                        w.text("thinkingLevel", models::level(&state)).flag("isScoped", scoped);
                    });
                }),
                out,
            ),
        }
    }

    fn cycle_model(&mut self, call: Call, all: &[ModelInfo], out: &mut Out) {
        let scope = &self.options.scope;
        let wanted =
            |model: &&ModelInfo| scope.iter().any(|name| **name == *model.slug || **name == *models::full_name(model));
        let scoped: Vec<&ModelInfo> = all.iter().filter(wanted).collect();
        let is_scoped = !scope.is_empty();
        let choice = if is_scoped { scoped } else { all.iter().collect() };
        self.moving = false;
        if choice.len() < 2 {
            self.respond(&call, Some(&|out| out.extend(b"null")), out);
            return self.release(out);
        }
        let current = self.known.model().map(|model| model.slug.clone());
        let at = choice.iter().position(|model| Some(&model.slug) == current.as_ref());
        let next = choice[at.map_or(0, |at| (at + 1) % choice.len())].slug.clone();
        let why = Why::SetModel { call, name: next.to_string(), scoped: Some(is_scoped) };
        self.send(Verb::Set(Change::Model(next)), why, out);
        self.release(out);
    }

    // ---- the log ------------------------------------------------------------------------------------------------

    fn was_read(&mut self, call: &Call, what: &ReadFor, entries: &[Arc<Entry>], out: &mut Out) {
        let transcript = Transcript::new(entries, &self.known);
        let mut data = Vec::new();
        match what {
            ReadFor::Messages => answers::messages(&transcript, &mut data),
            ReadFor::Page { cursor, limit } => answers::page(&transcript, cursor.as_deref(), *limit, &mut data),
            ReadFor::Stats => {
                let session = self.session.as_ref().map_or("", SessionId::as_str);
                answers::stats(&transcript, session, self.known.state.as_deref(), &mut data);
            }
            ReadFor::Users | ReadFor::Branch { .. } => answers::users(&transcript, &mut data),
            ReadFor::LastText => answers::last_text(&transcript, &mut data),
            ReadFor::Entries { since } => {
                if let Err(error) = answers::entries(&transcript, since.as_deref(), &mut data) {
                    return self.fail(call, &error, out);
                }
            }
            ReadFor::Tree => answers::tree(&transcript, &mut data),
        }
        self.respond(call, Some(&|out| out.extend_from_slice(&data)), out);
    }
}

impl Why {
    /// The command that waits for this reply.
    fn call(&self) -> Option<&Call> {
        match self {
            Why::Nothing | Why::Names | Why::Open(None) | Why::OpenSource | Why::Copied | Why::Stop => None,
            Why::Open(Some((call, _)))
            | Why::Abort(call)
            | Why::Plain(call)
            | Why::Prompt(call, _)
            | Why::Slash(call, _)
            | Why::QueueSlash(call, _, _)
            | Why::State(call)
            | Why::Commands(call)
            | Why::Todos(call)
            | Why::HostTools(call, _)
            | Why::Models(call)
            | Why::CycleModel(call)
            | Why::FindModel(call, _)
            | Why::SetModel { call, .. }
            | Why::Level(call, _)
            | Why::Compact(call)
            | Why::Compacted(call, _)
            | Why::Shell(call)
            | Why::Cleared(call)
            | Why::Exported(call)
            | Why::Read(call, _)
            | Why::Fork(call)
            | Why::Handoff(call) => Some(call),
        }
    }
}
