//! Peers coming and going. A peer that asks for the past reads it from the store page by page, as fast as it takes
//! it, and joins the live flow exactly where the pages end.

use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::{Answer, Event, Fault, FaultKind, Later, Opened, Page, PeerId, Reply, Tag, Told};

use super::Session;
use crate::outbox::Outbox;

/// Entries read at once for a peer that catches up.
const PAGE_ENTRIES: usize = 256;
/// What the model is told when the last controller leaves an open question behind.
pub(super) const DISCONNECTED: &str = "controller disconnected before responding";

/// A peer that is still reading the past.
pub(super) struct Catcher {
    pub(super) outbox: Arc<Outbox>,
    after: u64,
    page: Option<Later<'static, Result<Page, Fault>>>,
}

impl Session {
    /// Whether the peer is on this session now.
    pub(super) fn join(&mut self, outbox: Arc<Outbox>, tag: Tag, after: Option<u64>, resumed: bool) -> bool {
        self.was_joined = true;
        // What is not committed was told to nobody: it comes live.
        let last = self.log.committed();
        if let Some(seq) = after.filter(|seq| *seq > last) {
            let fault = Fault::new(FaultKind::Invalid, format!("seq {seq} is in the future; the last one is {last}"));
            self.push(&outbox, Event::Reply { tag, result: Err(fault) });
            return self.is_here(outbox.peer);
        }
        let opened = Opened {
            session: self.id.clone(),
            resumed,
            state: self.told_state(),
            tools: self.tools.offered(&self.settings).map(|tool| tool.spec().name.clone()).collect(),
            notices: self.notices(),
        };
        self.push(&outbox, Event::Reply { tag, result: Ok(Reply::Opened(Box::new(opened))) });
        // A peer that comes in again starts over; it must not be told everything twice.
        self.log.leave(outbox.peer);
        self.catchers.retain(|catcher| catcher.outbox.peer != outbox.peer);
        self.forget_editor_requests(outbox.peer);
        self.introduce(&outbox);
        match after {
            Some(after) => self.catchers.push(Catcher { outbox, after, page: None }),
            None => self.go_live(outbox, true),
        }
        self.log_repair();
        true
    }

    /// What everybody is told is about the model that sessions start with; one that has another says so instead.
    fn notices(&self) -> Vec<String> {
        match self.settings.model == self.shared.defaults.model {
            true => self.shared.notices.clone(),
            false => vec![format!("model {}: this session's own", self.settings.model)],
        }
    }

    pub(super) fn is_here(&self, peer: PeerId) -> bool {
        self.outbox_of(peer).is_some()
    }

    /// The way to a peer that is on this session, also while it still reads the past.
    pub(super) fn outbox_of(&self, peer: PeerId) -> Option<&Arc<Outbox>> {
        let catching = self.catchers.iter().map(|catcher| &catcher.outbox);
        self.log.peers().iter().chain(catching).chain(self.log.beside()).find(|outbox| outbox.peer == peer)
    }

    /// From here on the peer gets everything. It is given what it cannot have seen: the running text so far, and,
    /// without a replay, the open questions.
    fn go_live(&mut self, outbox: Arc<Outbox>, show_asks: bool) {
        if show_asks {
            // The others wait behind their commit and come live.
            for ask in self.asks.values().filter(|ask| self.log.told(ask.entry.seq)) {
                self.push(&outbox, Event::Logged(ask.entry.clone()));
            }
        }
        for event in self.flow_so_far() {
            self.push(&outbox, event);
        }
        self.log.join(outbox);
    }

    /// What was told of the reply that the model is giving. Deltas that wait behind a commit will reach a new peer, too.
    fn flow_so_far(&self) -> Vec<Event> {
        match self.activity.turn() {
            Some(turn) if self.log.told_turn() == Some(turn.id()) => turn.told(&self.log.held_flow()),
            _ => Vec::new(),
        }
    }

    /// What a peer said about itself when it came.
    pub(super) fn can_answer(&mut self, peer: PeerId, answers: bool) {
        match answers {
            true => self.mute.remove(&peer),
            false => self.mute.insert(peer),
        };
    }

    /// Whether a question would wait for ever.
    pub(super) fn nobody_answers(&self) -> bool {
        let catching = self.catchers.iter().map(|catcher| &catcher.outbox);
        self.log.peers().iter().chain(catching).all(|outbox| self.mute.contains(&outbox.peer))
    }

    fn push(&self, outbox: &Outbox, event: Event) {
        outbox.push(Told { session: self.id.clone(), event });
    }

    /// Ready when a peer got further.
    pub(super) fn poll_catchers(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut progress = Poll::Pending;
        let mut index = 0;
        while index < self.catchers.len() {
            if !self.catchers[index].outbox.is_open() {
                self.catchers.swap_remove(index);
                continue;
            }
            if self.catchers[index].after >= self.log.committed() {
                let catcher = self.catchers.swap_remove(index);
                self.push(&catcher.outbox, Event::Live { seq: catcher.after });
                self.go_live(catcher.outbox, false);
                progress = Poll::Ready(());
                continue;
            }
            if self.poll_page(index, context).is_ready() {
                progress = Poll::Ready(());
            }
            index += 1;
        }
        progress
    }

    fn poll_page(&mut self, index: usize, context: &mut Context<'_>) -> Poll<()> {
        let committed = self.log.committed();
        let (store, session) = (self.shared.ports.store.clone(), self.id.clone());
        let catcher = &mut self.catchers[index];
        if catcher.outbox.poll_room(context).is_pending() {
            return Poll::Pending;
        }
        let page = catcher.page.get_or_insert_with(|| store.read(&session, catcher.after, PAGE_ENTRIES));
        let Poll::Ready(result) = page.as_mut().poll(context) else { return Poll::Pending };
        catcher.page = None;
        match result {
            // The next page would be empty, too.
            Ok(page) if page.entries.is_empty() => {
                let text = format!("the log ends at entry {}, before entry {committed}", catcher.after);
                let mut fault = Fault::new(FaultKind::Store, page.recovered.unwrap_or(text));
                fault = fault.hint("close the session everywhere and open it again");
                let catcher = self.catchers.swap_remove(index);
                self.push(&catcher.outbox, Event::Gone { fault });
                self.leave(catcher.outbox.peer);
            }
            Ok(page) => {
                // What the store has beyond `committed` will come live.
                for entry in page.entries.into_iter().filter(|entry| entry.seq <= committed) {
                    catcher.after = entry.seq;
                    catcher.outbox.push(Told { session: session.clone(), event: Event::Logged(entry) });
                }
            }
            Err(fault) => {
                let catcher = self.catchers.swap_remove(index);
                self.push(&catcher.outbox, Event::Gone { fault });
                self.leave(catcher.outbox.peer);
            }
        }
        Poll::Ready(())
    }

    pub(super) fn leave(&mut self, peer: PeerId) {
        self.log.leave(peer);
        self.controllers.remove(&peer);
        self.catchers.retain(|catcher| catcher.outbox.peer != peer);
        // Nobody is left who could end it or read what comes of it.
        self.stop_shells(|owner| owner == peer);
        self.leave_jobs(peer);
        self.mute.remove(&peer);
        self.server_left(peer);
        self.tools.drop_host(peer);
        // A question that nobody can answer any more is a no, never a wait for ever and never a yes. A call is for whoever
        // brought its tool.
        let nobody = self.nobody_answers();
        let is_orphan = |owner: Option<PeerId>| owner.map_or(nobody, |owner| owner == peer);
        let orphaned: Vec<_> =
            self.asks.iter().filter(|(_, ask)| is_orphan(ask.owner)).map(|(id, _)| id.clone()).collect();
        for ask in orphaned {
            let _ = self.answer(&ask, Answer::Deny(Some(DISCONNECTED.into())), None);
        }
    }
}
