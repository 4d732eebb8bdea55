//! A store that can lose. An append takes effect when its wait is over, in the order of the calls; a crash loses what is
//! still on its way, a power cut everything behind the last append that was synced. Every call takes some turns of the
//! scheduler, and another owner can take a session over.
//!
//! What is there is kept as a journal of appends beside a [`MemoryStore`]: after a loss a new one is made of what is left.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::MemoryStore;
use tokio::sync::oneshot;
use tokio::time::Instant;
use vocab::{
    Acquired, AuditLine, AuditQuery, AuditVerdict, Body, Deed, Durability, Entry, Fault, FaultKind, Later, Lease,
    NewSession, NoteEntry, Page, Principal, Query, SessionId, Skim, Skimmed, Store, StoreChange, StoreMoment, Summary,
    UsageQuery, UsageSum,
};

use crate::sim::Dice;

/// Turns of the scheduler that a call may take.
const YIELDS_MAX: u64 = 4;
/// Between two looks of somebody who watches.
const LOOK_WAIT: Duration = Duration::from_millis(5);
/// Who was told that its lease is gone has this long to stop writing.
const GRACE: Duration = Duration::from_secs(1);

/// One process's way to the store. After a loss that process is dead: nothing it asks is answered any more, and
/// [`LossyStore::process`] gives the next one its own.
#[derive(Clone)]
pub struct LossyStore {
    life: u64,
    /// `None`: the first owner of the sessions.
    owner: Option<Arc<MemoryStore>>,
    state: Arc<Mutex<State>>,
    fail_in: Arc<AtomicU64>,
    reads_fail_in: Arc<AtomicU64>,
    read_wait_ms: Arc<AtomicU64>,
}

struct State {
    inner: Arc<MemoryStore>,
    /// Everything that took effect, in order. A delete stands without entries.
    journal: Vec<Written>,
    /// On their way, in the order of the calls.
    flying: VecDeque<Flying>,
    next: u64,
    /// The lease of each session's owner, for whoever takes it over. Who has not written to a new session is not its owner yet.
    leases: HashMap<SessionId, Lease>,
    /// Leases whose owner was told that they are gone, and when.
    lost: Vec<(Lease, Instant)>,
    /// Sessions whose last append failed: what they wanted to say is not there.
    unsaid: HashSet<SessionId>,
    /// Grows with each loss.
    life: u64,
    waits_ms: Vec<u64>,
    /// `None`: nobody is made to wait for nothing.
    dice: Option<Dice>,
    findings: Vec<String>,
    /// Logs of sessions that were deleted.
    graves: Vec<(SessionId, Vec<Arc<Entry>>)>,
}

struct Written {
    lease: Lease,
    entries: Vec<Arc<Entry>>,
    durability: Durability,
}

/// Something that changes what is there.
struct Flying {
    number: u64,
    /// Its wait is over; it takes effect once all before it have.
    ready: bool,
    job: Box<dyn FnOnce(&mut State) + Send>,
}

fn full() -> Fault {
    Fault::new(FaultKind::Store, "the disk is full, as the test asked")
}

/// Counts down; true when this is the one.
fn is_due(count: &AtomicU64) -> bool {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) == Ok(1)
}

/// A store in memory answers at once.
fn now<T>(mut later: Later<'_, T>) -> T {
    match later.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => unreachable!("the store in memory made somebody wait"),
    }
}

impl LossyStore {
    /// Its calls take as many turns as the dice say.
    pub fn new(dice: Option<Dice>) -> Self {
        let state = State {
            inner: Arc::new(MemoryStore::new()),
            journal: Vec::new(),
            flying: VecDeque::new(),
            next: 0,
            leases: HashMap::new(),
            lost: Vec::new(),
            unsaid: HashSet::new(),
            life: 0,
            waits_ms: Vec::new(),
            dice,
            findings: Vec::new(),
            graves: Vec::new(),
        };
        let count = || Arc::new(AtomicU64::new(0));
        Self {
            life: 0,
            owner: None,
            state: Arc::new(Mutex::new(state)),
            fail_in: count(),
            reads_fail_in: count(),
            read_wait_ms: count(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a process that starts now.
    pub fn process(&self) -> Self {
        Self { life: self.lock().life, ..self.clone() }
    }

    /// Another process beside this one. It ends with the next loss.
    pub fn another(&self) -> Self {
        let owner = Some(Arc::new(self.lock().inner.another()));
        Self { owner, ..self.process() }
    }

    /// This owner was not heard of for its time to live.
    pub fn lapse(&self) {
        self.lock().of(self.owner.as_ref()).lapse();
    }

    // ---- what the test does to it ---------------------------------------------------------------------------------

    /// The `n`-th append from now fails (1 = the next one); the ones after it work again.
    pub fn fail_append(&self, n: u64) {
        self.fail_in.store(n, Ordering::Relaxed);
    }
    /// The append that is to fail has not come yet.
    pub fn is_to_fail(&self) -> bool {
        self.fail_in.load(Ordering::Relaxed) > 0
    }
    /// The last append of this session failed.
    pub fn is_unsaid(&self, session: &SessionId) -> bool {
        self.lock().unsaid.contains(session)
    }
    /// The `n`-th read from now fails.
    pub fn fail_read(&self, n: u64) {
        self.reads_fail_in.store(n, Ordering::Relaxed);
    }
    /// From now on appends take this long, in turn.
    pub fn slow(&self, waits_ms: Vec<u64>) {
        self.lock().waits_ms = waits_ms;
    }
    /// From now on reads take this long; they see what is there at their end.
    pub fn slow_reads(&self, ms: u64) {
        self.read_wait_ms.store(ms, Ordering::Relaxed);
    }

    /// The process died: what was on its way is lost, and whoever comes next may have the leases.
    pub fn crash(&self) {
        self.lose(|_| true);
    }

    /// The machine lost its power: so is everything behind the last append that was synced.
    pub fn power_cut(&self) {
        let kept = {
            let state = self.lock();
            state.journal.iter().rposition(|written| written.durability.is_synced()).map_or(0, |last| last + 1)
        };
        self.lose(|at| at < kept);
    }

    fn lose(&self, keep: impl Fn(usize) -> bool) {
        self.fail_append(0);
        self.fail_read(0);
        self.slow_reads(0);
        let mut state = self.lock();
        state.life += 1;
        state.flying.clear();
        state.leases.clear();
        state.lost.clear();
        state.waits_ms.clear();
        let mut at = 0;
        state.journal.retain(|_| {
            at += 1;
            keep(at - 1)
        });
        state.inner = Arc::new(replay(&state.journal));
    }

    /// Another owner takes the session over, writes a word into its log and leaves again. Its owner is told at once, or learns
    /// of it with its next append. False when it is not there yet.
    pub fn steal(&self, session: &SessionId) -> bool {
        let mut state = self.lock();
        let is_told = state.dice.as_mut().is_none_or(|dice| dice.chance(50));
        let owned = state.leases.remove(session);
        if let Some(lease) = &owned {
            let _ = now(state.inner.release(lease.clone()));
        }
        let Ok(acquired) = now(state.inner.acquire(session)) else { return false };
        let (lease, summary) = (acquired.lease, acquired.summary);
        let seq = summary.last_seq + 1;
        let body = Body::Note(NoteEntry::Recovered { text: "somebody else was here".into() });
        let entry = Arc::new(Entry { seq, parent: summary.last_seq, at_ms: summary.updated_ms, body, by: None });
        let written = Written { lease: lease.clone(), entries: vec![entry], durability: Durability::Now };
        let taken = state.apply(None, written).is_ok();
        let _ = now(state.inner.release(lease));
        state.leases.remove(session);
        if let Some(lost) = owned.filter(|_| is_told) {
            lost.signal.lose(store::faults::busy(session, "somebody else"));
            state.lost.push((lost, Instant::now()));
        }
        taken
    }

    // ---- what the test may know -----------------------------------------------------------------------------------

    /// Everything that has taken effect.
    pub fn entries(&self, session: &SessionId) -> Vec<Arc<Entry>> {
        now(self.lock().inner.read(session, 0, usize::MAX)).map(|page| page.entries).unwrap_or_default()
    }
    pub fn sum(&self, session: &SessionId) -> Option<Summary> {
        now(self.lock().inner.summary(session)).ok().flatten()
    }
    /// Logs of sessions that were deleted since this was asked last.
    pub fn take_graves(&self) -> Vec<(SessionId, Vec<Arc<Entry>>)> {
        std::mem::take(&mut self.lock().graves)
    }
    /// What its user did that no owner of a log may do.
    pub fn findings(&self) -> Vec<String> {
        self.lock().findings.clone()
    }

    fn yields(&self) -> u64 {
        self.lock().dice.as_mut().map_or(0, |dice| dice.below(YIELDS_MAX + 1))
    }

    /// Answers after some turns, with what is then there.
    fn look<T: Send + 'static>(
        &self,
        wait: Duration,
        look: impl FnOnce(&MemoryStore) -> Later<'static, Result<T, Fault>> + Send + 'static,
    ) -> Later<'static, Result<T, Fault>> {
        let (store, yields) = (self.clone(), self.yields());
        Box::pin(async move {
            pass(yields, wait).await;
            let seen = {
                let state = store.lock();
                (state.life == store.life).then(|| now(look(&state.inner)))
            };
            match seen {
                Some(seen) => seen,
                None => std::future::pending().await,
            }
        })
    }

    /// Is done after some turns and a wait, behind everything that was to be done before, whether or not anybody waits
    /// for its answer.
    fn change<T: Send + 'static>(
        &self,
        wait: Duration,
        change: impl FnOnce(&mut State) -> Result<T, Fault> + Send + 'static,
    ) -> Later<'static, Result<T, Fault>> {
        let (reply, answer) = oneshot::channel();
        // It is dropped unsaid when the process dies.
        let answer = Box::pin(async move {
            match answer.await {
                Ok(answer) => answer,
                Err(_) => std::future::pending().await,
            }
        });
        let yields = self.yields();
        let mut state = self.lock();
        if state.life != self.life {
            return answer;
        }
        let number = state.next;
        state.next += 1;
        let job = Box::new(move |state: &mut State| {
            // Whoever asked may be gone: it is done all the same.
            let _ = reply.send(change(state));
        });
        state.flying.push_back(Flying { number, ready: false, job });
        if yields == 0 && wait.is_zero() {
            state.land(number);
            return answer;
        }
        drop(state);
        let store = self.clone();
        tokio::spawn(async move {
            pass(yields, wait).await;
            let mut state = store.lock();
            if state.life == store.life {
                state.land(number);
            }
        });
        answer
    }
}

async fn pass(yields: u64, wait: Duration) {
    for _ in 0..yields {
        tokio::task::yield_now().await;
    }
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
}

/// A store with these appends, open to whoever comes.
fn replay(journal: &[Written]) -> MemoryStore {
    let store = MemoryStore::new();
    let mut leases: HashMap<SessionId, Lease> = HashMap::new();
    for Written { lease, entries, .. } in journal {
        let id = &lease.session;
        if entries.is_empty() {
            if let Some(lease) = leases.remove(id) {
                let _ = now(store.release(lease));
            }
            let _ = now(store.delete(id, None));
            continue;
        }
        if let (false, Some(new)) = (leases.contains_key(id), &lease.new) {
            leases.insert(id.clone(), store.create((**new).clone()));
        }
        let lease = leases.get(id).expect("a log begins with the append that made it");
        now(store.append(lease, entries.clone(), Durability::Now)).expect("what was taken once is taken again");
    }
    for lease in leases.into_values() {
        let _ = now(store.release(lease));
    }
    store
}

impl State {
    fn of<'a>(&'a self, owner: Option<&'a Arc<MemoryStore>>) -> &'a MemoryStore {
        owner.unwrap_or(&self.inner)
    }

    fn apply(&mut self, owner: Option<&Arc<MemoryStore>>, written: Written) -> Result<(), Fault> {
        let result = now(self.of(owner).append(&written.lease, written.entries.clone(), written.durability));
        if result.is_ok() && !written.entries.is_empty() {
            self.leases.insert(written.lease.session.clone(), written.lease.clone());
            self.journal.push(written);
        }
        result
    }

    /// This one's wait is over: it takes effect, and so do those that waited behind it.
    fn land(&mut self, number: u64) {
        if let Some(flying) = self.flying.iter_mut().find(|flying| flying.number == number) {
            flying.ready = true;
        }
        while self.flying.front().is_some_and(|flying| flying.ready) {
            let Some(flying) = self.flying.pop_front() else { return };
            (flying.job)(self);
        }
    }

    fn wait(&mut self) -> Duration {
        if self.waits_ms.is_empty() {
            return Duration::ZERO;
        }
        self.waits_ms.rotate_left(1);
        Duration::from_millis(self.waits_ms.last().copied().unwrap_or(0))
    }

    fn watch(&mut self, lease: &Lease) {
        let told = self.lost.iter().find(|(lost, _)| lost.signal.is_of(lease));
        if let Some((Lease { session, epoch, .. }, since)) = told
            && since.elapsed() > GRACE
        {
            self.findings.push(format!("session {session} is written to with epoch {epoch}, which was lost before"));
        }
    }
}

impl Store for LossyStore {
    fn probe(&self) -> Result<(), Fault> {
        Ok(())
    }
    fn create(&self, new: NewSession) -> Lease {
        self.lock().of(self.owner.as_ref()).create(new)
    }
    fn acquire(&self, session: &SessionId) -> Later<'static, Result<Acquired, Fault>> {
        let (id, owner) = (session.clone(), self.owner.clone());
        self.change(Duration::ZERO, move |state| {
            let acquired = now(state.of(owner.as_ref()).acquire(&id))?;
            state.leases.insert(id, acquired.lease.clone());
            Ok(acquired)
        })
    }
    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>> {
        let owner = self.owner.clone();
        self.change(Duration::ZERO, move |state| now(state.of(owner.as_ref()).release(lease)))
    }
    fn append(
        &self,
        lease: &Lease,
        entries: Vec<Arc<Entry>>,
        durability: Durability,
    ) -> Later<'static, Result<(), Fault>> {
        let fails = is_due(&self.fail_in);
        let wait = {
            let mut state = self.lock();
            state.watch(lease);
            state.wait()
        };
        let written = Written { lease: lease.clone(), entries, durability };
        let owner = self.owner.clone();
        let said = lease.session.clone();
        let done = self.change(wait, move |state| {
            if fails {
                state.unsaid.insert(said);
                return Err(full());
            }
            state.unsaid.remove(&said);
            state.apply(owner.as_ref(), written)
        });
        let (store, lease) = (self.clone(), lease.clone());
        Box::pin(async move {
            let result = done.await;
            // Told only now: an answer that nobody takes tells nobody anything.
            if result.as_ref().is_err_and(|fault| fault.kind == FaultKind::SessionBusy) {
                store.lock().lost.push((lease, Instant::now()));
            }
            result
        })
    }
    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>> {
        if is_due(&self.reads_fail_in) {
            return Box::pin(async { Err(full()) });
        }
        let (id, wait) = (session.clone(), Duration::from_millis(self.read_wait_ms.load(Ordering::Relaxed)));
        self.look(wait, move |store| store.read(&id, after, limit))
    }
    fn summaries(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.look(Duration::ZERO, move |store| store.summaries(sessions))
    }
    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>> {
        self.look(Duration::ZERO, move |store| store.count(query))
    }
    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.look(Duration::ZERO, move |store| store.list(query))
    }
    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>> {
        let (id, owner) = (session.clone(), self.owner.clone());
        self.change(Duration::ZERO, move |state| {
            let log = now(state.inner.read(&id, 0, usize::MAX)).map(|page| page.entries).unwrap_or_default();
            let deleted = now(state.of(owner.as_ref()).delete(&id, by))?;
            if deleted {
                state.graves.push((id.clone(), log));
                state.leases.remove(&id);
                let lease = Lease::on(id, 0);
                state.journal.push(Written { lease, entries: Vec::new(), durability: Durability::Now });
            }
            Ok(deleted)
        })
    }
    fn watch(&self, session: &SessionId, after: u64) -> Later<'static, Result<Option<u64>, Fault>> {
        let (store, id) = (self.clone(), session.clone());
        Box::pin(async move {
            loop {
                match store.summary(&id).await?.map(|summary| summary.last_seq) {
                    Some(last) if last <= after => tokio::time::sleep(LOOK_WAIT).await,
                    news => return Ok(news),
                }
            }
        })
    }
    fn watch_all(&self, after: Option<StoreMoment>) -> Later<'static, Result<StoreChange, Fault>> {
        let store = self.clone();
        Box::pin(async move {
            loop {
                // What is there now, whichever owner made it.
                let look = store.look(Duration::ZERO, move |inner| inner.watch_all(None)).await?;
                match after {
                    Some(after) if look.now == after => tokio::time::sleep(LOOK_WAIT).await,
                    Some(after) => return store.look(Duration::ZERO, move |inner| inner.watch_all(Some(after))).await,
                    None => return Ok(look),
                }
            }
        })
    }
    fn audit(&self, query: AuditQuery) -> Later<'static, Result<Vec<AuditLine>, Fault>> {
        self.look(Duration::ZERO, move |store| store.audit(query))
    }
    fn record(&self, deed: Deed) -> Later<'static, Result<(), Fault>> {
        self.look(Duration::ZERO, move |store| store.record(deed))
    }
    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>> {
        self.look(Duration::ZERO, move |store| store.verify_audit(head))
    }
    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.look(Duration::ZERO, move |store| store.usage(query))
    }
    fn used_by(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.look(Duration::ZERO, move |store| store.used_by(sessions))
    }
    fn used_since(&self) -> Later<'static, Result<Option<i64>, Fault>> {
        self.look(Duration::ZERO, |store| store.used_since())
    }
    fn skim(&self, session: &SessionId, skim: Skim) -> Later<'static, Result<Skimmed, Fault>> {
        let session = session.clone();
        self.look(Duration::ZERO, move |store| store.skim(&session, skim))
    }
    fn place(&self) -> PathBuf {
        PathBuf::from("(memory that forgets)")
    }
}
