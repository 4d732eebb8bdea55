//! Sessions on disk.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Acquired, Later, Lease, StoreChange, StoreMoment};
use crate::{
    AuditLine, AuditQuery, AuditVerdict, Deed, Entry, Fault, FaultKind, LaneWish, LogWindow, Mode, Principal,
    SessionId, Skim, Skimmed, Usage, UsageQuery, UsageSum, conversation,
};

/// Sessions on disk. One writer per session: a lease with an epoch, checked by every append in the same
/// transaction that writes.
///
/// A lease belongs to an owner, which is one handle of the store in one process. An owner has a name for people; whether it
/// lives is asked of the owner and never of each session, so that a lease costs nothing while nothing is written. An owner
/// that was not heard of for its time to live can lose its leases to whoever asks for them, and to nobody else: one that
/// slept for a night finds them as it left them. Who has lost one is told ([`Lease::signal`]).
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
    /// What a session needs of its log, up to this entry, to go on. A store need not read all of the log for it.
    fn window(&self, session: &SessionId, upto: u64) -> Later<'static, Result<LogWindow, Fault>> {
        let whole = self.read(session, 0, usize::MAX);
        Box::pin(async move { whole.await.map(|page| LogWindow::of(page, upto)) })
    }
    /// What is told again of a session ([`conversation`]) to somebody who takes a look. `entries`: about how many its log has.
    fn conversation(&self, session: &SessionId, _entries: u64) -> Later<'static, Result<Vec<Arc<Entry>>, Fault>> {
        let whole = self.read(session, 0, usize::MAX);
        Box::pin(async move { whole.await.map(|page| conversation(&page.entries)) })
    }
    fn summary(&self, session: &SessionId) -> Later<'static, Result<Option<Summary>, Fault>> {
        let found = self.summaries(vec![session.clone()]);
        Box::pin(async move { found.await.map(|mut found| found.pop()) })
    }
    /// Those of these sessions that are there, in this order.
    fn summaries(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<Summary>, Fault>>;
    /// Newest first, without reading any log.
    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>>;
    /// The first of a list, for somebody who is about to take it up.
    fn newest(&self, query: Query) -> Later<'static, Result<Option<Summary>, Fault>> {
        let list = self.list(Query { limit: Some(1), ..query });
        Box::pin(async move { list.await.map(|mut list| list.pop()) })
    }
    /// How many a list without limit and offset would have.
    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>>;
    /// Waits until the session's log goes beyond `after`, whichever process wrote it. Where it ends; `None`: there is no such
    /// session. Costs nothing while nobody waits.
    fn watch(&self, session: &SessionId, after: u64) -> Later<'static, Result<Option<u64>, Fault>>;
    /// Waits until something was written to any session since `after`; without it, says at once where the store is. May
    /// come for nothing, and does not fail to come for something.
    fn watch_all(&self, after: Option<StoreMoment>) -> Later<'static, Result<StoreChange, Fault>>;
    /// Together with its children; refused while one of them is open somewhere. `by`: who wants it gone.
    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>>;
    /// Who did what, newest first.
    fn audit(&self, query: AuditQuery) -> Later<'static, Result<Vec<AuditLine>, Fault>>;
    /// One more line of it, of no session.
    fn record(&self, _deed: Deed) -> Later<'static, Result<(), Fault>> {
        let fault = Fault::new(FaultKind::Unsupported, "this store has no audit of its own");
        Box::pin(std::future::ready(Err(fault)))
    }
    /// Whether a line of the audit, or an entry that one stands for, was changed. `head`: one that somebody has kept.
    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>>;
    /// What was used, the most expensive or most used first; days in their order.
    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>>;
    /// What each of these sessions has used in all its days, in no order; one that has used nothing is left out.
    fn used_by(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<UsageSum>, Fault>>;
    /// The first day of which sums are kept ([`crate::day_of`]); `None`: nothing was used yet.
    fn used_since(&self) -> Later<'static, Result<Option<i64>, Fault>>;
    /// Looks through a log from its end. Costs the same however long the log is.
    fn skim(&self, session: &SessionId, skim: Skim) -> Later<'static, Result<Skimmed, Fault>>;
    /// The process ends: from now on nothing waits for other processes for long. What they keep from being written is
    /// refused, and found as unfinished by whoever comes next. Over when somebody takes a session again.
    fn hurry(&self) {}
    /// A person waits for what is being written, or is about to be: that does not wait for other processes for long. What comes
    /// later does.
    fn hasten(&self) {}
    /// Somebody waits for what was appended under this lease and had time ([`Durability::Soon`]): it has none any more.
    fn press(&self, _lease: &Lease) {}
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
    /// When the last user or assistant message was logged.
    pub last_message_ms: Option<i64>,
    /// What it wants of its own for its queue.
    pub lane: LaneWish,
    pub elevated_until_ms: Option<i64>,
    /// What its model was chosen by, where that is not the model's own name.
    pub model_called: Option<Arc<str>>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Query {
    pub workspace: Option<PathBuf>,
    /// Only ids that start or end with this.
    pub id_part: Option<String>,
    pub non_empty: bool,
    /// Also those that work or worked for a call of another session.
    pub children: bool,
    /// Only those that work or worked for a call of this one.
    pub child_of: Option<SessionId>,
    /// Only those that have something to go on with: a turn that did not end, a question without an answer, a message that
    /// waits. For a process that starts anew.
    pub unfinished: bool,
    pub limit: Option<usize>,
    pub offset: usize,
    /// Only ids that start with this.
    pub id_prefix: Option<String>,
    /// Beside those that start so, ids in which this character is not.
    pub or_without: Option<char>,
    pub order: Order,
    /// Only those whose id or title has this, whatever the case of its letters.
    pub text: Option<String>,
    /// In a list by [`Order::LastMessage`]: only those with a message that stand behind the session of this name whose newest
    /// message was then.
    pub behind: Option<(i64, SessionId)>,
}

/// What stands first in a list.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Order {
    /// What was written to last.
    #[default]
    Used,
    /// Where the newest message is; sessions without one come last.
    LastMessage,
}
