//! The queue between a session and one peer. Bounded by bytes: while it is full, the session stops pulling from the
//! model, so a reader that stops costs no memory. What a peer must learn (results, ends, replies) is always admitted;
//! only the flow that feeds the flood is held.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use vocab::{Event, Fault, FaultKind, PeerId, Told};

/// Unsent bytes at which a session stops feeding this peer.
pub const OUTBOX_BYTES_MAX: usize = 256 * 1024;
/// From this many unsent events on, neighbouring deltas are merged instead of queued one by one.
const MERGE_FROM: usize = 512;
/// A merged delta stops growing here, so that no single frame becomes huge.
const MERGED_BYTES_MAX: usize = 64 * 1024;
/// What an event costs besides its text.
const EVENT_BYTES: usize = 96;

/// What happens when a peer does not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slow {
    /// Sessions it is on wait for it.
    Wait,
    /// It is dropped with a `Gone` event; it can come back and attach at the seq it has.
    Drop,
}

/// Unsent bytes at which a [`Slow::Drop`] peer is let go.
pub(crate) const DROP_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(crate) struct Outbox {
    pub(crate) peer: PeerId,
    slow: Slow,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    queue: VecDeque<Told>,
    bytes: usize,
    closed: bool,
    reader: Option<Waker>,
    waiting_for_room: Vec<Waker>,
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
        if inner.closed {
            return;
        }
        let cost = cost(&told.event);
        // One event alone, however large, says nothing about how fast the peer reads.
        if self.slow == Slow::Drop && !inner.queue.is_empty() && inner.bytes + cost > DROP_BYTES_MAX {
            let fault =
                Fault::new(FaultKind::Unsupported, "this connection reads too slowly; attach again where it stopped");
            inner.queue.push_back(Told { session: told.session, event: Event::Gone { fault } });
            inner.closed = true;
        } else if let Some(told) = inner.merge(told) {
            inner.queue.push_back(told);
            inner.bytes += cost;
        } else {
            inner.bytes += cost - EVENT_BYTES;
        }
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }

    /// Moves everything unsent to another outbox.
    pub(crate) fn pour_into(&self, other: &Outbox) {
        let queue = std::mem::take(&mut self.lock().queue);
        queue.into_iter().for_each(|told| other.push(told));
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.lock().closed
    }

    /// Ready when the peer has room for more flow.
    pub(crate) fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.slow == Slow::Drop {
            return Poll::Ready(());
        }
        let mut inner = self.lock();
        if inner.closed || inner.bytes < OUTBOX_BYTES_MAX {
            return Poll::Ready(());
        }
        if !inner.waiting_for_room.iter().any(|waker| waker.will_wake(context.waker())) {
            inner.waiting_for_room.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Moves what is there to `into`; waits when nothing is. `false`: nothing will come any more.
    pub(crate) fn poll_drain(&self, context: &mut Context<'_>, into: &mut Vec<Told>) -> Poll<bool> {
        let mut inner = self.lock();
        if inner.queue.is_empty() {
            if inner.closed {
                return Poll::Ready(false);
            }
            inner.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        into.extend(inner.queue.drain(..));
        inner.bytes = 0;
        inner.waiting_for_room.drain(..).for_each(Waker::wake);
        Poll::Ready(true)
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

    /// The peer is gone: nothing is kept for it, nobody waits for it.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.queue.clear();
        inner.bytes = 0;
        inner.waiting_for_room.drain(..).for_each(Waker::wake);
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }
}

impl Inner {
    /// Joins a delta to the unsent one before it when the reader lags; gives back what could not be joined.
    fn merge(&mut self, told: Told) -> Option<Told> {
        if self.queue.len() < MERGE_FROM {
            return Some(told);
        }
        let Some(last) = self.queue.back_mut().filter(|last| last.session == told.session) else { return Some(told) };
        match (&mut last.event, &told.event) {
            (Event::Text { turn, delta }, Event::Text { turn: same, delta: more })
            | (Event::Thinking { turn, delta }, Event::Thinking { turn: same, delta: more })
                if turn == same && delta.len() + more.len() <= MERGED_BYTES_MAX =>
            {
                delta.push_str(more);
                None
            }
            _ => Some(told),
        }
    }
}

fn cost(event: &Event) -> usize {
    let text = match event {
        Event::Text { delta, .. } | Event::Thinking { delta, .. } | Event::CallInput { delta, .. } => delta.len(),
        Event::CallProgress { parts, .. } => parts_bytes(parts),
        Event::ShellProgress { text, .. } => text.len(),
        Event::Logged(entry) => match &entry.body {
            vocab::Body::CallEnded { result, .. } => parts_bytes(&result.parts),
            vocab::Body::User { parts, .. } => parts_bytes(parts),
            vocab::Body::Assistant { message, .. } => message.blocks.iter().map(block_bytes).sum(),
            vocab::Body::Shell(shell) => shell.output.len(),
            _ => 0,
        },
        Event::Errand(errand) => match &errand.kind {
            vocab::ErrandKind::WriteText { content, .. } => content.len(),
            vocab::ErrandKind::Run { command, .. } => command.len(),
            vocab::ErrandKind::ReadText { .. } => 0,
        },
        Event::Consult(consult) => match &consult.kind {
            vocab::ConsultKind::Turn { parts } | vocab::ConsultKind::Result { parts, .. } => parts_bytes(parts),
            vocab::ConsultKind::Call { input, .. } => input.as_str().len(),
            vocab::ConsultKind::Command { args, .. } => args.len(),
        },
        _ => 0,
    };
    EVENT_BYTES + text
}

fn parts_bytes(parts: &[vocab::Part]) -> usize {
    parts
        .iter()
        .map(|part| match part {
            vocab::Part::Text(text) => text.len(),
            vocab::Part::Image(image) => image.base64.len(),
        })
        .sum()
}

fn block_bytes(block: &vocab::Block) -> usize {
    match block {
        vocab::Block::Text(text) | vocab::Block::Thinking { text, .. } | vocab::Block::Redacted(text) => text.len(),
        vocab::Block::Call(call) => call.input.json().as_str().len(),
    }
}
