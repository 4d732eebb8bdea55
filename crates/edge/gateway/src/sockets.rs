//! The sockets that are open, and on what each of them rests: a token that is revoked ends its sockets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dialect_gateway::services::access::CredentialKind;
use dialect_gateway::{REVOKED, Scopes};
use websocket::Kick;

use crate::acp::AcpReaderEnd;
use crate::attempts::CameFrom;
use crate::credentials::{Basis, KnownCaller};
use crate::sse::SseEnd;

/// RFC 6455: the peer may not stay.
const POLICY_VIOLATION: u16 = 1008;

/// How long a socket whose credential is gone may stay for the answer that it is owed, and to end by itself behind it.
const LAST_ANSWER: Duration = Duration::from_secs(5);

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
    /// Answers that it has to have before it ends.
    owed: u32,
    /// What it rests on is gone.
    is_revoked: bool,
}

#[derive(Default)]
struct Rows {
    next: u64,
    /// By number: the oldest first.
    rows: BTreeMap<u64, SocketRow>,
}

impl Rows {
    fn of(&mut self, connection: &str) -> impl Iterator<Item = &mut SocketRow> {
        self.rows.values_mut().filter(move |row| *row.facts.connection == *connection)
    }
}

/// While this lives, a revoked credential does not close the connection.
pub(crate) struct OwedAnswer {
    all: Arc<OpenSockets>,
    connection: Arc<str>,
}

impl OwedAnswer {
    /// Whether the credential is gone, so that the connection ends behind this answer.
    pub(crate) fn is_last(&self) -> bool {
        self.all.lock().of(&self.connection).any(|row| row.is_revoked)
    }
}

impl Drop for OwedAnswer {
    fn drop(&mut self) {
        self.all.lock().of(&self.connection).for_each(|row| row.owed = row.owed.saturating_sub(1));
    }
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
        let row = SocketRow { basis, end, facts, since_ms, owed: 0, is_revoked: false };
        rows.rows.insert(number, row);
        SocketEntry { all: Arc::downgrade(self), number }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().rows.len()
    }

    /// Ends every socket whose basis is gone. One that is owed an answer ends behind it.
    pub(crate) fn keep(self: &Arc<Self>, good: impl Fn(Basis) -> bool) {
        let (mut gone, mut owed) = (Vec::new(), Vec::new());
        for (number, row) in self.lock().rows.iter_mut().filter(|(_, row)| !good(row.basis)) {
            let was_revoked = std::mem::replace(&mut row.is_revoked, true);
            match row.owed {
                0 => gone.push(row.end.clone()),
                _ if was_revoked => {}
                _ => owed.push(*number),
            }
        }
        gone.iter().for_each(|end| end.carry_out(REVOKED));
        if owed.is_empty() {
            return;
        }
        // Whoever speaks on it closes it behind the answer; one whose answers do not come, or that nobody reads, is not waited for.
        let all = Arc::downgrade(self);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(LAST_ANSWER).await;
                all.upgrade().iter().for_each(|all| all.end_revoked(&owed));
            });
        }
    }

    /// Ends those of them that have not said anew who they are.
    fn end_revoked(&self, numbers: &[u64]) {
        let gone: Vec<SocketEnd> = {
            let rows = self.lock();
            let found = numbers.iter().filter_map(|number| rows.rows.get(number));
            found.filter(|row| row.is_revoked).map(|row| row.end.clone()).collect()
        };
        gone.iter().for_each(|end| end.carry_out(REVOKED));
    }

    /// The connection has asked for something that may end it, and is to hear that it was done.
    pub(crate) fn owe(self: &Arc<Self>, connection: &Arc<str>) -> OwedAnswer {
        self.lock().of(connection).for_each(|row| row.owed += 1);
        OwedAnswer { all: self.clone(), connection: connection.clone() }
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
            (row.basis, row.is_revoked) = (known.basis, false);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entrance::PeerAddress;
    use crate::sse;

    fn facts(connection: &str) -> SocketFacts {
        let peer = PeerAddress::Tcp("127.0.0.1:1".parse().unwrap());
        let came = Arc::new(CameFrom::new(peer, None, "/"));
        let (scopes, credential) = (Scopes::ALL, CredentialKind::Token);
        SocketFacts { connection: connection.into(), name: "".into(), scopes, credential, came }
    }

    #[tokio::test(start_paused = true)]
    async fn a_socket_that_is_owed_an_answer_ends_behind_it() {
        let sockets = Arc::<OpenSockets>::default();
        let (_, _asker_sink, mut asker, asker_end) = sse::pipe(Vec::new());
        let (_, _other_sink, mut other, other_end) = sse::pipe(Vec::new());
        let (_, _good_sink, mut good, good_end) = sse::pipe(Vec::new());
        let _rows = [
            sockets.add(Basis::Token([1; 32]), asker_end.into(), facts("asker"), 0),
            sockets.add(Basis::Token([1; 32]), other_end.into(), facts("other"), 0),
            sockets.add(Basis::Token([2; 32]), good_end.into(), facts("good"), 0),
        ];
        let has_ended = async |body: &mut sse::SseBody| {
            let ends = tokio::time::timeout(Duration::from_millis(1), body.first());
            matches!(ends.await, Ok(None))
        };
        let owed = sockets.owe(&"asker".into());
        assert!(!owed.is_last());
        sockets.keep(|basis| basis != Basis::Token([1; 32]));
        assert!(owed.is_last() && !sockets.owe(&"good".into()).is_last());
        assert!(has_ended(&mut other).await, "at once");
        tokio::time::sleep(LAST_ANSWER / 2).await;
        assert!(!has_ended(&mut asker).await, "its answer is on its way");
        // It goes on asking, so that it is owed something at all times.
        let more = sockets.owe(&"asker".into());
        drop(owed);
        sockets.keep(|basis| basis != Basis::Token([1; 32]));
        tokio::time::sleep(LAST_ANSWER).await;
        assert!(has_ended(&mut asker).await, "from the moment on in which its credential was gone");
        drop(more);
        assert!(!has_ended(&mut good).await);
    }
}
