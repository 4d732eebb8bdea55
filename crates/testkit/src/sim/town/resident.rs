//! One peer of a town: who it is, what it sent, and what it was told.

use engine::Peer;
use vocab::{Command, Principal, SessionId, Tag, Target, Told, Verb};

use super::view::View;

pub(super) struct Resident {
    pub(super) name: usize,
    /// The process that it is connected to.
    pub(super) process: u64,
    pub(super) principal: Principal,
    peer: Option<Peer>,
    pub(super) view: View,
    /// Everything it was told.
    pub(super) told: Vec<Told>,
    tag: u64,
    /// It does not read.
    pub(super) naps: bool,
}

impl Resident {
    pub(super) fn new(name: usize, process: u64, principal: Principal, peer: Peer) -> Self {
        let (view, told) = (View::new(process), Vec::new());
        Self { name, process, principal, peer: Some(peer), view, told, tag: 0, naps: false }
    }
    /// The one who was let go, with another connection.
    pub(super) fn back(old: &mut Self, peer: Peer) -> Self {
        let view = old.view.let_go();
        Self { view, ..Self::new(old.name, old.process, old.principal.clone(), peer) }
    }

    pub(super) fn is_here(&self) -> bool {
        self.peer.is_some()
    }
    pub(super) fn goes(&mut self) {
        self.peer = None;
    }

    /// `None` when the engine does not take it now.
    pub(super) fn send(
        &mut self,
        session: Option<&SessionId>,
        verb: Verb,
        with: impl FnOnce(&mut Command),
    ) -> Option<Tag> {
        let peer = self.peer.as_ref()?;
        let tag = Tag(self.tag + 1);
        let target = session.map_or(Target::Current, |session| Target::Session(session.clone()));
        let mut command = Command::of(tag, target, verb);
        with(&mut command);
        peer.try_submit(command.clone()).ok()?;
        self.tag += 1;
        self.view.sent(&command);
        Some(tag)
    }

    /// Takes what is there.
    pub(super) async fn drain(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        if let Some(peer) = &self.peer {
            let _ = tokio::time::timeout(std::time::Duration::ZERO, peer.events(&mut told)).await;
        }
        self.told.extend(told.iter().cloned());
        told
    }
}
