//! What peers want from a session.

use std::sync::Arc;

use vocab::{Fault, FaultKind, PeerId, Reply, Tag, Verb};

use super::jobs::{Awaited, Need};
use super::{Mail, Session, Waiting};
use crate::commands;
use crate::outbox::Outbox;

/// How a command is answered.
pub(super) enum Response {
    Now(Result<Reply, Fault>),
    /// By what it has set going: a job, the queue, a compaction, a person.
    Later,
}

impl Response {
    /// Something was set going, or could not be.
    fn begun(result: Result<(), Fault>) -> Self {
        result.map_or_else(|fault| Response::Now(Err(fault)), |()| Response::Later)
    }
}

impl Session {
    /// Never waits: what takes its time is set going, and answers when it is done.
    pub(super) fn verb(&mut self, outbox: &Arc<Outbox>, tag: Tag, verb: Verb) -> Response {
        let is_extensions = matches!(verb, Verb::Ask { .. } | Verb::Show(_) | Verb::HookDone { .. });
        if (is_extensions || self.tools.has_extensions())
            && let Some(response) = self.extension_verb(outbox, tag, &verb)
        {
            return response;
        }
        if let Some(lack) = self.unmet(outbox, &verb) {
            self.wait_for(lack, outbox.clone(), tag, verb);
            return Response::Later;
        }
        let result = match verb {
            // Such as one whose replay failed: it was told to come in again.
            _ if !self.log.peers.is_here(outbox.peer) => {
                Err(Fault::new(FaultKind::UnknownSession, "you are not on this session any more").hint("open it again"))
            }
            Verb::Prompt { .. } | Verb::Compact { .. } | Verb::Shell { .. } if self.activity.is_ending() => {
                Err(Fault::new(FaultKind::ShuttingDown, "the session is being closed"))
            }
            // Accepted, refused or waiting: the queue's acts carry the reply.
            Verb::Prompt { parts, delivery } => return Response::begun(self.prompt(outbox, tag, parts, delivery)),
            Verb::Answer { ask, answer } => self.answer(&ask, answer, Some(outbox.peer)).map(|()| Reply::Done),
            Verb::Progress { ask, parts } => self.host_progress(&ask, parts).map(|()| Reply::Done),
            Verb::Interrupt { turn: Some(turn) } if self.current_turn() != Some(turn.clone()) => {
                Ok(Reply::Interrupted { was_running: false })
            }
            Verb::Interrupt { .. } => {
                let was_running = self.interrupt_prompts() || self.prompts.queue.is_busy();
                let acts = self.prompts.queue.interrupt();
                self.act(acts);
                Ok(Reply::Interrupted { was_running })
            }
            Verb::AbortRetry => {
                if matches!(self.activity.waiting(), Waiting::Retry(_)) {
                    self.activity.stop_waiting();
                }
                self.with_turn(|turn, fx| {
                    turn.abort_retry(fx);
                });
                Ok(Reply::Done)
            }
            Verb::Slash { name, args } => match self.slash(outbox, tag, &name, &args) {
                // The name is echoed as it was given: `/permissions` is answered as `permissions`.
                Some(result) => Ok(Reply::Slash(Box::new(commands::reply(&name, result)))),
                None => return Response::Later,
            },
            Verb::Queue(verb) => self.queue_verb(verb),
            Verb::Set(change) => self.set(change).map(|()| Reply::Done),
            Verb::Compact { instructions, wait } => {
                return Response::begun(match wait {
                    true => self.compact_in_turn(outbox, tag, instructions),
                    false => self.compact(outbox, tag, instructions, false),
                });
            }
            Verb::OfferTools { tools } => self.offer_tools(outbox.peer, tools).map(|()| Reply::Done),
            Verb::Read { after } => {
                self.read(outbox, tag, after);
                return Response::Later;
            }
            Verb::Inspect => self.inspect().map(|inspection| Reply::Inspected(Box::new(inspection))),
            Verb::Export { file } => return Response::begun(self.export_to(outbox, tag, file)),
            Verb::Command { name, args } => self.run_command(name, args),
            Verb::Shell { command, aside } => return Response::begun(self.shell(outbox, tag, command, aside)),
            Verb::AbortShell => {
                self.stop_shells(|_| true);
                if self.jobs.is_shell_awaiting() {
                    // It is stopped when it begins.
                    let mail = Mail::Verb { outbox: outbox.clone(), tag, verb: Verb::AbortShell };
                    self.await_need(Need::View, Awaited::Mail(mail));
                    return Response::Later;
                }
                Ok(Reply::Done)
            }
            Verb::OfferEditor(services) => {
                self.offer_editor(outbox.peer, services);
                Ok(Reply::Done)
            }
            Verb::EditorReplied { editor_request, result } => self.editor_replied(outbox.peer, editor_request, result),
            Verb::Open(_)
            | Verb::Leave
            | Verb::Fork { .. }
            | Verb::Models
            | Verb::ModelsWithin { .. }
            | Verb::Tools
            | Verb::Delete(_)
            | Verb::Sessions(_)
            | Verb::Recall(_)
            | Verb::Accounts
            | Verb::SignIn { .. }
            | Verb::CancelSignIns
            | Verb::SetKey { .. }
            | Verb::Limits
            | Verb::Routes { .. }
            | Verb::Route { .. }
            | Verb::Forget
            | Verb::Skills
            | Verb::Picture { .. }
            | Verb::Prefer { .. }
            | Verb::Ask { .. }
            | Verb::Show(_)
            | Verb::HookDone { .. } => Err(Fault::new(FaultKind::Internal, "this command is not for a session")),
        };
        Response::Now(result)
    }

    fn offer_tools(&mut self, peer: PeerId, tools: Vec<vocab::HostTool>) -> Result<(), Fault> {
        self.tools.offer_host(&self.settings, peer, tools)?;
        self.tell_conflicts();
        Ok(())
    }
}
