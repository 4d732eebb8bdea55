//! How a session ends: by itself, because its lease is gone, or because something in it broke. Nothing runs afterwards,
//! every peer that was here is told, and every peer that waited for an answer has one.

use vocab::{Event, Fault, FaultKind, Told};

use super::{Mail, Session, guarded};

impl Session {
    /// Nothing runs and nothing is unwritten.
    pub(super) fn can_end(&self) -> bool {
        self.activity.is_idle()
            && self.activity.next.is_none()
            && self.shells.running.is_empty()
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
    }

    /// No peer is here, nothing waits, and no router can find the session in the registry any more.
    pub(super) fn retire(&mut self) -> bool {
        self.is_deserted() && self.close_if_unheard()
    }

    /// Under the registry's lock, so that no router finds the session between the look and the closing.
    fn close_if_unheard(&mut self) -> bool {
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
            outbox.push(Told { session: self.id.clone(), event: Event::Reply { tag, result } });
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
        for outbox in self.log.peers.all() {
            outbox.push(Told { session: self.id.clone(), event: Event::Gone { fault: fault.clone() } });
        }
    }

    /// A peer that wrote to a session that ends is told so. One who wanted to join comes again: the router sees to it.
    pub(super) fn refuse_the_rest(&mut self) {
        self.refuse_jobs(&Fault::new(FaultKind::ShuttingDown, "the session is being closed"));
        self.mailbox.close();
        while let Ok(mail) = self.mailbox.try_recv() {
            match mail {
                Mail::Verb { outbox, tag, .. } => {
                    let fault = Fault::new(FaultKind::ShuttingDown, "the session is being closed");
                    outbox.push(Told { session: self.id.clone(), event: Event::Reply { tag, result: Err(fault) } });
                }
                Mail::Say { outbox, event } => outbox.push(Told { session: self.id.clone(), event }),
                Mail::Stop(stopped) => self.activity.end(stopped),
                Mail::Trouble(trouble) => self.shared.extensions.keep_unheard(trouble),
                Mail::Join { .. }
                | Mail::Leave { .. }
                | Mail::Rebind { .. }
                | Mail::State(_)
                | Mail::TakeUp
                | Mail::Extensions
                | Mail::Deserted(_)
                | Mail::Busy(_) => {}
            }
        }
    }
}
