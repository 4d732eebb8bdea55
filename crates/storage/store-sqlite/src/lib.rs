//! [`vocab::Store`] on SQLite. This file is the caller's side: queues in front of the threads that have the database open.
//!
//! * Every call is queued when it is made, not when its future is polled; the writer takes jobs in that order. So the
//!   order of `append` calls is the order on disk. A slow disk makes callers wait and fails none of them: as many jobs
//!   wait as there are callers who wait for theirs, and a session has a bounded number of appends under way (the engine's
//!   `SessionLog`).
//! * The writer writes all appends that are waiting in one transaction (group commit). Those that are to outlive a power
//!   cut are answered when one sync has served them all (`sync`), the others at once. While all who wait have time
//!   (`Durability::Soon`), it waits a moment for more: nobody was promised anything yet, and who asks first pays for both.
//! * Reads have threads and connections of their own (`reader`). A read sees everything that was asked for before it: it
//!   waits until the writer is done with that much (`progress`).
//! * Nothing touches the disk before the first job; [`SqliteStore::probe`] only looks and makes the directory.

mod append;
mod audit;
mod contents;
mod database;
mod faults;
mod fold;
mod job_queue;
mod leases;
mod lock_file;
mod log;
mod owners;
mod packed;
mod patience;
mod progress;
mod reader;
mod resting;
mod row_writer;
mod rows;
mod shelf;
mod skim;
mod sync;
mod threads;
mod upkeep;
mod usage;
mod watch;
mod window;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use tokio::sync::oneshot;
use vocab::{
    Acquired, AuditLine, AuditQuery, AuditVerdict, Deed, Durability, Entry, Fault, Later, Lease, LogWindow, NewSession,
    Page, Principal, Query, SessionId, Skim, Skimmed, Store, StoreChange, StoreMoment, Summary, UsageQuery, UsageSum,
};

use append::Append;
use owners::LeaseTerms;
use reader::Question;
use store::faults::OwnerRole;
use store::rollup::PriceList;
use threads::Threads;
use watch::WatchedLogs;
use writer::{StoreRequest, WriterJob};

/// Sessions in one SQLite file in `home`.
pub struct SqliteStore {
    home: PathBuf,
    threads: Threads,
}

impl SqliteStore {
    /// Does nothing on disk yet.
    pub fn new(home: PathBuf) -> Self {
        // The directory is used later and from another thread; it must not move with the working directory.
        let home = std::path::absolute(&home).unwrap_or(home);
        Self { threads: Threads::new(home.clone()), home }
    }

    /// What is used is added up by these prices.
    pub fn priced(mut self, prices: PriceList) -> Self {
        self.threads.prices = prices;
        self
    }

    /// Tells `note` what no caller asked about (a log that has grown too large), in words for people.
    pub fn telling(mut self, note: Note) -> Self {
        self.threads.note = note;
        self
    }

    /// Others are told what holds its sessions, and so what to do about it.
    pub fn held_by(mut self, role: OwnerRole) -> Self {
        self.threads.role = Some(role);
        self
    }

    /// Says every now and then that it lives, whatever its home is on; who was not heard of for this long can lose its sessions
    /// to another machine. For tests, which have no disk that is shared by machines: only there the product does so by itself.
    pub fn renewing(mut self, ttl: Duration) -> Self {
        self.threads.terms = LeaseTerms { ttl, always_renews: true };
        self
    }

    /// Queues a job now; the future is only for its answer.
    fn submit<T: Send + 'static>(
        &self,
        job: impl FnOnce(ReplySender<T>) -> WriterJob,
    ) -> Later<'static, Result<T, Fault>> {
        let (reply, answer) = oneshot::channel();
        later(self.threads.write(job(reply)), answer)
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(ReplySender<T>) -> Question,
    ) -> Later<'static, Result<T, Fault>> {
        let (reply, answer) = oneshot::channel();
        later(self.threads.read(question(reply)), answer)
    }
}

fn later<T: Send + 'static>(
    queued: Result<(), Fault>,
    answer: oneshot::Receiver<Result<T, Fault>>,
) -> Later<'static, Result<T, Fault>> {
    match queued {
        Ok(()) => Box::pin(async move { answer.await.unwrap_or_else(|_| Err(faults::thread_died())) }),
        Err(fault) => Box::pin(std::future::ready(Err(fault))),
    }
}

impl SqliteStore {
    /// Reads the whole database and changes nothing: the number of its sessions, or what is wrong with it. `None`: there is
    /// none yet. A large one takes its time.
    pub fn check(&self) -> Result<Option<u64>, Fault> {
        let path = self.home.join(database::FILE_NAME);
        if !path.exists() {
            return Ok(None);
        }
        database::check(&path).map(Some)
    }
}

impl Store for SqliteStore {
    fn probe(&self) -> Result<(), Fault> {
        safefile::private_dir(&self.home).map_err(|error| faults::from_io("create", &self.home, &error))?;
        may(&self.home, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| faults::from_io("write to", &self.home, &error))?;
        let path = self.home.join(database::FILE_NAME);
        let usable = match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(file) if !file.is_file() => Err(io::Error::other("it is not a file")),
            Ok(_) => may(&path, Access::READ_OK | Access::WRITE_OK),
        };
        usable.map_err(|error| faults::from_io("use", &path, &error))
    }

    fn hurry(&self) {
        self.threads.patience.hurry();
    }

    fn hasten(&self) {
        self.threads.patience.hasten();
    }

    fn create(&self, new: NewSession) -> Lease {
        self.threads.patience.take_time();
        Lease::on_new(new)
    }

    fn acquire(&self, session: &SessionId) -> Later<'static, Result<Acquired, Fault>> {
        self.threads.patience.take_time();
        let session = session.clone();
        self.submit(|reply| WriterJob::Request(StoreRequest::Acquire { session, reply }))
    }

    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>> {
        self.submit(|reply| WriterJob::Request(StoreRequest::Release { lease, reply }))
    }

    fn append(
        &self,
        lease: &Lease,
        entries: Vec<Arc<Entry>>,
        durability: Durability,
    ) -> Later<'static, Result<(), Fault>> {
        let lease = lease.clone();
        self.submit(|reply| WriterJob::Append(Append::new(lease, entries, durability, reply)))
    }

    fn press(&self, lease: &Lease) {
        // Where there is no writer any more, nothing waits.
        let _ = self.threads.write(WriterJob::Append(Append::press(lease.clone())));
    }

    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>> {
        let session = session.clone();
        self.ask(|reply| Question::Read { session, after, limit, reply })
    }

    fn window(&self, session: &SessionId, upto: u64) -> Later<'static, Result<LogWindow, Fault>> {
        let session = session.clone();
        self.ask(|reply| Question::Window { session, upto, reply })
    }

    fn conversation(&self, session: &SessionId, entries: u64) -> Later<'static, Result<Vec<Arc<Entry>>, Fault>> {
        let session = session.clone();
        self.ask(|reply| Question::Conversation { session, entries, reply })
    }

    fn summaries(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.ask(|reply| Question::Summaries { sessions, reply })
    }

    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.ask(|reply| Question::List { query, reply })
    }

    /// Asked of the writer, which is needed next: a process that goes on with one session has one connection.
    fn newest(&self, query: Query) -> Later<'static, Result<Option<Summary>, Fault>> {
        self.submit(|reply| WriterJob::Request(StoreRequest::Newest { query, reply }))
    }

    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>> {
        self.ask(|reply| Question::Count { query, reply })
    }

    fn watch(&self, session: &SessionId, after: u64) -> Later<'static, Result<Option<u64>, Fault>> {
        let session = session.clone();
        let (reply, answer) = oneshot::channel();
        later(self.threads.watch(WatchedLogs::Session { session, after, reply }), answer)
    }

    fn watch_all(&self, after: Option<StoreMoment>) -> Later<'static, Result<StoreChange, Fault>> {
        let (reply, answer) = oneshot::channel();
        later(self.threads.watch(WatchedLogs::All { after, reply }), answer)
    }

    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>> {
        let session = session.clone();
        self.submit(|reply| WriterJob::Request(StoreRequest::Delete { session, by, reply }))
    }

    fn audit(&self, query: AuditQuery) -> Later<'static, Result<Vec<AuditLine>, Fault>> {
        self.ask(|reply| Question::Audit { query, reply })
    }

    fn record(&self, deed: Deed) -> Later<'static, Result<(), Fault>> {
        self.submit(|reply| WriterJob::Request(StoreRequest::Record { deed, reply }))
    }

    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>> {
        self.ask(|reply| Question::VerifyAudit { head, reply })
    }

    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.ask(|reply| Question::Usage { query, reply })
    }

    fn used_by(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.ask(|reply| Question::UsedBy { sessions, reply })
    }

    fn used_since(&self) -> Later<'static, Result<Option<i64>, Fault>> {
        self.ask(|reply| Question::UsedSince { reply })
    }

    fn skim(&self, session: &SessionId, skim: Skim) -> Later<'static, Result<Skimmed, Fault>> {
        let session = session.clone();
        self.ask(|reply| Question::Skim { session, skim, reply })
    }

    fn place(&self) -> PathBuf {
        self.home.join(database::FILE_NAME)
    }
}

/// Asks the kernel instead of opening: closing a second handle of the database would drop SQLite's locks on it.
fn may(path: &Path, access: Access) -> io::Result<()> {
    Ok(accessat(CWD, path, access, AtFlags::EACCESS)?)
}

/// Says something to the user of this process.
pub type Note = Arc<dyn Fn(&str) + Send + Sync>;

type ReplySender<T> = oneshot::Sender<Result<T, Fault>>;

/// Why something did not work: a plain no, or trouble with the database.
enum Failure {
    Fault(Fault),
    Sql(rusqlite::Error),
}
type Attempt<T> = Result<T, Failure>;

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Failure::Fault(fault)
    }
}
impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Failure::Sql(error)
    }
}

/// All or nothing. Takes the write lock at once, so that what is read inside stays true until the commit.
fn immediate<T>(connection: &Connection, work: impl FnOnce() -> Attempt<T>) -> Attempt<T> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let result = work().and_then(|value| {
        connection.execute_batch("COMMIT")?;
        Ok(value)
    });
    if result.is_err() && !connection.is_autocommit() {
        // When even this fails the connection is closed by the writer, which rolls back too.
        let _ = connection.execute_batch("ROLLBACK");
    }
    result
}
