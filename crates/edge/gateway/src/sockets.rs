//! The sockets that are open, and on what each of them rests: a token that is revoked ends its sockets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use websocket::Kick;

use crate::acp::AcpReaderEnd;
use crate::credentials::Basis;
use crate::sse::SseEnd;

/// RFC 6455: the peer may not stay.
const POLICY_VIOLATION: u16 = 1008;

/// How long a socket whose credential is gone still hears answers to what it has said.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// What ends one of them.
#[derive(Clone)]
pub(crate) enum SocketEnd {
    Socket(Kick),
    Events(SseEnd),
    Stream(AcpReaderEnd),
}

impl From<Kick> for SocketEnd {
    fn from(kick: Kick) -> Self {
        SocketEnd::Socket(kick)
    }
}

impl From<SseEnd> for SocketEnd {
    fn from(end: SseEnd) -> Self {
        SocketEnd::Events(end)
    }
}

impl From<AcpReaderEnd> for SocketEnd {
    fn from(end: AcpReaderEnd) -> Self {
        SocketEnd::Stream(end)
    }
}

/// One open socket; it is forgotten when this is dropped.
pub(crate) struct SocketEntry {
    all: Weak<OpenSockets>,
    number: u64,
}

#[derive(Default)]
pub(crate) struct OpenSockets(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    next: u64,
    rows: HashMap<u64, (Basis, SocketEnd)>,
}

impl OpenSockets {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(self: &Arc<Self>, basis: Basis, end: SocketEnd) -> SocketEntry {
        let mut rows = self.lock();
        let number = rows.next;
        rows.next += 1;
        rows.rows.insert(number, (basis, end));
        SocketEntry { all: Arc::downgrade(self), number }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().rows.len()
    }

    /// Ends every socket whose basis is gone.
    pub(crate) fn keep(&self, good: impl Fn(Basis) -> bool) {
        let gone = self.without(good);
        self.end(&gone);
    }

    /// The same, a moment later: one of them may be whoever asked for it, and is owed an answer. Must be called on a runtime.
    pub(crate) fn keep_soon(self: &Arc<Self>, good: impl Fn(Basis) -> bool) {
        let gone = self.without(good);
        if gone.is_empty() {
            return;
        }
        let all = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LAST_ANSWERS).await;
            all.end(&gone);
        });
    }

    fn without(&self, good: impl Fn(Basis) -> bool) -> Vec<(u64, Basis)> {
        let rows = self.lock();
        rows.rows.iter().filter(|(_, (basis, _))| !good(*basis)).map(|(number, (basis, _))| (*number, *basis)).collect()
    }

    /// Those that rest on the same as they did: somebody may have logged in anew.
    fn end(&self, gone: &[(u64, Basis)]) {
        let ends: Vec<SocketEnd> = {
            let rows = self.lock();
            let same = |(number, basis): &(u64, Basis)| rows.rows.get(number).filter(|(now, _)| now == basis);
            gone.iter().filter_map(same).map(|(_, end)| end.clone()).collect()
        };
        ends.iter().for_each(|end| match end {
            SocketEnd::Socket(kick) => kick.kick(POLICY_VIOLATION, "the credential was revoked"),
            SocketEnd::Events(end) => end.end(),
            SocketEnd::Stream(end) => end.end(),
        });
    }
}

impl SocketEntry {
    pub(crate) fn rests_on(&self, basis: Basis) {
        if let Some(all) = self.all.upgrade()
            && let Some(row) = all.lock().rows.get_mut(&self.number)
        {
            row.0 = basis;
        }
    }
}

impl Drop for SocketEntry {
    fn drop(&mut self) {
        if let Some(all) = self.all.upgrade() {
            all.lock().rows.remove(&self.number);
        }
    }
}
