//! The queue between a session and one peer. Bounded by bytes: while it is full, the session stops pulling from the model
//! and the peer's next commands wait ([`crate::inbox`]), so a reader that stops costs no memory. What a peer must learn
//! (results, ends, replies) is always admitted; the flow that feeds the flood is held, what is only shown is left out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::time::{Duration, Sleep};
use vocab::{Delta, Event, ExtensionEvent, Fault, Notice, PeerId, QueueEvent, SessionId, Tag, Told, WatchEvent};

use crate::weight::{self, EVENT_BYTES};

/// Unsent bytes at which a session stops feeding this peer, and from which on its commands wait.
pub const OUTBOX_BYTES_MAX: usize = 256 * 1024;
/// From this many unsent events on, neighbouring deltas are merged instead of queued one by one.
const MERGE_FROM: usize = 512;
/// A merged delta stops growing here, so that no single frame becomes huge.
const MERGED_BYTES_MAX: usize = 64 * 1024;
/// Unsent bytes from which on a peer is not shown what extensions have to show; it is told how much that was.
const SHOWN_BYTES_MAX: usize = 1024 * 1024;

/// Unsent bytes of sessions that a peer watches, from which on it is told no more entries and deltas of them. They are counted
/// apart: who watches much and reads slowly holds up nothing that it is on.
pub const WATCH_BYTES_MAX: usize = 1024 * 1024;
/// Sessions whose newest standing is kept for a watcher that does not read, and as many of which it is said that it missed
/// something; each of them takes some hundred bytes.
const GLANCES_MAX: usize = 16 * 1024;

/// A reader that may be dropped and takes nothing for this long is not waited for any more.
const HELD: Duration = Duration::from_millis(100);

/// One event counts for no more than this when it is asked whether a peer reads: a long one says nothing about that, neither for
/// itself nor for the short ones that come right behind it. Who is let go at 2 MiB is so behind four long ones.
const EVENT_COUNTS_MAX: usize = 512 * 1024;

/// What happens when a peer does not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slow {
    /// Sessions it is on wait for it.
    Wait,
    /// With so many unsent bytes it is dropped by the next event, with `Gone`; it can come back and attach at the seq it has.
    DropAt(usize),
}

/// Unsent bytes at which those are let go who are not asked how much they keep: extensions, and a peer on its way.
pub(crate) const DROP_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(crate) struct Outbox {
    pub(crate) peer: PeerId,
    slow: Slow,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    queue: VecDeque<Told>,
    /// Of what is told to it as a peer: this is what its sessions and its own commands wait for.
    bytes: usize,
    /// Of these, what shows that the peer does not read: of each event [`counted`], and nothing of the past, which comes a page at
    /// a time, each when the one before was taken.
    lag_bytes: usize,
    /// Of what some session keeps back for it; likewise.
    kept_bytes: usize,
    /// Of what is in the queue because it watches. Nobody waits for that.
    watched_bytes: usize,
    closed: bool,
    /// It was closed because nobody read, and not by its owner, who may have sent something before it went.
    let_go: bool,
    reader: Option<Waker>,
    /// Of the peer's router.
    router: Option<Waker>,
    waiting_for_room: Vec<Waker>,
    /// How long a reader that may be dropped is still waited for, since it is full.
    held: Option<Pin<Box<Sleep>>>,
    /// The command whose long answer is on its way.
    expected: Option<Tag>,
    /// Where everything goes from now on.
    forward: Option<Arc<Outbox>>,
    /// How much was not shown, and of which session the last of it was.
    unshown: Option<(SessionId, u64)>,
    watched: Option<Box<WatchedQueue>>,
}

/// What a watcher has not read yet, apart from what is told in order.
#[derive(Default)]
struct WatchedQueue {
    /// How sessions stand, the newest of each.
    stands: BTreeMap<SessionId, Box<Told>>,
    /// Sessions of which something was left out.
    missed: BTreeSet<SessionId>,
}

impl Outbox {
    pub(crate) fn new(peer: PeerId, slow: Slow) -> Arc<Self> {
        Arc::new(Self { peer, slow, inner: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while holding this lock cannot leave the queue half-changed.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, told: Told) {
        let mut inner = self.lock();
        if let Some(forward) = inner.forward.clone() {
            drop(inner);
            return forward.push(told);
        }
        if inner.closed {
            return;
        }
        if inner.bytes >= SHOWN_BYTES_MAX && is_only_shown(&told.event) {
            let before = inner.unshown.take().map_or(0, |(_, count)| count);
            inner.unshown = Some((told.session, before + 1));
            return;
        }
        inner.settle(&told.event);
        if matches!(told.event, Event::Queue(QueueEvent::Waiting(_))) && inner.bytes >= OUTBOX_BYTES_MAX {
            inner.replace_queue(&told.session);
        }
        let cost = weight::event(&told.event);
        // How long an event is says nothing about how fast the peer reads: what waits before it does.
        if let Slow::DropAt(most) = self.slow
            && inner.lag_bytes >= most
        {
            inner.queue.push_back(Told::new(told.session, Event::Gone { fault: Fault::too_slow() }));
            (inner.closed, inner.let_go) = (true, true);
            // Nobody waits for a peer that was let go, not even until it reads that.
            inner.waiting_for_room.drain(..).for_each(Waker::wake);
            inner.router.take().into_iter().for_each(Waker::wake);
        } else if let Some(told) = inner.merge(told) {
            inner.queue.push_back(told);
            inner.bytes += cost;
            inner.lag_bytes += counted(cost);
        } else {
            inner.bytes += cost - EVENT_BYTES;
            inner.lag_bytes += cost - EVENT_BYTES;
        }
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }

    /// Something of the past. Nobody is dropped for it.
    pub(crate) fn push_past(&self, told: Told) {
        let mut inner = self.lock();
        if let Some(forward) = inner.forward.clone() {
            drop(inner);
            return forward.push_past(told);
        }
        if inner.closed {
            return;
        }
        let cost = weight::event(&told.event);
        inner.bytes += cost;
        inner.queue.push_back(told);
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }

    /// Something of a session that is watched. It never fills the outbox: the newest standing takes the place of the one
    /// before, and what has no room is left out and said to be missing.
    pub(crate) fn push_watched(&self, told: Told) {
        let mut inner = self.lock();
        if inner.closed {
            return;
        }
        let is_full = inner.watched_bytes >= WATCH_BYTES_MAX;
        let is_missed = |watched: &WatchedQueue| watched.missed.contains(&told.session);
        match &told.event {
            Event::Watch(_) => {
                let stands = &mut inner.watched.get_or_insert_default().stands;
                if stands.len() < GLANCES_MAX || stands.contains_key(&told.session) {
                    stands.insert(told.session.clone(), Box::new(told));
                }
            }
            // Behind a gap nothing is told of that session until it was said that there is one.
            _ if is_full || inner.watched.as_deref().is_some_and(is_missed) => {
                let missed = &mut inner.watched.get_or_insert_default().missed;
                if missed.len() < GLANCES_MAX {
                    missed.insert(told.session);
                }
            }
            _ => {
                inner.watched_bytes += weight::event(&told.event);
                if let Some(told) = inner.merge(told) {
                    inner.queue.push_back(told);
                }
            }
        }
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }

    /// This is kept back until something else was told. It takes room all the same.
    pub(crate) fn keep_back(&self, event: &Event) {
        self.lock().kept_bytes += weight::event(event);
    }
    /// This was kept back and is told now.
    pub(crate) fn admit(&self, event: &Event) {
        let mut inner = self.lock();
        inner.kept_bytes = inner.kept_bytes.saturating_sub(weight::event(event));
    }

    /// Moves everything unsent to another outbox, and whatever comes later: an answer may still be on its way to this one.
    pub(crate) fn pour_into(&self, other: &Arc<Outbox>) {
        let mut inner = self.lock();
        inner.forward = Some(other.clone());
        let queue = std::mem::take(&mut inner.queue);
        drop(inner);
        queue.into_iter().for_each(|told| other.push(told));
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.lock().closed
    }

    /// Nobody read, and so nothing is told to this peer any more, whoever has noticed that by now.
    pub(crate) fn was_let_go(&self) -> bool {
        self.lock().let_go
    }

    /// Ready when the peer has room for more flow.
    pub(crate) fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.lock();
        if inner.closed || inner.bytes < OUTBOX_BYTES_MAX {
            return Poll::Ready(());
        }
        // Who reads, but slower than a model speaks, is waited for; who does not read is not.
        if matches!(self.slow, Slow::DropAt(_)) {
            let held = inner.held.get_or_insert_with(|| Box::pin(tokio::time::sleep(HELD)));
            if held.as_mut().poll(context).is_ready() {
                inner.waiting_for_room.drain(..).for_each(Waker::wake);
                return Poll::Ready(());
            }
        }
        inner.wait_for_room(context);
        Poll::Pending
    }

    /// Ready when the peer has room for more of the past: that waits for every reader.
    pub(crate) fn poll_room_to_read(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.lock();
        if inner.closed || inner.has_room() {
            return Poll::Ready(());
        }
        inner.wait_for_room(context);
        Poll::Pending
    }

    /// Ready when a command of this peer may be carried out: there is room for what it leads to. One with a long answer also
    /// waits until the answer of the last such one is here, and is the one that is waited for from then on.
    pub(crate) fn poll_turn(&self, context: &mut Context<'_>, costly: Option<Tag>) -> Poll<()> {
        let mut inner = self.lock();
        let is_free = inner.has_room() && (costly.is_none() || inner.expected.is_none());
        if inner.closed || is_free {
            inner.expected = costly.or(inner.expected);
            return Poll::Ready(());
        }
        inner.wait_for_room(context);
        Poll::Pending
    }

    /// The session that owed a long answer may be gone: the next one does not wait for it.
    pub(crate) fn expect_nothing(&self) {
        self.lock().forget_expected();
    }

    /// Moves what is there to `into`; waits when nothing is. `false`: nothing will come any more.
    pub(crate) fn poll_drain(&self, context: &mut Context<'_>, into: &mut Vec<Told>) -> Poll<bool> {
        let mut inner = self.lock();
        if inner.queue.is_empty() && inner.watched.is_none() {
            if inner.closed {
                return Poll::Ready(false);
            }
            inner.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        into.extend(inner.queue.drain(..));
        inner.forget_bytes();
        inner.held = None;
        if let Some(watched) = inner.watched.take() {
            let missed = watched.missed.into_iter();
            into.extend(missed.map(|session| Told::new(session, Event::Watch(WatchEvent::Missed))));
            into.extend(watched.stands.into_values().map(|told| *told));
        }
        if let Some((session, count)) = inner.unshown.take() {
            let text = format!("{count} of what was to be shown was left out: nobody read").into();
            let event = Event::Extension(ExtensionEvent::Trouble {
                source: "tillerman".into(),
                during: "notices".into(),
                text,
            });
            into.push(Told::new(session, event));
        }
        inner.waiting_for_room.drain(..).for_each(Waker::wake);
        Poll::Ready(true)
    }

    /// For the peer's router: ready when the peer was let go, whether or not it has read that.
    pub(crate) fn poll_let_go(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.lock();
        if inner.let_go {
            return Poll::Ready(());
        }
        if !inner.router.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            inner.router = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// Ready when nothing is taken for this peer any more, whatever is still unread.
    pub(crate) fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.lock();
        if inner.closed {
            return Poll::Ready(());
        }
        inner.reader = Some(context.waker().clone());
        Poll::Pending
    }

    /// The peer is gone: nothing is kept for it, no session waits for it.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.queue.clear();
        inner.forget_bytes();
        inner.unshown = None;
        inner.watched = None;
        inner.waiting_for_room.drain(..).for_each(Waker::wake);
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }
}

/// What an event of that size says about whether its reader reads.
fn counted(cost: usize) -> usize {
    cost.min(EVENT_COUNTS_MAX)
}

impl Inner {
    /// Nothing is unsent any more.
    fn forget_bytes(&mut self) {
        (self.bytes, self.lag_bytes, self.watched_bytes) = (0, 0, 0);
    }

    fn has_room(&self) -> bool {
        self.bytes + self.kept_bytes < OUTBOX_BYTES_MAX
    }

    fn wait_for_room(&mut self, context: &Context<'_>) {
        if !self.waiting_for_room.iter().any(|waker| waker.will_wake(context.waker())) {
            self.waiting_for_room.push(context.waker().clone());
        }
    }

    /// The long answer is here, or will never come.
    fn settle(&mut self, event: &Event) {
        let is_settled = match event {
            Event::Reply { tag, .. } => self.expected == Some(*tag),
            Event::Gone { .. } => self.expected.is_some(),
            _ => false,
        };
        if is_settled {
            self.forget_expected();
        }
    }

    fn forget_expected(&mut self) {
        self.expected = None;
        self.waiting_for_room.drain(..).for_each(Waker::wake);
    }

    /// Each list of what waits is whole: to a reader that lags the older one says nothing.
    fn replace_queue(&mut self, session: &SessionId) {
        let is_old =
            |told: &Told| told.session == *session && matches!(told.event, Event::Queue(QueueEvent::Waiting(_)));
        if let Some(at) = self.queue.iter().rposition(is_old)
            && let Some(old) = self.queue.remove(at)
        {
            let cost = weight::event(&old.event);
            self.bytes = self.bytes.saturating_sub(cost);
            self.lag_bytes = self.lag_bytes.saturating_sub(counted(cost));
        }
    }

    /// Joins a delta to the unsent one before it when the reader lags; gives back what could not be joined.
    fn merge(&mut self, told: Told) -> Option<Told> {
        if self.queue.len() < MERGE_FROM {
            return Some(told);
        }
        let Some(last) = self.queue.back_mut().filter(|last| last.session == told.session) else { return Some(told) };
        match (&mut last.event, &told.event) {
            (Event::Delta(Delta::Text { turn, delta }), Event::Delta(Delta::Text { turn: same, delta: more }))
            | (
                Event::Delta(Delta::Thinking { turn, delta }),
                Event::Delta(Delta::Thinking { turn: same, delta: more }),
            ) if turn == same && delta.len() + more.len() <= MERGED_BYTES_MAX => {
                delta.push_str(more);
                last.at = told.at;
                // The bytes of a joined delta are this peer's alone.
                last.shared = None;
                None
            }
            _ => Some(told),
        }
    }
}

/// Nothing depends on it.
fn is_only_shown(event: &Event) -> bool {
    match event {
        Event::Extension(ExtensionEvent::Notice(notice)) => !matches!(notice, Notice::Exit),
        Event::Extension(ExtensionEvent::Trouble { .. }) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
