//! What peers want from a session.

use std::sync::Arc;

use vocab::{Event, Fault, FaultKind, IdKind, Item, ItemEnd, ItemId, PeerId, QueueVerb, Reply, Tag, Verb};

use super::jobs::{Awaited, Need};
use super::{Mail, Session, Waiting, later};
use crate::commands;
use crate::images;
use crate::outbox::Outbox;

impl Session {
    pub(super) fn mail(&mut self, mail: Mail) {
        if let Some(mail) = self.keep_in_order(mail) {
            self.take_mail(mail);
        }
    }

    /// Mail that nothing stands before.
    pub(super) fn take_mail(&mut self, mail: Mail) {
        match mail {
            Mail::Join { outbox, tag, after, resumed, answers, servers, controller, joined } => {
                let peer = outbox.peer;
                let is_on = self.join(outbox, tag, after, resumed);
                if is_on {
                    self.can_answer(peer, answers);
                    self.controllers.extend(controller.map(|name| (peer, name)));
                    self.start_servers(peer, servers);
                }
                let _ = joined.send(is_on);
            }
            Mail::Leave { peer } => self.leave(peer),
            Mail::Rebind { outbox, aside } => {
                aside.pour_into(&outbox);
                self.log.join(outbox);
            }
            Mail::State(reply) => {
                // Whoever asks wants to know how full the context is; what cannot be read is told by the next prompt.
                if self.log.last_seq() > 0 && matches!(self.view_at_rest(), Ok(false)) {
                    return self.await_need(Need::View, Awaited::Mail(Mail::State(reply)));
                }
                let _ = reply.send(self.state());
            }
            Mail::Say { outbox, event } => self.log.reply(outbox, event),
            Mail::Extensions => self.meet_extensions(),
            Mail::Trouble(trouble) => self.tell_trouble(trouble),
            Mail::Deserted(reply) => {
                let _ = reply.send(self.is_deserted());
            }
            Mail::Busy(reply) => self.asked_busy.push(reply),
            Mail::Stop(stopped) => {
                self.activity.end(stopped);
                let fault = Fault::new(FaultKind::ShuttingDown, "the session is being closed");
                self.refuse_jobs(&fault);
                self.refuse_next_compaction(fault);
                self.withdraw_dialogs(None);
                self.stop_shells(|_| true);
                self.interrupt_turn();
            }
            Mail::Verb { outbox, tag, verb } => {
                self.log.answering = Some((outbox.clone(), tag));
                self.verb(outbox, tag, verb);
                self.log.answering = None;
            }
        }
    }

    fn verb(&mut self, outbox: Arc<Outbox>, tag: Tag, verb: Verb) {
        if let Some(result) = self.extension_verb(&outbox, tag, &verb) {
            // A question to people is answered by its answer.
            let Some(result) = result.transpose() else { return };
            return self.log.reply(outbox, Event::Reply { tag, result });
        }
        if let Some(need) = self.unmet(&outbox, &verb) {
            return self.wait_for(need, outbox, tag, verb);
        }
        let result = match verb {
            // Such as one whose replay failed: it was told to come in again.
            _ if !self.is_here(outbox.peer) => {
                Err(Fault::new(FaultKind::UnknownSession, "you are not on this session any more").hint("open it again"))
            }
            Verb::Prompt { .. } | Verb::Compact { .. } | Verb::Shell { .. } if self.activity.is_ending() => {
                Err(Fault::new(FaultKind::ShuttingDown, "the session is being closed"))
            }
            Verb::Prompt { parts, delivery } => {
                // Accepted, refused or waiting: the lane's acts carry the reply.
                match self.prompt(&outbox, tag, parts, delivery) {
                    Ok(()) => return,
                    Err(fault) => Err(fault),
                }
            }
            Verb::Answer { ask, answer } => self.answer(&ask, answer, Some(outbox.peer)).map(|()| Reply::Done),
            Verb::Progress { ask, parts } => self.host_progress(&ask, parts).map(|()| Reply::Done),
            Verb::Interrupt { turn: Some(turn) } if self.current_turn() != Some(turn.clone()) => {
                Ok(Reply::Interrupted { was_running: false })
            }
            Verb::Interrupt { .. } => {
                let was_running = self.interrupt_prompts() || self.queue.is_busy();
                let acts = self.queue.interrupt();
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
            Verb::Slash { name, args } => match self.slash(&outbox, tag, &name, &args) {
                // The name is echoed as it was given: `/permissions` is answered as `permissions`.
                Some(result) => Ok(Reply::Slash(Box::new(commands::reply(&name, result)))),
                None => return,
            },
            Verb::Queue(verb) => self.queue(verb),
            Verb::Set(change) => self.set(change).map(|()| Reply::Done),
            Verb::Compact { instructions, wait } => {
                let started = match wait {
                    true => self.compact_in_turn(&outbox, tag, instructions),
                    false => self.compact(&outbox, tag, instructions, false),
                };
                match started {
                    Ok(()) => return,
                    Err(fault) => Err(fault),
                }
            }
            Verb::OfferTools { tools } => self.offer_tools(outbox.peer, tools).map(|()| Reply::Done),
            Verb::Read { after } => return self.read(&outbox, tag, after),
            Verb::Inspect => self.inspect().map(|inspection| Reply::Inspected(Box::new(inspection))),
            Verb::Export { file } => match self.export_to(&outbox, tag, file) {
                Ok(()) => return,
                Err(fault) => Err(fault),
            },
            Verb::Command { name, args } => self.run_command(name, args),
            Verb::Shell { command, aside } => match self.shell(&outbox, tag, command, aside) {
                Ok(()) => return,
                Err(fault) => Err(fault),
            },
            Verb::AbortShell => {
                self.stop_shells(|_| true);
                if self.jobs.is_shell_awaiting() {
                    // It is stopped when it begins.
                    let mail = Mail::Verb { outbox, tag, verb: Verb::AbortShell };
                    return self.await_need(Need::View, Awaited::Mail(mail));
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
        self.log.reply(outbox, Event::Reply { tag, result });
    }

    /// Pictures are made small enough beside everything else.
    fn prompt(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        parts: Vec<vocab::Part>,
        delivery: vocab::Delivery,
    ) -> Result<(), Fault> {
        images::check(&parts)?;
        if parts.iter().any(|part| matches!(part, vocab::Part::Image(_))) {
            let fit = self.shared.ports.fit_image;
            self.prompt_job(outbox, tag, delivery, later::fitted_prompt(parts, delivery, fit));
            return Ok(());
        }
        self.view_at_rest()?;
        self.offer(outbox.peer, tag, parts, delivery);
        Ok(())
    }

    pub(super) fn offer(&mut self, peer: PeerId, tag: Tag, parts: Vec<vocab::Part>, delivery: vocab::Delivery) {
        let item = Item {
            id: ItemId::from(self.shared.ports.ids.mint(IdKind::Item)),
            parts,
            delivery,
            at_ms: self.shared.ports.clock.now_ms(),
            sender: Some((peer, tag)),
        };
        let acts = self.queue.offer(item, self.now_ms());
        self.act(acts);
    }

    fn queue(&mut self, verb: QueueVerb) -> Result<Reply, Fault> {
        // What waits is what the log says.
        if self.log.last_seq() > 0 {
            self.view_at_rest()?;
        }
        let taken = match verb {
            QueueVerb::List => return Ok(Reply::Queue(self.queue.list().cloned().collect())),
            QueueVerb::TakeBack(id) => vec![self.queue.take_back(&id)?],
            QueueVerb::Clear => self.queue.clear(),
            QueueVerb::ClearTurns => self.queue.clear_turns(),
        };
        for item in &taken {
            self.settle_item(item, ItemEnd::Cancelled);
        }
        if !taken.is_empty() {
            self.tell_queue();
        }
        Ok(Reply::Queue(taken))
    }

    fn offer_tools(&mut self, peer: PeerId, tools: Vec<vocab::HostTool>) -> Result<(), Fault> {
        self.tools.offer_host(&self.settings, peer, tools)?;
        self.tell_conflicts();
        Ok(())
    }
}
