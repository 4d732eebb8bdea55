//! What the engine's answers mean: each command that a host sent ends in exactly one response, some of them by way of
//! further questions to the engine.

mod model_set;
mod sessions;

use std::sync::Arc;

use vocab::{Compaction, Delivery, Entry, Fault, FaultKind, Reply, SessionId, SessionVerb, Tag, Target, Verb, Which};
use wire::Out;

use crate::faults::said;
use crate::frames::Writer;
use crate::inbound::{RpcCall, Text};
use crate::pending::{ReadFor, RpcPending};
use crate::prompts::{Disposition, Prompts};
use crate::{Errors, Rpc, answers, frames, outbound};
use pi_format::transcript::Transcript;

/// What a prompt is answered while something runs and nobody said what to do then.
const BUSY: &str = "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.";
const BUSY_PI: &str =
    "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

impl Rpc {
    pub(crate) fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut Out) {
        let Some(pending) = self.pending.answered(tag) else { return };
        self.settle_pending(tag, pending, result, out);
        self.release(out);
    }

    fn settle_pending(&mut self, tag: Tag, pending: RpcPending, result: &Result<Reply, Fault>, out: &mut Out) {
        match (pending, result) {
            (RpcPending::Nothing, _) => {}
            (RpcPending::Open(command), Ok(Reply::Opened(opened))) => self.opened(opened, command, out),
            (RpcPending::Open(Some((call, _))), Err(fault)) => self.not_moved(&call, fault, out),
            (RpcPending::Open(None) | RpcPending::Source | RpcPending::Copied, Err(fault)) => self.lost(fault, out),
            (RpcPending::Source, Ok(Reply::Found(session))) => {
                self.send_to(Target::Session(session.clone()), Verb::Fork { at: None }, RpcPending::Copied, out);
            }
            (RpcPending::Copied, Ok(Reply::Forked { session, .. })) => {
                let model = self.options.model.clone();
                self.open(Which::Id(session.to_string()), model, RpcPending::Open(None), out);
            }
            (RpcPending::Stop, result) => {
                self.ended |= self.ending;
                self.stop_heard(result, out);
            }
            (RpcPending::Abort(call), result) => {
                self.aborts.push(call);
                self.stop_heard(result, out);
            }
            (RpcPending::Prompt(call, text), result) => self.prompted(call, text, result, out),
            (RpcPending::Slash(call, text), Err(fault)) if fault.kind == FaultKind::UnknownCommand => {
                self.deliver(call, text, Delivery::RejectIfBusy, out);
            }
            (RpcPending::Slash(call, _), Ok(reply)) => self.acknowledge(&call, reply, Disposition::Handled, out),
            (RpcPending::FindModel(call, named), result) => self.model_found(call, &named, result, out),
            (RpcPending::CycleModel(call), Err(fault)) => self.not_moved(&call, fault, out),
            (RpcPending::Names, Ok(Reply::Entries(entries))) => {
                let transcript = Transcript::new(entries, &self.view.known);
                self.view.past_names = transcript.lines().iter().map(|line| (line.seq, line.name.clone())).collect();
            }
            (RpcPending::Shell(call), result) => self.shell_ended(tag, &call, result, out),
            (RpcPending::QueueSlash(call, text, delivery), result) => {
                self.queue_slash(call, text, delivery, result, out)
            }
            (RpcPending::SetModel { call, name, scoped }, result) => self.model_set(&call, &name, scoped, result, out),
            (RpcPending::Fork(call), Ok(Reply::Forked { session, text })) => {
                let text = matches!(call.command, "branch" | "fork").then(|| text.clone());
                self.go_to(Which::Id(session.to_string()), call, text, out);
            }
            (RpcPending::Fork(call), Err(fault)) => match self.handoff.take() {
                // Nothing was said yet: there is nothing to hand over, and that is an answer.
                Some(_) if fault.kind == FaultKind::NothingToDo => self.handed_over(&call, false, out),
                _ => self.not_moved(&call, fault, out),
            },
            (RpcPending::Handoff(call), result) => self.handoff_summarised(call, result, out),
            (RpcPending::Compacted(call, _), Err(fault)) if call.command == "handoff" => {
                self.not_moved(&call, fault, out)
            }
            (RpcPending::Read(call, ReadFor::Branch { entry }), Ok(Reply::Entries(entries))) => {
                self.branch(call, &entry, entries, out);
            }
            (RpcPending::Read(call, ReadFor::Branch { .. }), Err(fault)) => self.not_moved(&call, fault, out),
            (RpcPending::HostTools(call, _), Err(fault)) if fault.kind == FaultKind::Invalid => {
                self.fail(&call, &format!("RPC host {}", fault.message), out);
            }
            (RpcPending::Exported(call), Err(fault)) if fault.kind == FaultKind::NothingToDo => {
                self.fail(&call, "Nothing to export yet - start a conversation first", out);
            }
            (pending, result) => self.answered(pending, result, out),
        }
    }

    /// Replies that end their command.
    fn answered(&mut self, pending: RpcPending, result: &Result<Reply, Fault>, out: &mut Out) {
        let reply = match (pending.call(), result) {
            (None, _) => return,
            // A list that nobody gives is no reason to hide the model that is used.
            (Some(call), Err(fault))
                if matches!(pending, RpcPending::Models(_)) && self.view.known.model().is_some() =>
            {
                let known: Vec<_> = self.view.known.model().map(|model| (**model).clone()).into_iter().collect();
                out.notes.push(said(fault));
                return self.respond(call, Some(&|out| answers::models(&known, out)), out);
            }
            (Some(call), Err(fault)) => {
                let call = call.clone();
                return self.fault(&call, fault, out);
            }
            (Some(_), Ok(reply)) => reply,
        };
        match (pending, reply) {
            (RpcPending::State(call), Reply::Inspected(it)) => {
                let mut data = Vec::new();
                answers::state(it, &mut data);
                self.respond(&call, Some(&|out| out.extend_from_slice(&data)), out);
            }
            (RpcPending::Commands(call), Reply::Inspected(it)) => {
                let templates = &self.options.templates;
                self.respond(&call, Some(&|out| answers::commands(&it.commands, templates, out)), out);
            }
            (RpcPending::Todos(call), _) => self.todos(&call, out),
            (RpcPending::HostTools(call, registered), _) => {
                self.respond(&call, Some(&|out| answers::tool_names(&registered.names, out)), out);
                self.host_tools = registered;
            }
            (RpcPending::Models(call), Reply::Models(models)) => {
                models.iter().for_each(|model| self.view.known.meet(model));
                self.respond(&call, Some(&|out| answers::models(models, out)), out);
            }
            (RpcPending::CycleModel(call), Reply::Models(models)) => self.cycle_model(call, models, out),
            (RpcPending::Level(call, level), _) => {
                self.respond_text(&call, "level", level, out);
            }
            (RpcPending::Compact(call), Reply::Compacted(compaction)) => {
                self.send(
                    Verb::Session(SessionVerb::Read { after: 0 }),
                    RpcPending::Compacted(call, compaction.clone()),
                    out,
                );
            }
            (RpcPending::Compacted(call, compaction), Reply::Entries(entries)) => {
                self.compaction_read(&call, &compaction, entries, out);
            }
            (RpcPending::Cleared(call), Reply::Queue(items)) => {
                self.respond(&call, Some(&|out| answers::cleared(items, out)), out);
            }
            (RpcPending::Exported(call), Reply::Exported(exported)) => {
                self.respond_text(&call, "path", &exported.path.display().to_string(), out);
            }
            (RpcPending::Read(call, what), Reply::Entries(entries)) => self.was_read(&call, &what, entries, out),
            (pending, _) => {
                if let Some(call) = pending.call() {
                    self.respond(call, None, out);
                }
            }
        }
    }

    fn handoff_summarised(&mut self, call: RpcCall, result: &Result<Reply, Fault>, out: &mut Out) {
        match result {
            Ok(Reply::Compacted(compaction)) => {
                self.send(
                    Verb::Session(SessionVerb::Read { after: 0 }),
                    RpcPending::Compacted(call, compaction.clone()),
                    out,
                );
            }
            Ok(_) => self.handed_over(&call, true, out),
            Err(fault) if fault.kind == FaultKind::NothingToDo => self.handed_over(&call, false, out),
            Err(fault) => self.not_moved(&call, fault, out),
        }
    }

    /// An object with one text.
    fn respond_text(&self, call: &RpcCall, key: &str, text: &str, out: &mut Out) {
        let data = |out: &mut Vec<u8>| {
            Writer::object(out, |w| {
                w.text(key, text);
            });
        };
        self.respond(call, Some(&data), out);
    }

    /// The log behind a compaction, which names the first line that was kept.
    fn compaction_read(&mut self, call: &RpcCall, compaction: &Compaction, entries: &[Arc<Entry>], out: &mut Out) {
        let transcript = Transcript::new(entries, &self.view.known);
        let name = transcript.first_kept().map(|name| &**name);
        let files = answers::Files::before(compaction.first_kept, entries);
        let mut data = Vec::new();
        answers::compaction(compaction, name, Some(&files), &mut data);
        outbound::compaction_ended(compaction.reason, &data, out);
        match call.command {
            "handoff" => self.handed_over(call, true, out),
            _ => self.respond(call, Some(&|out| out.extend_from_slice(&data)), out),
        }
    }

    // ---- messages -----------------------------------------------------------------------------------------------

    fn prompted(&mut self, call: RpcCall, mut text: Text, result: &Result<Reply, Fault>, out: &mut Out) {
        let fault = match result {
            Ok(reply) => return self.acknowledge(&call, reply, Disposition::Started, out),
            Err(fault) => fault,
        };
        // Once: the engine's word on the second way is the last one.
        let queued = match text.behavior.take().as_deref() {
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
    fn acknowledge(&mut self, call: &RpcCall, reply: &Reply, usual: Disposition, out: &mut Out) {
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
            Disposition::Started | Disposition::Queued => self.view.prompts.taken(call, waits),
            Disposition::Handled => Prompts::handled(call, self.is_settled(), &mut out.frames),
        }
    }

    /// What nobody was told of the output comes before the response.
    fn shell_ended(&mut self, tag: Tag, call: &RpcCall, result: &Result<Reply, Fault>, out: &mut Out) {
        match result {
            Ok(Reply::Shell(shell)) => {
                let rest = self.view.outputs.ended(tag, shell);
                frames::bash_update(&mut out.frames, call.id.as_deref(), &rest);
                self.respond(call, Some(&|out| answers::shell(shell, out)), out);
            }
            Ok(_) => self.respond(call, None, out),
            Err(fault) => {
                self.view.outputs.forget(tag);
                self.fault(call, fault, out);
            }
        }
    }

    fn queue_slash(
        &mut self,
        call: RpcCall,
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

    // ---- the log ------------------------------------------------------------------------------------------------

    fn was_read(&mut self, call: &RpcCall, what: &ReadFor, entries: &[Arc<Entry>], out: &mut Out) {
        let transcript = Transcript::new(entries, &self.view.known);
        let mut data = Vec::new();
        match what {
            ReadFor::Messages => answers::messages(&transcript, &mut data),
            ReadFor::Page { cursor, limit } => answers::page(&transcript, cursor.as_deref(), *limit, &mut data),
            ReadFor::Stats => {
                let session = self.view.session.as_ref().map_or("", SessionId::as_str);
                answers::stats(&transcript, session, self.view.known.state.as_deref(), &mut data);
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
