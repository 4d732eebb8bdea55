//! Peers that come and go. A peer that asks for the past reads it from the store page by page, as fast as it takes
//! it, and joins the live flow exactly where the pages end.

use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::{
    Abilities, Answer, AskKind, Change, Cursor, Event, Fault, Open, Opened, PeerId, Position, Present, Principal,
    Reply, Tag,
};

use super::Session;
use super::approvals::Answering;
use super::jobs::left_too_soon;
use super::peers::{CaughtUp, PAGE_ENTRIES, PeerFacts, ReadAll};
use crate::outbox::Outbox;

/// What the model is told when the last controller leaves an open question behind.
pub(super) const DISCONNECTED: &str = "controller disconnected before responding";

impl Session {
    /// Whether the peer is on this session now.
    pub(super) fn join(
        &mut self,
        outbox: Arc<Outbox>,
        tag: Tag,
        (mut open, by): (Open, Option<Principal>),
        resumed: bool,
    ) -> bool {
        self.log.peers.was_joined = true;
        self.log.peers.is_news = true;
        let (peer, after) = (outbox.peer, open.after.take());
        let comes_again = self.log.peers.is_here(peer);
        if let Some(fault) = self.is_ahead(after.as_ref()) {
            self.log.peers.tell_one(&outbox, Event::Reply { tag, result: Err(fault) });
            return comes_again;
        }
        let is_kept = open.keep && self.log.committed() == 0;
        if is_kept && self.log.last_seq() == 0 {
            self.log.commands.act_for(by.clone());
            self.log_opened();
            self.log.sync_batch();
            self.log.commands.act_for(None);
        }
        let after = after.or_else(|| is_kept.then(|| Cursor::at(0)));
        self.log.peers.know(peer, self.facts(&open));
        let servers = std::mem::take(&mut open.servers);
        let mut notices = self.notices();
        let abilities = std::mem::take(&mut open.abilities);
        if let Err(fault) = self.declare(peer, abilities.clone()) {
            notices.push(fault.message);
            // The rest of what it can do holds.
            let _ = self.declare(peer, Abilities { tools: None, ..abilities });
        }
        let wishes = if comes_again { Vec::new() } else { self.wishes(&open, &mut notices) };
        let opened = Opened {
            session: self.id.clone(),
            resumed,
            state: self.told_state(),
            tools: self.tools.offered(&self.settings).map(|tool| tool.spec().name.clone()).collect(),
            notices,
            present: self.present(),
        };
        // A peer that comes in again starts over; it must not be told everything twice.
        self.log.peers.mute(peer);
        self.forget_editor_requests(peer);
        match after {
            Some(after) => {
                self.introduce(&outbox, after.at);
                self.log.peers.catch_up(outbox, after, tag, opened, u64::from(is_kept));
            }
            None => {
                // What is not committed was told to no peer: it comes live, behind what was told of the running reply.
                let at = Position::at(self.log.committed());
                self.log.peers.tell_at(&outbox, Event::Reply { tag, result: Ok(Reply::Opened(Box::new(opened))) }, at);
                self.introduce(&outbox, at);
                self.approvals.take_given(peer, at.seq);
                self.go_live(outbox, at, true);
            }
        }
        // Calls that waited for a tool of this name, now that the peer can be told.
        self.hand_over_calls(peer);
        self.log_repair();
        self.log.commands.act_for(by);
        for wish in wishes {
            // Whatever can be refused was looked at.
            let _ = self.set(wish);
        }
        self.log.commands.act_for(None);
        self.start_servers(peer, servers);
        match comes_again {
            true => self.settle_orphans(None),
            false => self.deny_unanswerable(),
        }
        true
    }

    /// Why no peer can have come to this place of the session, where that is so.
    fn is_ahead(&self, after: Option<&Cursor>) -> Option<Fault> {
        let after = after.filter(|after| after.session.as_ref().is_none_or(|session| *session == self.id))?;
        self.log.peers.is_ahead(after.at)
    }

    /// What was told to those who are here. What waits for a commit comes live.
    fn present(&self) -> Present {
        let told = self.approvals.open().filter(|ask| self.log.told(ask.entry.seq));
        let mut asks: Vec<_> = told.map(|ask| ask.entry.clone()).collect();
        asks.sort_by_key(|entry| entry.seq);
        let waiting = self.prompts.queue.list().cloned().collect();
        Present { asks, waiting, ..self.log.peers.present() }
    }

    fn facts(&self, open: &Open) -> PeerFacts {
        let defaults = open.usual.clone().unwrap_or_else(|| self.shared.defaults());
        PeerFacts {
            name: open.controller.clone(),
            level: open.abilities.level,
            gate: open.gate.unwrap_or(defaults.gate),
            tool_names: open.tool_names.unwrap_or(defaults.tool_names),
        }
    }

    /// What the peer wants to be otherwise on a session that is there already: it is changed for everybody, as if it had been
    /// commanded, or the peer is told why not.
    fn wishes(&self, open: &Open, notices: &mut Vec<String>) -> Vec<Change> {
        let mut wishes = Vec::new();
        if let Some(slug) = &open.model {
            match self.shared.ports.provider.resolve(slug) {
                Ok(model) if model.slug != self.settings.chosen().slug => wishes.push(Change::Model(model.slug)),
                Ok(_) => {}
                Err(fault) => notices.push(format!("model {} stays: {}", self.settings.model, fault.message)),
            }
        }
        wishes.extend(open.mode.filter(|mode| *mode != self.settings.mode).map(Change::Mode));
        let thinking = open.thinking.clone().filter(|level| self.settings.thinking.as_ref() != Some(level));
        wishes.extend(thinking.map(|level| Change::Thinking(Some(level))));
        if open.workspace.as_ref().is_some_and(|workspace| *workspace != self.settings.workspace) {
            notices.push(format!("this session works in {}", self.settings.workspace.display()));
        }
        if let Some(fault) = self.working_for().filter(|_| !wishes.is_empty()) {
            notices.push(format!("its settings stay: {}", fault.message));
            wishes.clear();
        }
        wishes
    }

    /// What a peer can do from now on. A tool whose name another owner has is refused, and with it the change.
    pub(super) fn able(&mut self, peer: PeerId, abilities: Abilities) -> Result<(), Fault> {
        self.declare(peer, abilities)?;
        self.settle_orphans(None);
        Ok(())
    }

    fn declare(&mut self, peer: PeerId, abilities: Abilities) -> Result<(), Fault> {
        let Abilities { answers, has_time, dialogs, level, editor, tools, only_listens } = abilities;
        if let Some(tools) = tools {
            self.offer_tools(peer, tools)?;
        }
        if let Some(editor) = editor {
            self.offer_editor(peer, editor);
        }
        self.approvals.set_answering(peer, Answering { answers, has_time, dialogs, only_listens });
        self.log.peers.set_level(peer, level);
        Ok(())
    }

    /// What every peer is told is about the model that sessions start with; one that has another says so instead.
    fn notices(&self) -> Vec<String> {
        match self.settings.model == self.shared.defaults().model {
            true => self.shared.notices.clone(),
            false => vec![format!("model {}: this session's own", self.settings.model)],
        }
    }

    /// From here on the peer gets everything. It is given what it cannot have seen: the running reply as far as it was told
    /// and lies behind its position, and, without a replay, the open questions.
    fn go_live(&mut self, outbox: Arc<Outbox>, at: Position, show_asks: bool) {
        if show_asks {
            // The others wait behind their commit and come live.
            for ask in self.approvals.open().filter(|ask| self.log.told(ask.entry.seq) && !ask.is_left()) {
                self.log.peers.tell_at(&outbox, Event::Logged(ask.entry.clone()), at);
            }
        }
        self.log.peers.tell_reply_so_far(&outbox, at);
        self.log.peers.go_live(outbox);
    }

    /// Ready when a peer got further.
    pub(super) fn poll_catching_up(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let (committed, last_seq) = (self.log.committed(), self.log.last_seq());
        let (store, session) = (&self.shared.ports.store, &self.id);
        let read = |after| store.read(session, after, PAGE_ENTRIES);
        let steps = std::task::ready!(self.log.peers.poll_catching_up((committed, last_seq), read, context));
        for step in steps {
            match step {
                CaughtUp::Further => {}
                CaughtUp::Whole(ReadAll { outbox, mut at, from, lost }) => {
                    self.log.peers.tell_at(&outbox, Event::Live { seq: at.seq }, at);
                    if let Some(end) = lost {
                        at.offset = 0;
                        self.log.peers.tell_at(&outbox, Event::TurnLost(end), at);
                    }
                    // Calls that became its own and that it was told of before, as another one's.
                    for entry in self.approvals.take_given(outbox.peer, from) {
                        self.log.peers.tell_at(&outbox, Event::Logged(entry), at);
                    }
                    self.go_live(outbox, at, false);
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
        let was_let_go = self.log.peers.outbox_of(peer).is_some_and(|outbox| outbox.was_let_go());
        self.log.peers.leave(peer);
        self.log.peers.is_news = true;
        // No peer is left that could end it or read what comes of it.
        self.stop_shells(|owner| owner == peer);
        self.stop_asides(|owner| owner == peer);
        self.leave_jobs(peer);
        for (outbox, tag) in self.log.commands.leave(peer) {
            self.log.reply(outbox, Event::Reply { tag, result: Err(left_too_soon()) });
        }
        self.approvals.forget_answering(peer);
        self.approvals.take_given(peer, 0);
        self.editor_left(peer);
        self.tools.drop_host(peer);
        // It did not disconnect: it was not there to be asked.
        if was_let_go {
            self.deny_unanswerable();
        }
        self.settle_orphans(Some(peer));
    }

    /// Questions that reached nobody: of another process, which a turn that goes on asks again, or of a peer that was let go.
    fn deny_unanswerable(&mut self) {
        if self.settings.keeps_asks() || !self.is_unanswerable() {
            return;
        }
        for ask in self.approvals.owned(|owner| owner.is_none()) {
            let why = match self.approvals.get(&ask).map(|open| &open.kind) {
                Some(AskKind::Permission(asked)) => self.unasked(asked.required),
                _ => DISCONNECTED.to_owned(),
            };
            let _ = self.answer(&ask, Answer::Deny(Some(why.into())), None);
        }
    }

    /// What becomes of questions when a peer has left or cannot answer any more.
    fn settle_orphans(&mut self, left: Option<PeerId>) {
        // A call is for whoever brought its tool.
        if self.settings.keeps_asks() {
            return left.into_iter().for_each(|peer| self.approvals.leave(peer));
        }
        // A question that no peer can answer any more is a no, never a wait for ever and never a yes.
        let nobody = self.is_unanswerable();
        let orphaned = self.approvals.owned(|owner| owner.map_or(nobody, |owner| Some(owner) == left));
        for ask in orphaned {
            let _ = self.answer(&ask, Answer::Deny(Some(DISCONNECTED.into())), None);
        }
    }
}
