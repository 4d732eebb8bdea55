//! A store whose sessions have files. Entries go to the inner store first; what it has taken is then written to the
//! session's file, before anybody is told. The file may lag behind, never the store.

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{
    Acquired, Archive, AuditLine, AuditQuery, AuditVerdict, Body, Border, Deed, Durability, Entry, Fault, Ids, Later,
    Lease, LogWindow, Mode, NewSession, NoteEntry, Page, Principal, Query, SessionId, Skim, Skimmed, Store,
    StoreChange, StoreMoment, Summary, UsageQuery, UsageSum,
};

use crate::mirror::OLD_VERSION;
use crate::shared::SharedMirrors;
use crate::{ModelNames, Note, find, tail};

/// What a [`Mirrored`] is made of.
pub struct MirrorSetup {
    pub store: Arc<dyn Store>,
    /// For everything that is no session file of this family.
    pub archive: Arc<dyn Archive>,
    pub models: Arc<dyn ModelNames>,
    pub ids: Arc<dyn Ids>,
    /// Where new files go.
    pub dir: PathBuf,
    /// `dir` was asked for. Otherwise new files go where the last opened one is.
    pub dir_is_fixed: bool,
    /// For files that do not say.
    pub mode: Mode,
    /// What files may decide.
    pub border: Arc<dyn Border>,
    pub note: Note,
}

/// A [`Store`] and an [`Archive`] around others.
#[derive(Clone)]
pub struct Mirrored {
    pub(crate) shared: Arc<SharedMirrors>,
}

impl Mirrored {
    pub fn new(setup: MirrorSetup) -> Self {
        Self { shared: Arc::new(SharedMirrors::new(setup)) }
    }

    /// Where new files go now.
    pub fn dir(&self) -> PathBuf {
        self.shared.dir()
    }
}

impl Store for Mirrored {
    fn probe(&self) -> Result<(), Fault> {
        self.shared.setup.store.probe()
    }

    fn create(&self, new: NewSession) -> Lease {
        if let Some(parent) = &new.parent {
            self.shared.give_parent(&new.id, parent.to_string());
        }
        self.shared.open_mirror(&new.id, new.at_ms);
        self.shared.setup.store.create(new)
    }

    fn acquire(&self, session: &SessionId) -> Later<'static, Result<Acquired, Fault>> {
        let (shared, session) = (self.shared.clone(), session.clone());
        let acquired = shared.setup.store.acquire(&session);
        Box::pin(async move {
            let acquired = acquired.await?;
            match acquired.summary.child_of.is_some() {
                true => shared.mark_subagent(&session),
                false => _ = shared.open_mirror(&session, acquired.summary.created_ms),
            }
            Ok(acquired)
        })
    }

    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>> {
        let mirror = self.shared.close(&lease.session);
        let released = self.shared.setup.store.release(lease);
        Box::pin(async move {
            // What is still being written is waited for, so that the next owner finds it.
            if let Some(mirror) = mirror
                && let Some(file) = mirror.lock().await.unsynced()
            {
                let _ = tokio::task::spawn_blocking(move || file.sync_data()).await;
            }
            released.await
        })
    }

    fn append(
        &self,
        lease: &Lease,
        entries: Vec<Arc<Entry>>,
        durability: Durability,
    ) -> Later<'static, Result<(), Fault>> {
        // Handed over at once: the order of calls is the order on disk.
        let stored = self.shared.setup.store.append(lease, entries.clone(), durability);
        let (shared, lease) = (self.shared.clone(), lease.clone());
        Box::pin(async move {
            stored.await?;
            shared.follow(lease, entries, durability.is_synced()).await;
            Ok(())
        })
    }

    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>> {
        self.shared.setup.store.read(session, after, limit)
    }

    fn window(&self, session: &SessionId, upto: u64) -> Later<'static, Result<LogWindow, Fault>> {
        self.shared.setup.store.window(session, upto)
    }

    fn conversation(&self, session: &SessionId, entries: u64) -> Later<'static, Result<Vec<Arc<Entry>>, Fault>> {
        self.shared.setup.store.conversation(session, entries)
    }

    fn summaries(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.shared.setup.store.summaries(sessions)
    }

    fn newest(&self, query: Query) -> Later<'static, Result<Option<Summary>, Fault>> {
        self.shared.setup.store.newest(query)
    }

    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>> {
        self.shared.setup.store.count(query)
    }

    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.shared.setup.store.list(query)
    }

    fn watch(&self, session: &SessionId, after: u64) -> Later<'static, Result<Option<u64>, Fault>> {
        self.shared.setup.store.watch(session, after)
    }

    fn watch_all(&self, after: Option<StoreMoment>) -> Later<'static, Result<StoreChange, Fault>> {
        self.shared.setup.store.watch_all(after)
    }

    /// The file goes too, unless another program began it.
    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>> {
        let (shared, session) = (self.shared.clone(), session.clone());
        let beginning = shared.setup.store.read(&session, 0, 2);
        Box::pin(async move {
            let entries = beginning.await.map(|page| page.entries).unwrap_or_default();
            let is_theirs = entries.iter().any(|entry| matches!(entry.body, Body::Note(NoteEntry::Imported { .. })));
            let deleted = shared.setup.store.delete(&session, by).await;
            // A delete may have worked and leave something to be said.
            let is_gone = match &deleted {
                Ok(is_gone) => *is_gone,
                Err(_) => !entries.is_empty() && matches!(shared.setup.store.summary(&session).await, Ok(None)),
            };
            if is_gone
                && !is_theirs
                && let Some(path) = shared.known_path(&session)
                && find::is_named_after(&path, &session)
            {
                // With what was once cut off it, or stood in it before it was written anew.
                for file in [path.clone(), tail::side_file(&path), tail::beside(&path, OLD_VERSION)] {
                    if let Err(error) = std::fs::remove_file(&file)
                        && error.kind() != std::io::ErrorKind::NotFound
                    {
                        shared.note(&format!("the session file {} could not be deleted: {error}", file.display()));
                    }
                }
            }
            if is_gone {
                shared.forget(&session);
            }
            deleted
        })
    }

    fn audit(&self, query: AuditQuery) -> Later<'static, Result<Vec<AuditLine>, Fault>> {
        self.shared.setup.store.audit(query)
    }
    fn record(&self, deed: Deed) -> Later<'static, Result<(), Fault>> {
        self.shared.setup.store.record(deed)
    }
    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>> {
        self.shared.setup.store.verify_audit(head)
    }
    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.shared.setup.store.usage(query)
    }
    fn used_by(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.shared.setup.store.used_by(sessions)
    }
    fn used_since(&self) -> Later<'static, Result<Option<i64>, Fault>> {
        self.shared.setup.store.used_since()
    }
    fn skim(&self, session: &SessionId, skim: Skim) -> Later<'static, Result<Skimmed, Fault>> {
        self.shared.setup.store.skim(session, skim)
    }
    fn hurry(&self) {
        self.shared.setup.store.hurry();
    }

    fn press(&self, lease: &Lease) {
        self.shared.setup.store.press(lease);
    }
    fn hasten(&self) {
        self.shared.setup.store.hasten();
    }

    fn place(&self) -> PathBuf {
        self.shared.setup.store.place()
    }

    fn file(&self, session: &SessionId) -> Option<PathBuf> {
        self.shared.known_path(session)
    }
}
