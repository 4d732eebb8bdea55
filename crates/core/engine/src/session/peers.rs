//! The peers of one session, and what is told to all of them: those that hear everything as it happens, those that still read
//! the past page by page, and the extensions beside them. Everything is told with the position that it brings its peer to. How
//! peers come and go is in `joining.rs`.

mod running_reply;

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::{
    Delta, Event, ExtensionEvent, Fault, FaultKind, Later, Page, PeerId, Position, QueueEvent, SessionId, Told,
};

use crate::outbox::Outbox;
use running_reply::RunningReply;

/// Entries read at once for a peer that catches up.
pub(super) const PAGE_ENTRIES: usize = 256;

pub(crate) struct Peers {
    session: SessionId,
    /// Where those are that hear everything.
    at: Position,
    reply: RunningReply,
    live: Vec<Arc<Outbox>>,
    /// They hear what peers hear, and the session neither waits for them nor counts them. The flag: whether they want deltas.
    extensions: Vec<(Arc<Outbox>, bool)>,
    catching_up: Vec<CatchingUp>,
    /// What the log calls those who are here.
    names: HashMap<PeerId, Arc<str>>,
    /// A peer came. Until then the one that opened the session is on the way.
    pub(super) was_joined: bool,
}

/// A peer that is still reading the past.
struct CatchingUp {
    outbox: Arc<Outbox>,
    at: Position,
    page: Option<Later<'static, Result<Page, Fault>>>,
}

/// What became of a peer that reads the past.
pub(super) enum CaughtUp {
    /// It got further.
    Further,
    /// It has read everything up to this.
    Whole(Arc<Outbox>, Position),
    /// It cannot read on.
    Lost(Arc<Outbox>, Fault),
}

impl Peers {
    /// `last_seq`: the entry that the log ends with.
    pub(crate) fn new(session: SessionId, last_seq: u64) -> Self {
        let (reply, live, extensions, catching_up, names) = Default::default();
        let at = Position::at(last_seq);
        Self { session, at, reply, live, extensions, catching_up, names, was_joined: false }
    }

    /// Those that hear everything as it happens.
    pub(super) fn live(&self) -> &[Arc<Outbox>] {
        &self.live
    }
    /// Those, and those that will when they have read the past.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Outbox>> {
        self.live.iter().chain(self.catching_up.iter().map(|catching| &catching.outbox))
    }
    /// No peer is here, neither live nor reading the past.
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty() && self.catching_up.is_empty()
    }
    pub(super) fn is_here(&self, peer: PeerId) -> bool {
        self.outbox_of(peer).is_some()
    }
    /// The way to a peer or an extension that is on this session, also while it still reads the past.
    pub(super) fn outbox_of(&self, peer: PeerId) -> Option<&Arc<Outbox>> {
        self.all().chain(self.extensions()).find(|outbox| outbox.peer == peer)
    }
    /// What the log calls a peer.
    pub(super) fn name_of(&self, peer: PeerId) -> Option<Arc<str>> {
        self.names.get(&peer).cloned()
    }
    pub(super) fn name(&mut self, peer: PeerId, name: Option<Arc<str>>) {
        self.names.extend(name.map(|name| (peer, name)));
    }

    /// Why no peer can be at this position, where that is so: it lies in the future.
    pub(super) fn is_ahead(&self, at: Position) -> Option<Fault> {
        let Position { seq, offset } = self.at;
        if at.seq > seq {
            let text = format!("seq {} is in the future; the last one is {seq}", at.seq);
            return Some(Fault::new(FaultKind::Invalid, text));
        }
        let known = self.reply.known_at(at);
        let text = || format!("offset {known} is in the future; the running reply is at {offset}");
        (known > offset).then(|| Fault::new(FaultKind::Invalid, text()))
    }

    /// Tells a peer what it has missed of the running reply.
    pub(super) fn tell_reply_so_far(&self, outbox: &Outbox, from: Position) {
        let mut at = Position { seq: self.at.seq, offset: self.reply.known_at(from) };
        for delta in self.reply.beyond(at.offset) {
            let event = Event::Delta(delta);
            at.take(&event);
            outbox.push(Told { session: self.session.clone(), event, at });
        }
    }

    /// From here on the peer gets everything.
    pub(super) fn go_live(&mut self, outbox: Arc<Outbox>) {
        self.live.retain(|other| other.peer != outbox.peer);
        self.live.push(outbox);
    }
    /// The peer reads what comes after this, and is live then.
    pub(super) fn catch_up(&mut self, outbox: Arc<Outbox>, after: Position) {
        self.catching_up.push(CatchingUp { outbox, at: after, page: None });
    }
    /// The peer is told nothing more; it may be about to start over.
    pub(super) fn mute(&mut self, peer: PeerId) {
        self.live.retain(|other| other.peer != peer);
        self.catching_up.retain(|catching| catching.outbox.peer != peer);
    }
    pub(super) fn leave(&mut self, peer: PeerId) {
        self.mute(peer);
        self.names.remove(&peer);
    }

    pub(super) fn extensions(&self) -> impl Iterator<Item = &Arc<Outbox>> {
        self.extensions.iter().map(|(outbox, _)| outbox)
    }
    pub(super) fn set_extensions(&mut self, extensions: Vec<(Arc<Outbox>, bool)>) {
        self.extensions = extensions;
    }

    /// To one peer. That does not bring it further than it is.
    pub(super) fn tell_one(&self, to: &Outbox, event: Event) {
        let reads = self.catching_up.iter().find(|catching| catching.outbox.peer == to.peer);
        self.tell_at(to, event, reads.map_or(self.at, |catching| catching.at));
    }
    pub(super) fn tell_at(&self, to: &Outbox, event: Event, at: Position) {
        to.push(Told { session: self.session.clone(), event, at });
    }
    pub(super) fn tell_all(&mut self, event: Event) {
        self.at.take(&event);
        self.reply.take(&event, self.at);
        for (extension, _) in self.extensions.iter().filter(|(_, deltas)| concerns_extensions(&event, *deltas)) {
            self.tell_at(extension, event.clone(), self.at);
        }
        if let Some((last, rest)) = self.live.split_last() {
            for peer in rest {
                self.tell_at(peer, event.clone(), self.at);
            }
            self.tell_at(last, event, self.at);
        }
    }

    pub(super) fn is_catching_up(&self) -> bool {
        !self.catching_up.is_empty()
    }

    /// Ready when some of those who read the past got further. `read` begins a page behind an entry.
    pub(super) fn poll_catching_up(
        &mut self,
        committed: u64,
        read: impl Fn(u64) -> Later<'static, Result<Page, Fault>>,
        context: &mut Context<'_>,
    ) -> Poll<Vec<CaughtUp>> {
        let mut steps = Vec::new();
        let mut index = 0;
        while index < self.catching_up.len() {
            let catching = &mut self.catching_up[index];
            if !catching.outbox.is_open() {
                self.catching_up.swap_remove(index);
                continue;
            }
            if catching.at.seq >= committed {
                let catching = self.catching_up.swap_remove(index);
                steps.push(CaughtUp::Whole(catching.outbox, catching.at));
                continue;
            }
            match catching.poll_page(&self.session, committed, &read, context) {
                Poll::Ready(Err(fault)) => {
                    let catching = self.catching_up.swap_remove(index);
                    steps.push(CaughtUp::Lost(catching.outbox, fault));
                    continue;
                }
                Poll::Ready(Ok(())) => steps.push(CaughtUp::Further),
                Poll::Pending => {}
            }
            index += 1;
        }
        if steps.is_empty() { Poll::Pending } else { Poll::Ready(steps) }
    }
}

impl CatchingUp {
    /// As fast as the peer takes it.
    fn poll_page(
        &mut self,
        session: &SessionId,
        committed: u64,
        read: impl Fn(u64) -> Later<'static, Result<Page, Fault>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Fault>> {
        if self.outbox.poll_room(context).is_pending() {
            return Poll::Pending;
        }
        let page = self.page.get_or_insert_with(|| read(self.at.seq));
        let Poll::Ready(result) = page.as_mut().poll(context) else { return Poll::Pending };
        self.page = None;
        let page = match result {
            Ok(page) => page,
            Err(fault) => return Poll::Ready(Err(fault)),
        };
        // The next page would be empty, too.
        if page.entries.is_empty() {
            let text = format!("the log ends at entry {}, before entry {committed}", self.at.seq);
            let fault = Fault::new(FaultKind::Store, page.recovered.unwrap_or(text));
            return Poll::Ready(Err(fault.hint("close the session everywhere and open it again")));
        }
        // What the store has beyond `committed` will come live.
        for entry in page.entries.into_iter().filter(|entry| entry.seq <= committed) {
            let event = Event::Logged(entry);
            self.at.take(&event);
            self.outbox.push(Told { session: session.clone(), event, at: self.at });
        }
        Poll::Ready(Ok(()))
    }
}

/// What is shown to people does not concern extensions, and the flow only those who asked for it.
fn concerns_extensions(event: &Event, deltas: bool) -> bool {
    match event {
        Event::Delta(Delta::Text { .. })
        | Event::Delta(Delta::Thinking { .. })
        | Event::Delta(Delta::Sealed { .. })
        | Event::Delta(Delta::CallInput { .. })
        | Event::Delta(Delta::CallProgress { .. }) => deltas,
        Event::Extension(ExtensionEvent::Notice(_))
        | Event::Extension(ExtensionEvent::Trouble { .. })
        | Event::Queue(QueueEvent::Waiting(_)) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
