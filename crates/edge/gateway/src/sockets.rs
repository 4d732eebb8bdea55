//! The sockets that are open, and on what each of them rests: a token that is revoked ends its sockets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use websocket::Kick;

use crate::credentials::Basis;

/// RFC 6455: the peer may not stay.
const POLICY_VIOLATION: u16 = 1008;

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
    rows: HashMap<u64, (Basis, Kick)>,
}

impl OpenSockets {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(self: &Arc<Self>, basis: Basis, kick: Kick) -> SocketEntry {
        let mut rows = self.lock();
        let number = rows.next;
        rows.next += 1;
        rows.rows.insert(number, (basis, kick));
        SocketEntry { all: Arc::downgrade(self), number }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().rows.len()
    }

    /// Ends every socket whose basis is gone.
    pub(crate) fn keep(&self, good: impl Fn(Basis) -> bool) {
        let gone: Vec<Kick> = {
            let rows = self.lock();
            rows.rows.values().filter(|(basis, _)| !good(*basis)).map(|(_, kick)| kick.clone()).collect()
        };
        gone.iter().for_each(|kick| kick.kick(POLICY_VIOLATION, "the credential was revoked"));
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
