//! Who watches the processes of a town from outside: which of them had which lease when it wrote, asked a model or ran a
//! tool, and how often a call did what it does. A process that was told that a session is somebody else's does nothing
//! for it any more, not even once.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vocab::{
    Acquired, Answer, AskEnd, AskEntry, AskId, AskKind, AuditLine, AuditQuery, AuditVerdict, Body, CallId, Deed,
    Durability, Entry, Fault, FaultKind, Later, Lease, NewSession, Page, Principal, Query, SessionId, Skim, Skimmed,
    Store, StoreChange, StoreMoment, Summary, TurnEntry, TurnId, UsageQuery, UsageSum,
};

use crate::lossy::LossyStore;
use crate::sim::model::Findings;

pub(super) struct TownWitness {
    state: Mutex<WitnessState>,
    pub(super) findings: Arc<Findings>,
    log: LossyStore,
    /// No session has another one's messages.
    pub(super) is_strict: bool,
}

/// Which process wrote an entry, and with which lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EntryWriter {
    pub(super) process: u64,
    pub(super) epoch: u64,
}

#[derive(Default)]
struct WitnessState {
    /// The newest lease of each process on each session, and whether an append was refused because of it.
    leases: HashMap<(u64, SessionId), (Lease, bool)>,
    writers: HashMap<(SessionId, u64), EntryWriter>,
    /// Sessions whose messages others have, too.
    forked: HashSet<SessionId>,
    /// Calls that change something, and how often each was run.
    runs: HashMap<(SessionId, TurnId, CallId), u32>,
}

impl TownWitness {
    pub(super) fn new(log: LossyStore, findings: Arc<Findings>, is_strict: bool) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), findings, log, is_strict })
    }

    fn lock(&self) -> MutexGuard<'_, WitnessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leased(&self, process: u64, lease: &Lease) {
        self.lock().leases.insert((process, lease.session.clone()), (lease.clone(), false));
    }

    /// From its messages a model does not know any more for whom it is asked.
    pub(super) fn forked(&self, from: &SessionId) {
        self.lock().forked.insert(from.clone());
    }
    /// The process has a model do something for a session.
    pub(super) fn has_asked(&self, process: u64, session: &SessionId, what: &str) {
        let is_forked = self.lock().forked.contains(session);
        if !is_forked {
            self.acts(process, session, what);
        }
    }

    /// The process does something for a session.
    pub(super) fn acts(&self, process: u64, session: &SessionId, what: &str) {
        let state = self.lock();
        let Some((lease, refused)) = state.leases.get(&(process, session.clone())) else { return };
        if *refused || lease.signal.lost().is_some() {
            let epoch = lease.epoch;
            self.findings.add(format!("process {process} {what} for {session}, whose lease {epoch} it has lost"));
        }
    }

    /// A call that changes something begins. It was begun before only if a person has allowed that, knowing it.
    pub(super) fn begins(&self, session: &SessionId, call: &CallId) {
        let entries = self.log.entries(session);
        let started = entries.iter().rev().find_map(|entry| match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => Some(turn.clone()),
            _ => None,
        });
        let Some(turn) = started else {
            return self.findings.add(format!("call {call} runs in {session}, where no turn began"));
        };
        let allowed = allowed_again(&entries, &turn, call);
        let mut state = self.lock();
        let runs = state.runs.entry((session.clone(), turn.clone(), call.clone())).or_default();
        *runs += 1;
        if *runs > 1 + allowed {
            self.findings.add(format!("call {call} of turn {turn} in {session} runs {runs} times, allowed {allowed}"));
        }
    }

    pub(super) fn writer(&self, session: &SessionId, seq: u64) -> Option<EntryWriter> {
        self.lock().writers.get(&(session.clone(), seq)).copied()
    }
    /// The lease that a process had last on a session, if it is not lost.
    pub(super) fn epoch(&self, process: u64, session: &SessionId) -> Option<u64> {
        let state = self.lock();
        let (lease, refused) = state.leases.get(&(process, session.clone()))?;
        (!refused && lease.signal.lost().is_none()).then_some(lease.epoch)
    }
    /// Runs of calls that change something, and how many of them were run again.
    pub(super) fn runs(&self) -> (u64, u64) {
        let state = self.lock();
        let all: u64 = state.runs.values().map(|runs| u64::from(*runs)).sum();
        (all, all - state.runs.len() as u64)
    }
    /// The entries behind the last one that is left are no more.
    pub(super) fn forget(&self, session: &SessionId, left: u64) {
        self.lock().writers.retain(|(of, seq), _| of != session || *seq <= left);
    }
}

/// How often a person was told that this call may have run, and wanted it to run all the same.
fn allowed_again(entries: &[Arc<Entry>], turn: &TurnId, call: &CallId) -> u32 {
    let mut doubts: Vec<&AskId> = Vec::new();
    let mut allowed = 0;
    for entry in entries {
        match &entry.body {
            Body::Ask(AskEntry::Opened(ask)) if ask.turn.as_ref() == Some(turn) => match &ask.kind {
                AskKind::Permission(asked) if asked.may_have_run && asked.call == *call => doubts.push(&ask.id),
                _ => {}
            },
            Body::Ask(AskEntry::Closed { ask, end: AskEnd::Answered { answer, .. } }) if doubts.contains(&ask) => {
                allowed += u32::from(matches!(answer, Answer::Allow(_) | Answer::Confirmed(true)));
            }
            _ => {}
        }
    }
    allowed
}

/// One process's way to the store, under a witness's eyes.
#[derive(Clone)]
pub(super) struct WitnessedStore {
    pub(super) process: u64,
    pub(super) inner: LossyStore,
    pub(super) witness: Arc<TownWitness>,
}

impl Store for WitnessedStore {
    fn probe(&self) -> Result<(), Fault> {
        self.inner.probe()
    }
    fn create(&self, new: NewSession) -> Lease {
        let lease = self.inner.create(new);
        self.witness.leased(self.process, &lease);
        lease
    }
    fn acquire(&self, session: &SessionId) -> Later<'static, Result<Acquired, Fault>> {
        let (acquired, witness, process) = (self.inner.acquire(session), self.witness.clone(), self.process);
        Box::pin(async move {
            let acquired = acquired.await?;
            witness.leased(process, &acquired.lease);
            Ok(acquired)
        })
    }
    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>> {
        self.inner.release(lease)
    }
    fn append(
        &self,
        lease: &Lease,
        entries: Vec<Arc<Entry>>,
        durability: Durability,
    ) -> Later<'static, Result<(), Fault>> {
        let (process, session, epoch) = (self.process, lease.session.clone(), lease.epoch);
        if lease.signal.lost().is_some() {
            self.witness.findings.add(format!("process {process} writes to {session} with lease {epoch}, now lost"));
        }
        self.witness.acts(process, &session, "writes");
        let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
        let (done, witness) = (self.inner.append(lease, entries, durability), self.witness.clone());
        Box::pin(async move {
            let result = done.await;
            let mut state = witness.lock();
            match &result {
                Ok(()) => {
                    let writer = EntryWriter { process, epoch };
                    state.writers.extend(seqs.into_iter().map(|seq| ((session.clone(), seq), writer)));
                }
                Err(fault) if fault.kind == FaultKind::SessionBusy => {
                    let newest = state.leases.get_mut(&(process, session));
                    newest.into_iter().filter(|it| it.0.epoch == epoch).for_each(|it| it.1 = true);
                }
                Err(_) => {}
            }
            drop(state);
            result
        })
    }
    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>> {
        self.inner.read(session, after, limit)
    }
    fn summaries(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.inner.summaries(sessions)
    }
    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>> {
        self.inner.count(query)
    }
    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.inner.list(query)
    }
    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>> {
        self.inner.delete(session, by)
    }
    fn watch(&self, session: &SessionId, after: u64) -> Later<'static, Result<Option<u64>, Fault>> {
        self.inner.watch(session, after)
    }
    fn watch_all(&self, after: Option<StoreMoment>) -> Later<'static, Result<StoreChange, Fault>> {
        self.inner.watch_all(after)
    }
    fn audit(&self, query: AuditQuery) -> Later<'static, Result<Vec<AuditLine>, Fault>> {
        self.inner.audit(query)
    }
    fn record(&self, deed: Deed) -> Later<'static, Result<(), Fault>> {
        self.inner.record(deed)
    }
    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>> {
        self.inner.verify_audit(head)
    }
    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.inner.usage(query)
    }
    fn used_by(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.inner.used_by(sessions)
    }
    fn used_since(&self) -> Later<'static, Result<Option<i64>, Fault>> {
        self.inner.used_since()
    }
    fn skim(&self, session: &SessionId, skim: Skim) -> Later<'static, Result<Skimmed, Fault>> {
        self.inner.skim(session, skim)
    }
    fn place(&self) -> PathBuf {
        self.inner.place()
    }
}
