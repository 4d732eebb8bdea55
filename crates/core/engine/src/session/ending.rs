//! How a session ends: by itself, because its lease is gone, or because something in it broke. Nothing runs afterwards,
//! every peer that was here is told, and every peer that waited for an answer has one.

use std::task::{Context, Poll, ready};

use vocab::{CutBy, Event, Fault, FaultKind, ItemEnd, OnRestart, Principal, SettleReason, WaitingOnRestart};

use super::turn::SafePoint;
use super::{Mail, Session, guarded};

impl Session {
    /// Nothing runs and nothing is unwritten.
    pub(super) fn can_end(&self) -> bool {
        self.activity.is_idle()
            && self.activity.next.is_none()
            && self.shells.running.is_empty()
            && self.asides.running.is_empty()
            && self.log.is_settled()
    }

    /// No peer is here, nothing runs and nothing waits.
    pub(super) fn is_deserted(&self) -> bool {
        self.log.peers.was_joined
            && self.log.peers.is_empty()
            && self.prompts.queue.due().is_none()
            && !self.recovery.is_pending()
            && !self.jobs.is_awaited()
            && self.activity.next.is_none()
            && self.activity.is_idle()
            && self.shells.running.is_empty()
            && self.asides.running.is_empty()
    }

    /// The session is to end: what has not begun yet does not begin any more.
    pub(super) fn give_up_what_waits(&mut self) {
        let fault = self.closing();
        self.refuse_jobs(&fault);
        match self.activity.is_compaction_next() {
            true => self.give_up_next_compaction(fault),
            false => self.refuse_next_compaction(fault),
        }
        self.withdraw_dialogs(None);
    }

    /// A turn stands at a point where it could take in messages. Whether it was dealt with: a session that is to end takes in
    /// none. With the results of its calls in the log the turn stops; the model is not asked again.
    pub(super) fn stops_at(&mut self, point: SafePoint) -> bool {
        if !self.activity.is_draining() {
            return false;
        }
        match point {
            SafePoint::AfterCalls => self.suspend_turn(),
            SafePoint::Start | SafePoint::BetweenCalls | SafePoint::EndOfReply => {
                self.with_turn(|turn, fx| turn.joined(false, fx));
            }
        }
        true
    }

    /// Under the registry's lock, so that no router finds the session between the look and the closing.
    pub(super) fn close_if_unheard(&mut self) -> bool {
        let shared = self.shared.clone();
        shared.registry.alone(|| {
            let free = self.mailbox.is_empty();
            if free {
                self.mailbox.close();
            }
            free
        })
    }

    /// A panic of our own: what was told and not finished is lost, and the log is as far as it was written.
    pub(super) fn break_off(&mut self, text: &str) {
        let fault = Fault::new(FaultKind::Internal, format!("the session failed: {text}")).hint("open it again");
        // Whatever is left of us may break once more; that every peer learns of the end must not depend on it.
        let unanswered = self.log.commands.take_answering();
        let _ = guarded(|| self.roll_back(&fault));
        if let Some((outbox, tag)) = unanswered {
            let result = Err(fault.clone());
            self.log.peers.tell_one(&outbox, Event::Reply { tag, result });
        }
        self.cast_off(fault);
    }

    /// Nothing more is done here. Peers that are here have to come in again.
    pub(super) fn cast_off(&mut self, fault: Fault) {
        if std::mem::replace(&mut self.activity.is_over, true) {
            return;
        }
        self.drop_editor_requests();
        self.drop_shells(&fault);
        self.drop_asides(&fault);
        self.log.peers.answer_all(&fault);
        let all: Vec<_> = self.log.peers.all().cloned().collect();
        for outbox in all {
            self.log.peers.tell_one(&outbox, Event::Gone { fault: fault.clone() });
        }
    }

    /// The session is to be deleted: what runs in it is cut, and what waits is settled.
    pub(super) fn remove(&mut self, by: Option<Principal>) {
        self.activity.drain();
        self.activity.is_removed = true;
        self.log.commands.act_for(by.clone());
        self.give_up_what_waits();
        let waiting = self.prompts.queue.clear();
        for item in &waiting {
            self.settle_item(item, ItemEnd::Cancelled, SettleReason::Deleted, None);
        }
        if !waiting.is_empty() {
            self.tell_queue();
        }
        self.stop_shells(|_| true);
        self.stop_asides(|_| true);
        self.activity.cut(CutBy::Deleted, by.as_ref());
        self.interrupt_turn();
        self.log.commands.act_for(None);
    }

    /// Why nothing is begun here any more.
    pub(super) fn closing(&self) -> Fault {
        let closed = || Fault::new(FaultKind::ShuttingDown, "the session is being closed");
        match self.activity.is_removed {
            true => Fault::new(FaultKind::UnknownSession, "the session is being deleted"),
            false if self.shared.registry.is_closing() => closed(),
            // Its call has ended, or is about to.
            false => self.working_for().unwrap_or_else(closed),
        }
    }

    /// The session was made to end under its peers: that is the last they hear of it.
    pub(super) fn tell_gone(&mut self) {
        if !self.activity.is_over && self.activity.is_ending() {
            self.cast_off(match self.activity.is_removed {
                true => Fault::new(FaultKind::UnknownSession, "the session is deleted"),
                false if self.shared.registry.is_closing() => self.end_of_process(),
                false => Fault::new(FaultKind::ShuttingDown, "the session is closed").hint("open it again later"),
            });
        }
    }

    /// Nothing is wrong with the session: everything ends, and this one is there again with the next process.
    fn end_of_process(&self) -> Fault {
        match (self.settings.on_restart, self.settings.conduct.waiting_on_restart) {
            (OnRestart::Continue, WaitingOnRestart::GoesOn) => Fault::suspended(),
            (OnRestart::Continue, WaitingOnRestart::Dropped) => Fault::suspended_without_waiting(),
            (OnRestart::Close, _) => {
                let text = "the process that holds this session is ending";
                Fault::new(FaultKind::ShuttingDown, text).hint("open the session again later")
            }
        }
    }

    /// No mail is taken any more.
    pub(super) fn close(&mut self) {
        let fault = self.closing();
        self.refuse_jobs(&fault);
        self.mailbox.close();
        self.log.peers.answer_all(&fault);
    }

    /// A peer that wrote to a session that ends is told so. One who wanted to join comes again: the router sees to it.
    /// Ready when nobody on another thread is still putting something in.
    pub(super) fn poll_refuse_the_rest(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Some(mail) = ready!(self.mailbox.poll_recv(context)) {
            match mail {
                Mail::Verb { outbox, tag, .. } => {
                    let result = Err(self.closing());
                    self.log.peers.tell_one(&outbox, Event::Reply { tag, result });
                }
                Mail::Say { outbox, event } => self.log.peers.tell_one(&outbox, event),
                Mail::Stop(stopped) => self.activity.end(stopped),
                Mail::Trouble(trouble) => self.shared.extensions.keep_unheard(trouble),
                Mail::Join { .. }
                | Mail::Leave { .. }
                | Mail::Rebind { .. }
                | Mail::State(_)
                | Mail::Glance
                | Mail::TakeUp(_)
                | Mail::Extensions
                | Mail::UsualLane { .. }
                | Mail::Deserted(_)
                | Mail::Drain
                | Mail::Remove { .. }
                | Mail::Busy(_) => {}
            }
        }
        Poll::Ready(())
    }
}
