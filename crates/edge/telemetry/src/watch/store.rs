//! A store whose appends are looked at. Everything else is passed on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vocab::{
    Acquired, AuditLine, AuditQuery, AuditVerdict, Deed, Durability, Entry, Fault, Later, Lease, LogWindow, NewSession,
    Page, Principal, Query, SessionId, Skim, Skimmed, Store, StoreChange, StoreMoment, Summary, UsageQuery, UsageSum,
};

/// Looks at what is written to logs. What happened elsewhere and is only copied here, by a fork or from a file, has been looked
/// at when it happened: of that a watch hears in [`LogWatch::copied`] alone.
pub trait LogWatch: Send + Sync {
    /// These are on their way to the disk, in the order in which they happened.
    fn offered(&self, _session: &SessionId, _entries: &[Arc<Entry>]) {}
    /// These are in the log now.
    fn written(&self, _session: &SessionId, _entries: &[Arc<Entry>], _durability: Durability, _took: Duration) {}
    /// These are in the log now, and happened in another one.
    fn copied(&self, _session: &SessionId, _entries: &[Arc<Entry>]) {}
    /// Something could not be written; it may be offered again.
    fn refused(&self, _session: &SessionId, _fault: &Fault) {}
    /// A log could not be read for its session; it may be tried again.
    fn unread(&self, _session: &SessionId, _fault: &Fault) {}
    fn deleted(&self, _session: &SessionId) {}
    /// The session is not in memory any more.
    fn released(&self, _session: &SessionId) {}
}

/// How many of these happened in this log. A log that begins with what is nobody's doing is a copy behind its first entry.
fn happened_here(entries: &[Arc<Entry>]) -> usize {
    let begins = entries.first().is_some_and(|first| first.seq == 1);
    let is_copy = begins && entries.iter().skip(1).all(|entry| entry.by.is_none());
    if is_copy { 1 } else { entries.len() }
}

pub struct WatchedStore {
    below: Arc<dyn Store>,
    watch: Arc<dyn LogWatch>,
}

impl WatchedStore {
    pub fn new(below: Arc<dyn Store>, watch: Arc<dyn LogWatch>) -> Self {
        Self { below, watch }
    }
}

impl Store for WatchedStore {
    fn append(
        &self,
        lease: &Lease,
        entries: Vec<Arc<Entry>>,
        durability: Durability,
    ) -> Later<'static, Result<(), Fault>> {
        let (session, offered, watch) = (lease.session.clone(), entries.clone(), self.watch.clone());
        let here = happened_here(&offered);
        watch.offered(&session, &offered[..here]);
        let since = Instant::now();
        let append = self.below.append(lease, entries, durability);
        Box::pin(async move {
            let done = append.await;
            match &done {
                Ok(()) => {
                    watch.written(&session, &offered[..here], durability, since.elapsed());
                    if here < offered.len() {
                        watch.copied(&session, &offered[here..]);
                    }
                }
                Err(fault) => watch.refused(&session, fault),
            }
            done
        })
    }
    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>> {
        let (gone, watch, delete) = (session.clone(), self.watch.clone(), self.below.delete(session, by));
        Box::pin(async move {
            let deleted = delete.await?;
            watch.deleted(&gone);
            Ok(deleted)
        })
    }
    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>> {
        self.watch.released(&lease.session);
        self.below.release(lease)
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
    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>> {
        self.below.read(session, after, limit)
    }
    fn window(&self, session: &SessionId, upto: u64) -> Later<'static, Result<LogWindow, Fault>> {
        let (window, session, watch) = (self.below.window(session, upto), session.clone(), self.watch.clone());
        Box::pin(async move { window.await.inspect_err(|fault| watch.unread(&session, fault)) })
    }
    fn conversation(&self, session: &SessionId, entries: u64) -> Later<'static, Result<Vec<Arc<Entry>>, Fault>> {
        self.below.conversation(session, entries)
    }
    fn summaries(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.below.summaries(sessions)
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
    fn record(&self, deed: Deed) -> Later<'static, Result<(), Fault>> {
        self.below.record(deed)
    }
    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>> {
        self.below.verify_audit(head)
    }
    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.below.usage(query)
    }
    fn used_by(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.below.used_by(sessions)
    }
    fn used_since(&self) -> Later<'static, Result<Option<i64>, Fault>> {
        self.below.used_since()
    }
    fn skim(&self, session: &SessionId, skim: Skim) -> Later<'static, Result<Skimmed, Fault>> {
        self.below.skim(session, skim)
    }
    fn hurry(&self) {
        self.below.hurry();
    }
    fn press(&self, lease: &Lease) {
        self.below.press(lease);
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
