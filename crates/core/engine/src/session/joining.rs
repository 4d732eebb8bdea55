//! Peers that come and go. A peer that asks for the past reads it from the store page by page, as fast as it takes
//! it, and joins the live flow exactly where the pages end.

use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::{Answer, Event, Fault, FaultKind, Opened, PeerId, Reply, Tag};

use super::Session;
use super::peers::{CaughtUp, PAGE_ENTRIES};
use crate::outbox::Outbox;

/// What the model is told when the last controller leaves an open question behind.
pub(super) const DISCONNECTED: &str = "controller disconnected before responding";

impl Session {
    /// Whether the peer is on this session now.
    pub(super) fn join(&mut self, outbox: Arc<Outbox>, tag: Tag, after: Option<u64>, resumed: bool) -> bool {
        self.log.peers.was_joined = true;
        // What is not committed was told to no peer: it comes live.
        let last = self.log.committed();
        if let Some(seq) = after.filter(|seq| *seq > last) {
            let fault = Fault::new(FaultKind::Invalid, format!("seq {seq} is in the future; the last one is {last}"));
            self.log.peers.tell_one(&outbox, Event::Reply { tag, result: Err(fault) });
            return self.log.peers.is_here(outbox.peer);
        }
        let opened = Opened {
            session: self.id.clone(),
            resumed,
            state: self.told_state(),
            tools: self.tools.offered(&self.settings).map(|tool| tool.spec().name.clone()).collect(),
            notices: self.notices(),
        };
        self.log.peers.tell_one(&outbox, Event::Reply { tag, result: Ok(Reply::Opened(Box::new(opened))) });
        // A peer that comes in again starts over; it must not be told everything twice.
        self.log.peers.mute(outbox.peer);
        self.forget_editor_requests(outbox.peer);
        self.introduce(&outbox);
        match after {
            Some(after) => self.log.peers.catch_up(outbox, after),
            None => self.go_live(outbox, true),
        }
        self.log_repair();
        true
    }

    /// What every peer is told is about the model that sessions start with; one that has another says so instead.
    fn notices(&self) -> Vec<String> {
        match self.settings.model == self.shared.defaults.model {
            true => self.shared.notices.clone(),
            false => vec![format!("model {}: this session's own", self.settings.model)],
        }
    }

    /// From here on the peer gets everything. It is given what it cannot have seen: the running text so far, and,
    /// without a replay, the open questions.
    fn go_live(&mut self, outbox: Arc<Outbox>, show_asks: bool) {
        if show_asks {
            // The others wait behind their commit and come live.
            for ask in self.approvals.open().filter(|ask| self.log.told(ask.entry.seq) && !ask.is_left()) {
                self.log.peers.tell_one(&outbox, Event::Logged(ask.entry.clone()));
            }
        }
        for event in self.flow_so_far() {
            self.log.peers.tell_one(&outbox, event);
        }
        self.log.peers.go_live(outbox);
    }

    /// What was told of the reply that the model is giving. Deltas that wait behind a commit will reach a new peer, too.
    fn flow_so_far(&self) -> Vec<Event> {
        match self.activity.turn() {
            Some(turn) if self.log.told_turn() == Some(turn.id()) => turn.told(&self.log.held_flow()),
            _ => Vec::new(),
        }
    }

    /// Ready when a peer got further.
    pub(super) fn poll_catching_up(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let committed = self.log.committed();
        let (store, session) = (&self.shared.ports.store, &self.id);
        let read = |after| store.read(session, after, PAGE_ENTRIES);
        let steps = std::task::ready!(self.log.peers.poll_catching_up(committed, read, context));
        for step in steps {
            match step {
                CaughtUp::Further => {}
                CaughtUp::Whole(outbox, seq) => {
                    self.log.peers.tell_one(&outbox, Event::Live { seq });
                    self.go_live(outbox, false);
                }
                CaughtUp::Lost(outbox, fault) => {
                    self.log.peers.tell_one(&outbox, Event::Gone { fault });
                    self.leave(outbox.peer);
                }
            }
        }
        Poll::Ready(())
    }

    pub(super) fn leave(&mut self, peer: PeerId) {
        self.log.peers.leave(peer);
        // No peer is left that could end it or read what comes of it.
        self.stop_shells(|owner| owner == peer);
        self.leave_jobs(peer);
        self.log.commands.leave(peer);
        self.approvals.set_mute(peer, false);
        self.editor_left(peer);
        self.tools.drop_host(peer);
        // A call is for whoever brought its tool.
        if self.settings.keeps_asks() {
            return self.approvals.leave(peer);
        }
        // A question that no peer can answer any more is a no, never a wait for ever and never a yes.
        let nobody = self.is_unanswerable();
        let orphaned = self.approvals.owned(|owner| owner.map_or(nobody, |owner| owner == peer));
        for ask in orphaned {
            let _ = self.answer(&ask, Answer::Deny(Some(DISCONNECTED.into())), None);
        }
    }
}
