//! The threads that read. Each has a connection of its own, which may look and not change, so that no append waits for a
//! read and no read parts a group of appends.
//!
//! There are two of them, so that a list of all sessions or a log of a hundred thousand entries does not keep a summary
//! waiting; and among those who want much, each gets one slice in turn.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use vocab::{
    AuditLine, AuditQuery, AuditVerdict, Entry, Fault, LogWindow, Page, Query, SessionId, ShelfKind, ShelfNames,
    ShelfPlace, Shelved, Skim, Skimmed, Summary, UsageQuery, UsageSum,
};

use super::job_queue::{JobQueue, NoJob};
use super::log::{self, LogCursor, LogScan, SLICE_ROWS};
use super::progress::Ticket;
use super::sync::{FileIdentity, identity};
use super::upkeep::has_unwiped;
use super::writer::{Trust, judged};
use super::{Attempt, ReplySender, audit, database, rows, shelf, skim, usage};
use crate::faults;

/// The rows of a log that is read in little time, a few slices: whoever has only such logs needs one connection.
const SHORT_LOG_ROWS: u64 = 8 * SLICE_ROWS as u64;

/// Without a question for this long, caches are given back.
const IDLE: Duration = Duration::from_millis(500);

pub(super) enum Question {
    Read {
        session: SessionId,
        after: u64,
        limit: usize,
        reply: ReplySender<Page>,
    },
    Window {
        session: SessionId,
        upto: u64,
        reply: ReplySender<LogWindow>,
    },
    /// With the number of its entries, as far as it is known.
    Conversation {
        session: SessionId,
        entries: u64,
        reply: ReplySender<Vec<Arc<Entry>>>,
    },
    Summaries {
        sessions: Vec<SessionId>,
        reply: ReplySender<Vec<Summary>>,
    },
    List {
        query: Query,
        reply: ReplySender<Vec<Summary>>,
    },
    Count {
        query: Query,
        reply: ReplySender<u64>,
    },
    Audit {
        query: AuditQuery,
        reply: ReplySender<Vec<AuditLine>>,
    },
    VerifyAudit {
        head: Option<String>,
        reply: ReplySender<AuditVerdict>,
    },
    Usage {
        query: UsageQuery,
        reply: ReplySender<Vec<UsageSum>>,
    },
    UsedBy {
        sessions: Vec<SessionId>,
        reply: ReplySender<Vec<UsageSum>>,
    },
    UsedSince {
        reply: ReplySender<Option<i64>>,
    },
    Skim {
        session: SessionId,
        skim: Skim,
        reply: ReplySender<Skimmed>,
    },
    Shelved {
        place: ShelfPlace,
        reply: ReplySender<Option<Shelved>>,
    },
    Shelf {
        kind: ShelfKind,
        owner: Option<Arc<str>>,
        limit: usize,
        reply: ReplySender<Vec<Shelved>>,
    },
    ShelfNames {
        kind: ShelfKind,
        owner: Arc<str>,
        limit: usize,
        reply: ReplySender<ShelfNames>,
    },
}

impl Question {
    /// Answered within one slice, so it need not wait behind those that take many.
    pub(super) fn is_quick(&self) -> bool {
        match self {
            Question::Shelved { .. } | Question::UsedSince { .. } => true,
            Question::Read { limit, .. } | Question::Shelf { limit, .. } | Question::ShelfNames { limit, .. } => {
                *limit <= SLICE_ROWS
            }
            Question::List { query, .. } => {
                query.text.is_none() && query.limit.is_some_and(|limit| limit <= SLICE_ROWS)
            }
            Question::Summaries { sessions, .. } | Question::UsedBy { sessions, .. } => sessions.len() <= SLICE_ROWS,
            Question::Window { upto: entries, .. } | Question::Conversation { entries, .. } => {
                *entries <= SHORT_LOG_ROWS
            }
            Question::Count { .. }
            | Question::Audit { .. }
            | Question::VerifyAudit { .. }
            | Question::Usage { .. }
            | Question::Skim { .. } => false,
        }
    }

    fn refuse(self, fault: Fault) {
        match self {
            Question::Read { reply, .. } => _ = reply.send(Err(fault)),
            Question::Window { reply, .. } => _ = reply.send(Err(fault)),
            Question::Conversation { reply, .. } => _ = reply.send(Err(fault)),
            Question::Summaries { reply, .. } => _ = reply.send(Err(fault)),
            Question::List { reply, .. } => _ = reply.send(Err(fault)),
            Question::Count { reply, .. } => _ = reply.send(Err(fault)),
            Question::Audit { reply, .. } => _ = reply.send(Err(fault)),
            Question::VerifyAudit { reply, .. } => _ = reply.send(Err(fault)),
            Question::Usage { reply, .. } => _ = reply.send(Err(fault)),
            Question::UsedBy { reply, .. } => _ = reply.send(Err(fault)),
            Question::UsedSince { reply } => _ = reply.send(Err(fault)),
            Question::Skim { reply, .. } => _ = reply.send(Err(fault)),
            Question::Shelved { reply, .. } => _ = reply.send(Err(fault)),
            Question::Shelf { reply, .. } => _ = reply.send(Err(fault)),
            Question::ShelfNames { reply, .. } => _ = reply.send(Err(fault)),
        }
    }
}

/// A question, and what it has to see.
pub(super) struct ReaderJob {
    pub(super) ticket: Option<Ticket>,
    pub(super) question: Question,
}

/// A question that was begun.
struct OpenRead {
    job: ReaderJob,
    /// A log that was read in part.
    cursor: Option<LogCursor>,
}

pub(super) struct Reader {
    home: PathBuf,
    inbox: JobQueue<ReaderJob>,
    /// In turn. As many as there are callers who wait.
    open: VecDeque<OpenRead>,
    connection: Option<Connection>,
    /// The file that it has open.
    opened: Option<FileIdentity>,
    /// Tells that a delete is not finished.
    unwiped: Arc<AtomicBool>,
}

impl Reader {
    pub(super) fn new(home: PathBuf, inbox: JobQueue<ReaderJob>, unwiped: Arc<AtomicBool>) -> Self {
        Self { home, inbox, open: VecDeque::new(), connection: None, opened: None, unwiped }
    }

    /// Ends when the store is dropped and everybody has an answer.
    pub(super) fn run(mut self) {
        while self.wait() {
            while let Some(next) = self.open.pop_front() {
                self.attend(next);
                self.take_waiting();
            }
        }
        if let Some(connection) = &self.connection {
            database::prepare_to_close(connection);
        }
    }

    fn wait(&mut self) -> bool {
        let first = match self.inbox.wait_for(IDLE) {
            Err(NoJob::Yet) => {
                if let Some(connection) = &self.connection {
                    let _ = connection.execute_batch("PRAGMA shrink_memory");
                }
                self.inbox.wait()
            }
            other => other.ok(),
        };
        let Some(first) = first else { return false };
        self.open.push_back(OpenRead { job: first, cursor: None });
        self.take_waiting();
        true
    }

    fn take_waiting(&mut self) {
        while let Some(job) = self.inbox.take() {
            self.open.push_back(OpenRead { job, cursor: None });
        }
    }

    fn attend(&mut self, mut read: OpenRead) {
        if let Some(ticket) = read.job.ticket.take() {
            ticket.wait();
        }
        let connection = match self.connection() {
            Ok(connection) => connection,
            Err(fault) => return read.job.question.refuse(fault),
        };
        if self.answer(&connection, read) == Trust::Keep {
            self.connection = Some(connection);
        }
    }

    /// The one that we have, unless it is that of a file which was taken away.
    fn connection(&mut self) -> Result<Connection, Fault> {
        let path = self.home.join(database::FILE_NAME);
        match self.connection.take() {
            Some(connection) if self.opened.is_some() && self.opened == identity(&path).ok() => return Ok(connection),
            _ => {}
        }
        let connection = database::open_to_read(&self.home)?;
        self.opened = identity(&path).ok();
        if has_unwiped(&connection, &self.home) {
            self.unwiped.store(true, Ordering::Relaxed);
        }
        Ok(connection)
    }

    fn answer(&mut self, connection: &Connection, read: OpenRead) -> Trust {
        let place = self.home.join(database::FILE_NAME);
        let OpenRead { job: ReaderJob { question, .. }, cursor } = read;
        match question {
            Question::Read { session, after, limit, reply } => self.look_on(
                (session, reply, cursor),
                |session, cursor| page(connection, session, after, limit, cursor),
                |session, reply| Question::Read { session, after, limit, reply },
            ),
            Question::Conversation { session, entries, reply } => self.look_on(
                (session, reply, cursor),
                |session, cursor| retold(connection, session, cursor),
                |session, reply| Question::Conversation { session, entries, reply },
            ),
            Question::Window { session, upto, reply } => self.look_on(
                (session, reply, cursor),
                |session, cursor| window(connection, session, upto, cursor),
                |session, reply| Question::Window { session, upto, reply },
            ),
            Question::Summaries { sessions, reply } => {
                send(reply, judged(&place, "read", rows::summaries(connection, &sessions)))
            }
            Question::List { query, reply } => send(reply, judged(&place, "read", rows::list(connection, &query))),
            Question::Count { query, reply } => send(reply, judged(&place, "read", rows::count(connection, &query))),
            Question::Audit { query, reply } => send(reply, judged(&place, "read", audit::list(connection, &query))),
            Question::VerifyAudit { head, reply } => {
                send(reply, judged(&place, "read", audit::verify(connection, head)))
            }
            Question::Usage { query, reply } => send(reply, judged(&place, "read", usage::sums(connection, &query))),
            Question::UsedBy { sessions, reply } => {
                send(reply, judged(&place, "read", usage::used_by(connection, &sessions)))
            }
            Question::UsedSince { reply } => send(reply, judged(&place, "read", usage::since(connection))),
            Question::Skim { session, skim, reply } => {
                send(reply, judged(&place, "read", skim::look(connection, &session, skim)))
            }
            Question::Shelved { place: at, reply } => send(reply, judged(&place, "read", shelf::get(connection, &at))),
            Question::Shelf { kind, owner, limit, reply } => {
                send(reply, judged(&place, "read", shelf::list(connection, kind, owner.as_ref(), limit)))
            }
            Question::ShelfNames { kind, owner, limit, reply } => {
                send(reply, judged(&place, "read", shelf::names(connection, kind, &owner, limit)))
            }
        }
    }

    /// Reads one slice more of a log, and answers when that was the last; otherwise `question` waits for its turn again.
    fn look_on<T>(
        &mut self,
        (session, reply, mut cursor): (SessionId, ReplySender<T>, Option<LogCursor>),
        look: impl FnOnce(&SessionId, &mut Option<LogCursor>) -> Attempt<Option<T>>,
        question: impl FnOnce(SessionId, ReplySender<T>) -> Question,
    ) -> Trust {
        // Whoever wanted it is gone, and reading changes nothing.
        if reply.is_closed() {
            return Trust::Keep;
        }
        let (result, trust) = judged(&self.home.join(database::FILE_NAME), "read", look(&session, &mut cursor));
        match result.transpose() {
            Some(result) => _ = reply.send(result),
            None => {
                let job = ReaderJob { ticket: None, question: question(session, reply) };
                self.open.push_back(OpenRead { job, cursor });
            }
        }
        trust
    }
}

fn send<T>(reply: ReplySender<T>, (result, trust): (Result<T, Fault>, Trust)) -> Trust {
    let _ = reply.send(result);
    trust
}

/// One slice more; `None` while there is more to read.
fn page(
    connection: &Connection,
    id: &SessionId,
    after: u64,
    limit: usize,
    cursor: &mut Option<LogCursor>,
) -> Attempt<Option<Page>> {
    let mut reading = match cursor.take() {
        Some(reading) => reading,
        None => begin(connection, id, after, limit)?,
    };
    if reading.read_slice(connection)? {
        *cursor = Some(reading);
        return Ok(None);
    }
    let key = reading.key;
    let scan = reading.finish(connection, id)?;
    let is_same = rows::find(connection, id)?.is_some_and(|found| found.key == key);
    if is_same && scan.is_whole() {
        return Ok(Some(Page { entries: scan.entries, recovered: None }));
    }
    // Others write between two looks. What seems to be damage, or another session's, is looked at in one.
    let _one_state = connection.unchecked_transaction()?;
    let mut reading = begin(connection, id, after, limit)?;
    while reading.read_slice(connection)? {}
    Ok(Some(with_notices(id, reading.finish(connection, id)?)))
}

/// The end of a log, at once where it is known where that begins; otherwise as [`page`].
fn window(
    connection: &Connection,
    id: &SessionId,
    upto: u64,
    cursor: &mut Option<LogCursor>,
) -> Attempt<Option<LogWindow>> {
    if cursor.is_none() {
        let _one_state = connection.unchecked_transaction()?;
        let Some(found) = rows::find(connection, id)? else { return Err(faults::unknown_session(id).into()) };
        if let Some(window) = super::window::read(connection, found.key, upto)? {
            return Ok(Some(window));
        }
    }
    Ok(page(connection, id, 0, usize::MAX, cursor)?.map(|page| LogWindow::of(page, upto)))
}

/// As [`page`], of what is told again.
fn retold(connection: &Connection, id: &SessionId, cursor: &mut Option<LogCursor>) -> Attempt<Option<Vec<Arc<Entry>>>> {
    let mut reading = match cursor.take() {
        Some(reading) => reading,
        None => begin(connection, id, 0, usize::MAX)?.retelling(),
    };
    if reading.read_slice(connection)? {
        *cursor = Some(reading);
        return Ok(None);
    }
    let key = reading.key;
    let path = vocab::path_of(&reading.places());
    let mut scan = reading.finish(connection, id)?;
    let is_same = rows::find(connection, id)?.is_some_and(|found| found.key == key);
    if is_same && scan.is_whole() {
        scan.entries.retain(|entry| path.binary_search(&entry.seq).is_ok());
        let newest = path.last().filter(|newest| scan.entries.last().is_none_or(|entry| entry.seq != **newest));
        if let Some(newest) = newest {
            scan.entries.extend(log::one(connection, key, *newest)?);
        }
        return Ok(Some(scan.entries));
    }
    // As for a page; and what stands in for damaged records has its place.
    let _one_state = connection.unchecked_transaction()?;
    let mut reading = begin(connection, id, 0, usize::MAX)?;
    while reading.read_slice(connection)? {}
    Ok(Some(vocab::conversation(&reading.finish(connection, id)?.entries)))
}

fn begin(connection: &Connection, id: &SessionId, after: u64, limit: usize) -> Attempt<LogCursor> {
    let Some(found) = rows::find(connection, id)? else { return Err(faults::unknown_session(id).into()) };
    Ok(LogCursor::new(found.key, found.summary.last_seq, after, limit))
}

fn with_notices(id: &SessionId, scan: LogScan) -> Page {
    let mut notices = Vec::new();
    if let Some(from) = scan.damaged_from {
        notices
            .push(format!("session {id} is damaged from entry {from} on; the end is cut off when it is next opened"));
    }
    if !scan.stand_ins.is_empty() {
        notices.push(format!("session {id}: damaged records in the log: {}", scan.stand_ins.join(", ")));
    }
    let recovered = (!notices.is_empty()).then(|| notices.join("; "));
    Page { entries: scan.entries, recovered }
}
