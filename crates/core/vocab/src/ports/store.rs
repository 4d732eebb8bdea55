//! Sessions on disk.

use std::path::PathBuf;
use std::sync::Arc;

use super::Later;
use crate::{
    AuditLine, AuditQuery, AuditVerdict, Body, Entry, Fault, Mode, NoteEntry, Principal, SessionId, Usage, UsageQuery,
    UsageSum,
};

/// Sessions on disk. One writer per session: a lease with an epoch, checked by every append in the same
/// transaction that writes.
pub trait Store: Send + Sync {
    /// Fails fast, and without side effects beyond creating the directory, when nothing could be written.
    fn probe(&self) -> Result<(), Fault>;
    /// A lease on a session that does not exist yet. Touches no disk: the session appears with its first append.
    fn create(&self, new: NewSession) -> Lease;
    /// Takes over an existing session; `SessionBusy` while its owner lives. A damaged end of its log is cut off first.
    fn acquire(&self, session: &SessionId) -> Later<'static, Result<Acquired, Fault>>;
    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>>;
    /// Appends in order, all or nothing. The order of calls is the order on disk, whether or not the futures are
    /// polled; those of one session are answered in that order, too. After a failure nothing of the batch is there, nor of
    /// those behind it, and the same entries may be offered again.
    fn append(
        &self,
        lease: &Lease,
        entries: Vec<Arc<Entry>>,
        durability: Durability,
    ) -> Later<'static, Result<(), Fault>>;
    /// Entries with `seq > after`, oldest first. Changes nothing: what is damaged is left out or stood in for, and named
    /// in `recovered`.
    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>>;
    fn summary(&self, session: &SessionId) -> Later<'static, Result<Option<Summary>, Fault>>;
    /// Newest first, without reading any log.
    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>>;
    /// How many a list without limit and offset would have.
    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>>;
    /// Together with its children; refused while one of them is open somewhere. `by`: who wants it gone.
    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>>;
    /// Who did what, newest first.
    fn audit(&self, query: AuditQuery) -> Later<'static, Result<Vec<AuditLine>, Fault>>;
    /// Whether a line of the audit, or an entry that one stands for, was changed. `head`: one that somebody has kept.
    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>>;
    /// What was used, the most expensive or most used first; days in their order.
    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>>;
    /// Where it all is, for people.
    fn place(&self) -> PathBuf;
    /// The file that follows this session's log, where there is one. It may not exist yet.
    fn file(&self, _session: &SessionId) -> Option<PathBuf> {
        None
    }
}

/// What an append outlives once it is answered; the greater, the safer or the sooner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Durability {
    /// Our own death.
    #[default]
    Commit,
    /// A power cut. It may take a moment longer, so that a neighbour is written to the disk with it.
    Soon,
    /// A power cut, and somebody waits.
    Now,
}

impl Durability {
    /// It is on the disk.
    pub fn is_synced(self) -> bool {
        self > Durability::Commit
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct NewSession {
    pub id: SessionId,
    pub workspace: PathBuf,
    pub model: Arc<str>,
    pub mode: Mode,
    pub at_ms: i64,
    /// What it is said to come from; only a session's own file tells it on.
    pub parent: Option<Arc<str>>,
}

/// The right to append to one session. Older epochs are refused.
#[derive(Clone, Debug)]
pub struct Lease {
    pub session: SessionId,
    pub epoch: u64,
    /// Set until the first append has made the session.
    pub new: Option<Arc<NewSession>>,
}

/// A session that was taken over, as it is under the lease: what was read before somebody had it may be old.
#[derive(Clone, Debug)]
pub struct Acquired {
    pub lease: Lease,
    pub summary: Summary,
    /// What had to be repaired. Said here and nowhere else, so its new owner writes it into the log.
    pub recovered: Option<String>,
}

impl Acquired {
    /// The entry that says what was repaired; the first one under this lease.
    pub fn notice(&self, at_ms: i64) -> Option<Arc<Entry>> {
        let body = Body::Note(NoteEntry::Recovered { text: self.recovered.as_deref()?.into() });
        let last = self.summary.last_seq;
        Some(Arc::new(Entry { seq: last + 1, parent: last, at_ms, body, by: None }))
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    pub entries: Vec<Arc<Entry>>,
    /// What is damaged in this part of the log.
    pub recovered: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    pub id: SessionId,
    pub workspace: PathBuf,
    pub model: Arc<str>,
    pub mode: Mode,
    pub title: Option<Arc<str>>,
    pub thinking: Option<Arc<str>>,
    /// Start of the first prompt.
    pub preview: Option<Arc<str>>,
    pub created_ms: i64,
    pub updated_ms: i64,
    /// User and assistant messages.
    pub messages: u64,
    pub turns: u64,
    pub last_seq: u64,
    pub usage: Usage,
    /// The session whose call it worked for.
    pub child_of: Option<SessionId>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Query {
    pub workspace: Option<PathBuf>,
    /// Only ids that start or end with this.
    pub id_part: Option<String>,
    pub non_empty: bool,
    /// Also those that work or worked for a call of another session.
    pub children: bool,
    pub limit: Option<usize>,
    pub offset: usize,
}
