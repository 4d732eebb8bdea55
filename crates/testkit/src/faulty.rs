//! A store that fails when it is told to, and takes its time when it is told to. It wraps any other store and keeps that
//! store's promises: a batch that failed is not there, and the order of calls is the order on disk.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use vocab::{
    Acquired, AuditLine, AuditQuery, AuditVerdict, Deed, Durability, Entry, Fault, FaultKind, Later, Lease, NewSession,
    Page, Principal, Query, SessionId, Skim, Skimmed, Store, StoreChange, StoreMoment, Summary, UsageQuery, UsageSum,
};

/// Entries that were appended together, and how safe they were to be.
pub type Batch = (Vec<Arc<Entry>>, Durability);

pub struct FaultyStore {
    inner: Arc<dyn Store>,
    /// Appends left until one fails; 0 = none will.
    fail_in: AtomicU64,
    reads_fail_in: AtomicU64,
    acquires_fail_in: AtomicU64,
    read_wait_ms: AtomicU64,
    /// Each read: behind which entry, and how many at most.
    reads: Mutex<Vec<(u64, usize)>>,
    /// Waits of the appends to come, used in turn; empty = no wait.
    waits_ms: Mutex<Vec<u64>>,
    appends: AtomicU64,
    pressed: AtomicU64,
    /// What was appended, and how safe it was to be.
    appended: Mutex<Vec<Batch>>,
    leases: Mutex<Vec<Lease>>,
}

impl FaultyStore {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            fail_in: AtomicU64::new(0),
            reads_fail_in: AtomicU64::new(0),
            acquires_fail_in: AtomicU64::new(0),
            read_wait_ms: AtomicU64::new(0),
            reads: Mutex::default(),
            waits_ms: Mutex::default(),
            appends: AtomicU64::new(0),
            pressed: AtomicU64::new(0),
            appended: Mutex::default(),
            leases: Mutex::default(),
        }
    }

    /// The `n`-th append from now fails (1 = the next one); the ones after it work again.
    pub fn fail_append(&self, n: u64) {
        self.fail_in.store(n, Ordering::Relaxed);
    }
    /// The `n`-th read from now fails.
    pub fn fail_read(&self, n: u64) {
        self.reads_fail_in.store(n, Ordering::Relaxed);
    }
    /// The `n`-th session that is asked for from now is not given.
    pub fn fail_acquire(&self, n: u64) {
        self.acquires_fail_in.store(n, Ordering::Relaxed);
    }
    /// From now on appends take this long, in turn.
    pub fn slow(&self, waits_ms: Vec<u64>) {
        *lock(&self.waits_ms) = waits_ms;
    }
    /// From now on reads take this long; they see what is there at their end.
    pub fn slow_reads(&self, ms: u64) {
        self.read_wait_ms.store(ms, Ordering::Relaxed);
    }
    /// The reads since this was asked last: behind which entry, and how many at most.
    pub fn reads(&self) -> Vec<(u64, usize)> {
        std::mem::take(&mut *lock(&self.reads))
    }
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::Relaxed)
    }
    /// How often somebody had no time any more for what was under way.
    pub fn pressed(&self) -> u64 {
        self.pressed.load(Ordering::Relaxed)
    }
    /// Every batch that came, also those that failed, and how safe it was to be when it was acknowledged.
    pub fn appended(&self) -> Vec<Batch> {
        lock(&self.appended).clone()
    }

    /// The process that held the leases is dead: whoever comes next may have them.
    pub async fn owner_died(&self) {
        self.fail_append(0);
        self.fail_read(0);
        self.slow_reads(0);
        let leases = std::mem::take(&mut *lock(&self.leases));
        for lease in leases {
            let _ = self.inner.release(lease).await;
        }
    }

    fn wait(&self) -> Option<Duration> {
        let mut waits = lock(&self.waits_ms);
        if waits.is_empty() {
            return None;
        }
        waits.rotate_left(1);
        waits.last().filter(|ms| **ms > 0).map(|ms| Duration::from_millis(*ms))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts down; true when this is the one.
fn is_due(count: &AtomicU64) -> bool {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) == Ok(1)
}

fn full() -> Fault {
    Fault::new(FaultKind::Store, "the disk is full, as the test asked")
}

impl Store for FaultyStore {
    fn press(&self, lease: &Lease) {
        self.pressed.fetch_add(1, Ordering::Relaxed);
        self.inner.press(lease);
    }
    fn probe(&self) -> Result<(), Fault> {
        self.inner.probe()
    }
    fn create(&self, new: NewSession) -> Lease {
        let lease = self.inner.create(new);
        lock(&self.leases).push(lease.clone());
        lease
    }
    fn acquire(&self, session: &SessionId) -> Later<'static, Result<Acquired, Fault>> {
        if is_due(&self.acquires_fail_in) {
            return Box::pin(std::future::ready(Err(full())));
        }
        // A store in memory answers at once; asking here keeps the lease on record whatever becomes of the future.
        let mut asked = self.inner.acquire(session);
        match asked.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
            std::task::Poll::Ready(result) => {
                if let Ok(acquired) = &result {
                    lock(&self.leases).push(acquired.lease.clone());
                }
                Box::pin(async { result })
            }
            std::task::Poll::Pending => asked,
        }
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
        self.appends.fetch_add(1, Ordering::Relaxed);
        lock(&self.appended).push((entries.clone(), durability));
        let wait = self.wait();
        let done: Later<'static, _> = if is_due(&self.fail_in) {
            Box::pin(async { Err(full()) })
        } else {
            self.inner.append(lease, entries, durability)
        };
        Box::pin(async move {
            if let Some(wait) = wait {
                tokio::time::sleep(wait).await;
            }
            done.await
        })
    }
    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>> {
        lock(&self.reads).push((after, limit));
        if is_due(&self.reads_fail_in) {
            return Box::pin(async { Err(full()) });
        }
        let wait = self.read_wait_ms.load(Ordering::Relaxed);
        if wait == 0 {
            return self.inner.read(session, after, limit);
        }
        let (inner, session) = (self.inner.clone(), session.clone());
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            inner.read(&session, after, limit).await
        })
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
    fn watch(&self, session: &SessionId, after: u64) -> Later<'static, Result<Option<u64>, Fault>> {
        self.inner.watch(session, after)
    }
    fn watch_all(&self, after: Option<StoreMoment>) -> Later<'static, Result<StoreChange, Fault>> {
        self.inner.watch_all(after)
    }
    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>> {
        self.inner.delete(session, by)
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
