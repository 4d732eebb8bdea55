//! The store as the engine writes to it: what is committed is counted on its way. Everything else is passed on.

use std::path::PathBuf;
use std::sync::Arc;

use dialect_gateway::services::sessions::frontend_and_user;
use vocab::{
    Acquired, AuditLine, AuditQuery, AuditVerdict, Body, Durability, Entry, Fault, Later, Lease, LogWindow, NewSession,
    Page, Principal, Query, SessionId, Store, StoreChange, StoreMoment, Summary, UsageQuery, UsageSum, UserFrom,
};

use super::{GatewayCounts, lock};

pub(super) struct CountingStore {
    below: Arc<dyn Store>,
    counts: GatewayCounts,
}

impl CountingStore {
    pub(super) fn new(below: Arc<dyn Store>, counts: GatewayCounts) -> Self {
        Self { below, counts }
    }
}

impl GatewayCounts {
    /// These are in the log now.
    pub(super) fn written(&self, session: &SessionId, entries: &[Arc<Entry>]) {
        let mut touched = lock(&self.0.touched);
        touched.touch(session);
        for entry in entries {
            let is_written_by_people =
                matches!(entry.body, Body::User { from: UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp, .. });
            if is_written_by_people {
                let (frontend, user) = frontend_and_user(session);
                lock(&self.0.presence).seen(frontend, user, entry.at_ms);
            }
            if matches!(entry.body, Body::User { .. } | Body::Assistant { .. }) {
                touched.message(session, entry.at_ms);
            }
        }
        drop(touched);
        let mut counters = lock(&self.0.counters);
        entries.iter().for_each(|entry| counters.count(session, entry));
    }

    fn deleted(&self, session: &SessionId) {
        lock(&self.0.touched).forget(session);
        lock(&self.0.counters).forget(session);
    }
}

impl Store for CountingStore {
    fn append(
        &self,
        lease: &Lease,
        entries: Vec<Arc<Entry>>,
        durability: Durability,
    ) -> Later<'static, Result<(), Fault>> {
        let (session, written, counts) = (lease.session.clone(), entries.clone(), self.counts.clone());
        let append = self.below.append(lease, entries, durability);
        Box::pin(async move {
            append.await?;
            counts.written(&session, &written);
            Ok(())
        })
    }
    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>> {
        let (gone, counts, delete) = (session.clone(), self.counts.clone(), self.below.delete(session, by));
        Box::pin(async move {
            let deleted = delete.await?;
            counts.deleted(&gone);
            Ok(deleted)
        })
    }

    fn probe(&self) -> Result<(), Fault> {
        self.below.probe()
    }
    fn create(&self, new: NewSession) -> Lease {
        self.below.create(new)
    }
    fn acquire(&self, session: &SessionId) -> Later<'static, Result<Acquired, Fault>> {
        self.below.acquire(session)
    }
    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>> {
        self.below.release(lease)
    }
    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>> {
        self.below.read(session, after, limit)
    }
    fn window(&self, session: &SessionId, upto: u64) -> Later<'static, Result<LogWindow, Fault>> {
        self.below.window(session, upto)
    }
    fn conversation(&self, session: &SessionId, entries: u64) -> Later<'static, Result<Vec<Arc<Entry>>, Fault>> {
        self.below.conversation(session, entries)
    }
    fn summary(&self, session: &SessionId) -> Later<'static, Result<Option<Summary>, Fault>> {
        self.below.summary(session)
    }
    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.below.list(query)
    }
    fn newest(&self, query: Query) -> Later<'static, Result<Option<Summary>, Fault>> {
        self.below.newest(query)
    }
    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>> {
        self.below.count(query)
    }
    fn watch(&self, session: &SessionId, after: u64) -> Later<'static, Result<Option<u64>, Fault>> {
        self.below.watch(session, after)
    }
    fn watch_all(&self, after: Option<StoreMoment>) -> Later<'static, Result<StoreChange, Fault>> {
        self.below.watch_all(after)
    }
    fn audit(&self, query: AuditQuery) -> Later<'static, Result<Vec<AuditLine>, Fault>> {
        self.below.audit(query)
    }
    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>> {
        self.below.verify_audit(head)
    }
    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.below.usage(query)
    }
    fn hurry(&self) {
        self.below.hurry();
    }
    fn hasten(&self) {
        self.below.hasten();
    }
    fn place(&self) -> PathBuf {
        self.below.place()
    }
    fn file(&self, session: &SessionId) -> Option<PathBuf> {
        self.below.file(session)
    }
}
