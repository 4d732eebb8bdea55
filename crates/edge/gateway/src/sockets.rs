//! The sockets that are open, and on what each of them rests: a token that is revoked ends its sockets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dialect_gateway::Scopes;
use dialect_gateway::services::access::CredentialKind;
use websocket::Kick;

use crate::acp::AcpReaderEnd;
use crate::attempts::CameFrom;
use crate::credentials::{Basis, KnownCaller};
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

impl SocketEnd {
    fn carry_out(&self, why: &'static str) {
        match self {
            SocketEnd::Socket(kick) => kick.kick(POLICY_VIOLATION, why),
            SocketEnd::Events(end) => end.end(),
            SocketEnd::Stream(end) => end.end(),
        }
    }
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

/// Who has a socket, and how they came.
#[derive(Clone, Debug)]
pub(crate) struct SocketFacts {
    pub(crate) connection: Arc<str>,
    /// Empty for nobody.
    pub(crate) name: Arc<str>,
    pub(crate) scopes: Scopes,
    pub(crate) credential: CredentialKind,
    pub(crate) came: Arc<CameFrom>,
}

struct SocketRow {
    basis: Basis,
    end: SocketEnd,
    facts: SocketFacts,
    since_ms: u64,
}

#[derive(Default)]
struct Rows {
    next: u64,
    /// By number: the oldest first.
    rows: BTreeMap<u64, SocketRow>,
}

impl OpenSockets {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(
        self: &Arc<Self>,
        basis: Basis,
        end: SocketEnd,
        facts: SocketFacts,
        since_ms: u64,
    ) -> SocketEntry {
        let mut rows = self.lock();
        let number = rows.next;
        rows.next += 1;
        rows.rows.insert(number, SocketRow { basis, end, facts, since_ms });
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
        rows.rows.iter().filter(|(_, row)| !good(row.basis)).map(|(number, row)| (*number, row.basis)).collect()
    }

    /// Those that rest on the same as they did: somebody may have logged in anew.
    fn end(&self, gone: &[(u64, Basis)]) {
        let ends: Vec<SocketEnd> = {
            let rows = self.lock();
            let same = |(number, basis): &(u64, Basis)| rows.rows.get(number).filter(|row| row.basis == *basis);
            gone.iter().filter_map(same).map(|row| row.end.clone()).collect()
        };
        ends.iter().for_each(|end| end.carry_out("the credential was revoked"));
    }

    /// How many there are, and the oldest of them with when each came.
    pub(crate) fn list(&self, limit: usize) -> (usize, Vec<(SocketFacts, u64)>) {
        let rows = self.lock();
        (rows.rows.len(), rows.rows.values().take(limit).map(|row| (row.facts.clone(), row.since_ms)).collect())
    }

    pub(crate) fn has(&self, connection: &str) -> bool {
        self.lock().rows.values().any(|row| *row.facts.connection == *connection)
    }

    /// Ends all sockets and streams of one connection; whether there was one.
    pub(crate) fn show_out(&self, connection: &str, why: &'static str) -> bool {
        let gone: Vec<SocketEnd> = {
            let rows = self.lock();
            rows.rows.values().filter(|row| *row.facts.connection == *connection).map(|row| row.end.clone()).collect()
        };
        gone.iter().for_each(|end| end.carry_out(why));
        !gone.is_empty()
    }
}

impl SocketEntry {
    /// Somebody has said who they are.
    pub(crate) fn belongs_to(&self, known: &KnownCaller) {
        if let Some(all) = self.all.upgrade()
            && let Some(row) = all.lock().rows.get_mut(&self.number)
        {
            row.basis = known.basis;
            row.facts.name = known.name.clone();
            row.facts.scopes = known.scopes;
            row.facts.credential = known.credential();
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
