//! What peers want from a session.

use std::sync::Arc;

use vocab::{
    Body, Change, Event, Fault, FaultKind, IdKind, Item, ItemEnd, ItemId, PeerId, QueueVerb, Reply, SettingEntry, Tag,
    Verb,
};

use super::jobs::Finish;
use super::{Mail, Session, Work};
use crate::commands;
use crate::images;
use crate::outbox::Outbox;

impl Session {
    pub(super) async fn mail(&mut self, mail: Mail) {
        let Some(mail) = self.keep_in_order(mail) else { return };
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
                self.ledger.join(outbox);
            }
            Mail::State(reply) => {
                // Whoever asks wants to know how full the context is; what cannot be read is told by the next prompt.
                if self.ledger.last_seq() > 0 {
                    let _ = self.load_at_rest().await;
                }
                let _ = reply.send(self.state());
            }
            Mail::Say { outbox, event } => self.ledger.reply(outbox, event),
            Mail::Extensions => self.meet_extensions(),
            Mail::Trouble(trouble) => self.tell_trouble(trouble),
            Mail::Deserted(reply) => {
                let _ = reply.send(self.is_deserted());
            }
            Mail::Busy(reply) => self.asked_busy.push(reply),
            Mail::Stop(stopped) => {
                self.stopping.push(stopped);
                let fault = Fault::new(FaultKind::ShuttingDown, "the session is being closed");
                self.refuse_jobs(&fault);
                self.refuse_next_compaction(fault);
                self.withdraw_dialogs(None);
                self.stop_shells(|_| true);
                self.interrupt_turn();
            }
            Mail::Verb { outbox, tag, verb } => {
                self.ledger.answering = Some((outbox.clone(), tag));
                self.verb(outbox, tag, verb).await;
                self.ledger.answering = None;
            }
        }
    }

    async fn verb(&mut self, outbox: Arc<Outbox>, tag: Tag, verb: Verb) {
        if let Some(result) = self.extension_verb(&outbox, tag, &verb) {
            // A question to people is answered by its answer.
            let Some(result) = result.transpose() else { return };
            return self.ledger.reply(outbox, Event::Reply { tag, result });
        }
        let result = match verb {
            // Such as one whose replay failed: it was told to come in again.
            _ if !self.is_here(outbox.peer) => {
                Err(Fault::new(FaultKind::UnknownSession, "you are not on this session any more").hint("open it again"))
            }
            Verb::Prompt { .. } | Verb::Compact { .. } | Verb::Shell { .. } if !self.stopping.is_empty() => {
                Err(Fault::new(FaultKind::ShuttingDown, "the session is being closed"))
            }
            Verb::Prompt { parts, delivery } => {
                // Accepted, refused or waiting: the lane's acts carry the reply.
                match self.prompt(&outbox, tag, parts, delivery).await {
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
                let was_running = self.interrupt_prompts() || self.lane.is_busy();
                let acts = self.lane.interrupt();
                self.act(acts);
                Ok(Reply::Interrupted { was_running })
            }
            Verb::AbortRetry => {
                if matches!(self.work, Work::Retry(_)) {
                    self.work = Work::Nothing;
                }
                self.with_turn(|turn, fx| {
                    turn.abort_retry(fx);
                });
                Ok(Reply::Done)
            }
            Verb::Slash { name, args } => match self.slash(&outbox, tag, &name, &args).await {
                // The name is echoed as it was given: `/permissions` is answered as `permissions`.
                Some(result) => Ok(Reply::Slash(Box::new(commands::reply(&name, result)))),
                None => return,
            },
            Verb::Queue(verb) => self.queue(verb).await,
            Verb::Set(change) => self.set(change).map(|()| Reply::Done),
            Verb::Compact { instructions, wait } => {
                let started = match wait {
                    true => self.compact_in_turn(&outbox, tag, instructions).await,
                    false => self.compact(&outbox, tag, instructions, false).await,
                };
                match started {
                    Ok(()) => return,
                    Err(fault) => Err(fault),
                }
            }
            Verb::OfferTools { tools } => self.offer_tools(outbox.peer, tools).map(|()| Reply::Done),
            Verb::Read { after } => return self.read(&outbox, tag, after),
            Verb::Inspect => self.inspect().await.map(|inspection| Reply::Inspected(Box::new(inspection))),
            Verb::Export { file } => match self.export_to(&outbox, tag, file) {
                Ok(()) => return,
                Err(fault) => Err(fault),
            },
            Verb::Command { name, args } => self.run_command(name, args),
            Verb::Shell { command, aside } => match self.shell(&outbox, tag, command, aside).await {
                Ok(()) => return,
                Err(fault) => Err(fault),
            },
            Verb::AbortShell => {
                self.stop_shells(|_| true);
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
        self.ledger.reply(outbox, Event::Reply { tag, result });
    }

    /// Pictures are made small enough beside everything else.
    async fn prompt(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        parts: Vec<vocab::Part>,
        delivery: vocab::Delivery,
    ) -> Result<(), Fault> {
        images::check(&parts)?;
        if parts.iter().any(|part| matches!(part, vocab::Part::Image(_))) {
            let fit = self.shared.ports.fit_image;
            let job = async move {
                match images::fitted(parts, fit).await {
                    Ok(parts) => Finish::Prompt { parts, delivery },
                    Err(fault) => Finish::Reply(Err(fault)),
                }
            };
            self.prompt_job(outbox, tag, delivery, Box::pin(job));
            return Ok(());
        }
        self.load_at_rest().await?;
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
        let acts = self.lane.offer(item, self.now_ms());
        self.act(acts);
    }

    async fn queue(&mut self, verb: QueueVerb) -> Result<Reply, Fault> {
        // What waits is what the log says.
        if self.ledger.last_seq() > 0 {
            self.load_at_rest().await?;
        }
        let taken = match verb {
            QueueVerb::List => return Ok(Reply::Queue(self.lane.list().cloned().collect())),
            QueueVerb::TakeBack(id) => vec![self.lane.take_back(&id)?],
            QueueVerb::Clear => self.lane.clear(),
            QueueVerb::ClearTurns => self.lane.clear_turns(),
        };
        for item in &taken {
            self.settle_item(item, ItemEnd::Cancelled);
        }
        if !taken.is_empty() {
            self.tell_queue();
        }
        Ok(Reply::Queue(taken))
    }

    pub(super) fn set(&mut self, change: Change) -> Result<(), Fault> {
        let before = self.stance();
        self.apply(change)?;
        if self.ledger.last_seq() > 0 {
            self.log_settings();
        }
        self.changed(before);
        self.tell_state();
        Ok(())
    }

    fn apply(&mut self, change: Change) -> Result<(), Fault> {
        match change {
            Change::Model(slug) => self.set_model(&slug)?,
            Change::Mode(mode) => {
                self.settings.mode = mode;
                self.spec = None;
            }
            Change::Thinking(level) => {
                self.settings.thinking = level.clone();
                self.spec = None;
                self.log_if_begun(Body::Setting(SettingEntry::Thinking { level }));
            }
            Change::Title(title) => {
                // It is shown in lists and in the frames of windows, as it is.
                let title = vocab::visible::name(&title).into();
                self.log(Body::Setting(SettingEntry::Title { title }));
            }
            Change::Locale(locale) => {
                self.settings.locale = locale;
                self.spec = None;
            }
            Change::Todos(phases) => self.set_todos(phases)?,
            Change::Lane(policy) => {
                // Whatever waits was read back or came in: what a dead process left behind is in order by now.
                self.settings.lane = policy;
                let acts = self.lane.set_policy(policy, self.now_ms());
                self.act(acts);
            }
            Change::Retry(policy) => self.settings.retry = policy,
            Change::Compaction(policy) => self.settings.compaction = policy,
            Change::Gadget { name, on } => self.set_gadget(&name, on)?,
        }
        Ok(())
    }

    fn log_if_begun(&mut self, body: Body) {
        if self.ledger.last_seq() > 0 {
            self.ledger.log(body);
        }
    }

    /// A running model call goes on; the next one uses the new model, with the history encoded anew.
    fn set_model(&mut self, slug: &str) -> Result<(), Fault> {
        let model = self.shared.ports.provider.resolve(slug)?;
        self.settings.model = model.slug.clone();
        self.fallen = None;
        self.speak_to(Arc::new(model));
        Ok(())
    }

    fn set_gadget(&mut self, name: &str, on: bool) -> Result<(), Fault> {
        let Some(gadget) = self.gadgets.iter().find(|gadget| &*gadget.name == name) else {
            return Err(Fault::new(FaultKind::NotFound, format!("unknown gadget: {name}")));
        };
        let name = gadget.name.clone();
        self.settings.gadgets_off.retain(|off| *off != name);
        if !on {
            self.settings.gadgets_off.push(name);
        }
        self.spec = None;
        let off = self.settings.gadgets_off.clone();
        self.log_if_begun(Body::Setting(SettingEntry::Gadgets { off }));
        Ok(())
    }

    /// Replaces what this peer offered before. Built-in names cannot be taken.
    fn offer_tools(&mut self, peer: PeerId, tools: Vec<vocab::HostTool>) -> Result<(), Fault> {
        for (at, tool) in tools.iter().enumerate() {
            let taken = self.offered_tools().any(|own| own.spec().name == tool.name)
                || self.host_tools.iter().any(|(owner, other)| *owner != peer && other.name == tool.name);
            if taken {
                let text = format!("tool \"{}\" conflicts with an existing tool", tool.name);
                return Err(Fault::new(FaultKind::Invalid, text));
            }
            if tools[..at].iter().any(|other| other.name == tool.name) {
                return Err(Fault::new(FaultKind::Invalid, format!("tool \"{}\" is offered twice", tool.name)));
            }
        }
        self.host_tools.retain(|(owner, _)| *owner != peer);
        self.host_tools.extend(tools.into_iter().map(|tool| (peer, tool)));
        self.spec = None;
        self.tell_conflicts();
        Ok(())
    }
}
