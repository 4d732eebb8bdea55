//! The right to write to a session, and word of its end.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::{NewSession, Summary};
use crate::{Body, Entry, Fault, NoteEntry, SessionId};

/// The right to append to one session. Older epochs are refused.
#[derive(Clone, Debug)]
pub struct Lease {
    pub session: SessionId,
    pub epoch: u64,
    /// Set until the first append has made the session.
    pub new: Option<Arc<NewSession>>,
    /// Says when the session is somebody else's.
    pub signal: LeaseSignal,
}

impl Lease {
    /// On a session that is made by its first append.
    pub fn on_new(new: NewSession) -> Self {
        let signal = LeaseSignal::default();
        Self { session: new.id.clone(), epoch: 1, new: Some(Arc::new(new)), signal }
    }

    /// On a session that exists.
    pub fn on(session: SessionId, epoch: u64) -> Self {
        Self { session, epoch, new: None, signal: LeaseSignal::default() }
    }
}

/// Whether a lease is still its holder's. The store says so when it learns that it is not; the holder looks before it does
/// anything, so that it stops before its next append is refused. A lease that is given back is not lost.
///
/// The word may come late, as all news does: what keeps two writers apart is the epoch.
#[derive(Clone, Default)]
pub struct LeaseSignal(Arc<Mutex<SignalState>>);

#[derive(Default)]
struct SignalState {
    fault: Option<Box<Fault>>,
    /// Of whoever waits. One task has the session, so the newest one is it.
    waker: Option<Waker>,
}

impl LeaseSignal {
    fn lock(&self) -> MutexGuard<'_, SignalState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the store: it is gone, and this is why. The first word counts.
    pub fn lose(&self, fault: Fault) {
        let waker = {
            let mut state = self.lock();
            state.fault.get_or_insert_with(|| Box::new(fault));
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Why it is gone, if it is.
    pub fn lost(&self) -> Option<Fault> {
        self.lock().fault.as_deref().cloned()
    }

    /// Whether it is that of the same lease. Two who would make the same session have leases with the same epoch.
    pub fn is_of(&self, lease: &Lease) -> bool {
        Arc::ptr_eq(&self.0, &lease.signal.0)
    }

    /// Ready when it is gone.
    pub fn poll_lost(&self, context: &mut Context<'_>) -> Poll<Fault> {
        let mut state = self.lock();
        if let Some(fault) = &state.fault {
            return Poll::Ready((**fault).clone());
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            state.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

impl fmt::Debug for LeaseSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.lock().fault.is_some() { "lost" } else { "ours" })
    }
}

/// A session that was taken over, as it is under the lease: what was read before somebody had it may be old.
#[derive(Clone, Debug)]
pub struct Acquired {
    pub lease: Lease,
    pub summary: Summary,
    /// What had to be repaired. Said here and nowhere else, so its new owner writes it into the log.
    pub recovered: Option<String>,
}

impl Acquired {
    /// The entry that says what was repaired; the first one under this lease.
    pub fn notice(&self, at_ms: i64) -> Option<Arc<Entry>> {
        let body = Body::Note(NoteEntry::Recovered { text: self.recovered.as_deref()?.into() });
        let last = self.summary.last_seq;
        Some(Arc::new(Entry { seq: last + 1, parent: last, at_ms, body, by: None }))
    }
}
