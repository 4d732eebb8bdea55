//! What peers want from a session.

use std::sync::Arc;

use vocab::{CutBy, Fault, FaultKind, PeerId, Reply, SessionVerb, Tag, TurnId};

use super::jobs::{Awaited, Need};
use super::turn::Effect;
use super::{Mail, Session, TurnWaits};
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
    pub(super) fn verb(&mut self, outbox: &Arc<Outbox>, tag: Tag, verb: SessionVerb) -> Response {
        if let Some(response) = self.answered_beforehand(outbox, tag, &verb) {
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
            SessionVerb::Prompt { .. }
            | SessionVerb::Compact { .. }
            | SessionVerb::Shell { .. }
            | SessionVerb::Call { .. }
                if self.activity.is_ending() =>
            {
                Err(self.closing())
            }
            // Accepted, refused or waiting: the queue's acts carry the reply.
            SessionVerb::Prompt { parts, delivery } => {
                return Response::begun(self.prompt(outbox, tag, parts, delivery));
            }
            SessionVerb::Answer { ask, answer } => self.answer(&ask, answer, Some(outbox.peer)).map(|()| Reply::Done),
            SessionVerb::Progress { ask, parts } => self.host_progress(&ask, parts).map(|()| Reply::Done),
            SessionVerb::Interrupt { turn } => Ok(Reply::Interrupted { was_running: self.interrupt(turn.as_ref()) }),
            SessionVerb::InterruptIfAlone => {
                let is_alone = self.log.peers.all().all(|other| other.peer == outbox.peer);
                Ok(Reply::Interrupted { was_running: is_alone && self.interrupt(None) })
            }
            SessionVerb::InterruptUnlessWanted { turn } => {
                Ok(Reply::Interrupted { was_running: self.interrupt_unless_wanted(outbox.peer, &turn) })
            }
            SessionVerb::AbortRetry => {
                self.abort_retry();
                Ok(Reply::Done)
            }
            SessionVerb::Slash { name, args } => match self.slash(outbox, tag, &name, &args) {
                // The name is echoed as it was given: `/permissions` is answered as `permissions`.
                Some(result) => Ok(Reply::Slash(Box::new(commands::reply(&name, result)))),
                None => return Response::Later,
            },
            SessionVerb::Queue(verb) => self.queue_verb(outbox.peer, verb),
            SessionVerb::Set(change) => self.set(change).map(|()| Reply::Done),
            SessionVerb::SetAll(changes) => self.set_all(changes).map(|()| Reply::Done),
            SessionVerb::Compact { instructions, wait } => {
                return Response::begun(match wait {
                    true => self.compact_in_turn(outbox, tag, instructions),
                    false => self.compact(outbox, tag, instructions, false),
                });
            }
            SessionVerb::Able(abilities) => self.able(outbox.peer, abilities).map(|()| Reply::Done),
            SessionVerb::OfferTools { tools } => self.offer_tools(outbox.peer, tools).map(|()| Reply::Done),
            SessionVerb::Read { after } => {
                self.read(outbox, tag, after);
                return Response::Later;
            }
            SessionVerb::Inspect => self.inspect().map(|inspection| Reply::Inspected(Box::new(inspection))),
            SessionVerb::Export { file } => return Response::begun(self.export_to(outbox, tag, file)),
            SessionVerb::Command { name, args } => self.run_command(name, args),
            SessionVerb::Shell { command, aside } => {
                return Response::begun(self.shell(outbox, tag, command, aside));
            }
            SessionVerb::AbortShell => return self.abort_shells(outbox, tag),
            SessionVerb::OfferEditor(services) => {
                self.offer_editor(outbox.peer, services);
                Ok(Reply::Done)
            }
            SessionVerb::EditorReplied { editor_request, result } => {
                let result = self.editor_replied(outbox.peer, editor_request, result);
                self.log.reply_at_once(outbox, tag, result);
                return Response::Later;
            }
            SessionVerb::Call { tool, input, limit_ms } => {
                return Response::begun(self.call_by_hand(outbox, tag, (tool, input), limit_ms));
            }
            SessionVerb::AbortCall { of } => self.abort_call(outbox.peer, of),
            SessionVerb::Recount { of } => {
                self.recount(outbox, tag, of);
                return Response::Later;
            }
            SessionVerb::StartOver => return Response::begun(self.start_over(outbox, tag)),
            SessionVerb::Extension(_) => Err(Fault::new(FaultKind::Unsupported, "only an extension does that")),
        };
        Response::Now(result)
    }

    /// What an extension answers for, and what a session that works for another one does not do.
    fn answered_beforehand(&mut self, outbox: &Arc<Outbox>, tag: Tag, verb: &SessionVerb) -> Option<Response> {
        let is_extensions = matches!(verb, SessionVerb::Extension(_)) || self.tools.has_extensions();
        let answered = if is_extensions { self.extension_verb(outbox, tag, verb) } else { None };
        match self.subagents.child_of.is_some() {
            true => answered.or_else(|| self.refuse_beside_task(outbox.peer, verb)),
            false => answered,
        }
    }

    /// This peer wants the turn no more: it ends, unless others whose messages began it are here and have not said the same.
    fn interrupt_unless_wanted(&mut self, peer: PeerId, turn: &TurnId) -> bool {
        if self.current_turn().as_ref() != Some(turn) {
            return false;
        }
        self.prompts.turn_from.retain(|from| *from != peer);
        let is_wanted = self.prompts.turn_from.iter().any(|from| self.log.peers.is_here(*from));
        !is_wanted && self.interrupt(Some(turn))
    }

    /// Whether something ran that the interrupt meant: this turn, or whatever runs or is about to.
    pub(super) fn interrupt(&mut self, turn: Option<&TurnId>) -> bool {
        if self.was_stopped_unread() {
            return true;
        }
        if turn.is_some() && self.current_turn().as_ref() != turn {
            return false;
        }
        let was_running = self.interrupt_prompts() || self.prompts.queue.is_busy();
        self.activity.cut(CutBy::Asked, self.log.commands.acting());
        let acts = self.prompts.queue.interrupt();
        self.act(acts);
        if was_running {
            // Whoever stops the work wants to know that it has stopped, also where the end of it cannot be written now.
            self.shared.ports.store.hasten();
        }
        was_running
    }

    /// The turn fails with what it was about to try again.
    fn abort_retry(&mut self) {
        let is_retry =
            |waits: &TurnWaits| matches!(waits, TurnWaits::Retry(_) | TurnWaits::Place { then: Effect::TryAgain, .. });
        self.activity.stop_waiting_if(is_retry);
        self.with_turn(|turn, fx| {
            turn.abort_retry(fx);
        });
    }

    fn abort_shells(&mut self, outbox: &Arc<Outbox>, tag: Tag) -> Response {
        self.stop_shells(|_| true);
        if !self.jobs.is_shell_awaiting() {
            return Response::Now(Ok(Reply::Done));
        }
        // One that waits to begin is stopped when it does.
        let mail = Mail::Verb { outbox: outbox.clone(), tag, verb: SessionVerb::AbortShell, provenance: None };
        self.await_need(Need::View, Awaited::Mail(mail));
        Response::Later
    }

    pub(super) fn offer_tools(&mut self, peer: PeerId, tools: Vec<vocab::HostTool>) -> Result<(), Fault> {
        self.tools.offer_host(&self.settings, peer, tools)?;
        self.hand_over_calls(peer);
        self.tell_conflicts();
        Ok(())
    }
}
