//! What keeps the files in order besides writing: nothing is left of what was deleted, the write-ahead log stays small,
//! and after a failed sync nothing is promised before the disk was made to hold what it is said to hold.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use vocab::{Fault, FaultKind, SessionId};

use super::audit::AuditStatements;
use super::leases::HeldLease;
use super::leases::now_ms;
use super::rows;
use super::writer::Writer;
use super::{Attempt, contents, database, immediate, log, window};
use store::audit::AuditRecord;
use store::data_dir;

use crate::faults;

/// The write-ahead log cannot be used anew while some program has an old state of the database open for reading. From
/// this size on that is said aloud, and again whenever it has doubled.
pub(super) const WAL_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Transactions between two looks at its size.
const COMMITS_PER_LOOK: u32 = 64;
/// So many of our own make it worth while to fold the log in: behind that, one commit pays for a new header.
const COMMITS_PER_FOLD: u32 = 64;
/// How long a delete waits for programs that still read what is deleted.
const WIPE_WAIT: Duration = Duration::from_secs(2);
/// Between two looks whether another process has folded the log in.
const FOLD_PAUSE: Duration = Duration::from_millis(5);
/// Pages that are rebuilt in memory (64 MiB); more of them in a nameless temporary file.
const PAGES_IN_MEMORY_MAX: i64 = 16 * 1024;

/// Where older versions wrote down what they were deleting.
const OLD_MARKER: &str = "sessions.deleting";

/// What is still to be done for something that was deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unwiped {
    /// The database has pages that hold pieces of it: those that were split or freed.
    Database,
    /// The write-ahead log has it.
    Wal,
}

/// What the database says of deletes that are not finished: up to which of them, and how far they have come.
struct UnwipedRows {
    upto: i64,
    ids: Vec<SessionId>,
    stage: Unwiped,
}

impl UnwipedRows {
    fn find(connection: &Connection) -> Attempt<Option<Self>> {
        let mut statement = connection.prepare("SELECT number, id, rebuilt FROM deleted ORDER BY number")?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?)))?;
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let Some(upto) = rows.last().map(|(number, ..)| *number) else { return Ok(None) };
        let stage = if rows.iter().all(|(.., rebuilt)| *rebuilt) { Unwiped::Wal } else { Unwiped::Database };
        Ok(Some(Self { upto, stage, ids: rows.into_iter().map(|(_, id, _)| id.into()).collect() }))
    }
}

/// In the delete's own transaction: whoever comes after a crash, or after the program that was in the way, finishes it.
pub(super) fn note_deleted(connection: &Connection, id: &SessionId) -> Attempt<()> {
    connection.execute("INSERT INTO deleted (id) VALUES (?1)", [id.as_str()])?;
    Ok(())
}

/// Whether some delete is not finished, for somebody who only looks.
pub(super) fn has_unwiped(connection: &Connection, home: &Path) -> bool {
    let any = connection.query_row("SELECT EXISTS (SELECT 1 FROM deleted)", [], |row| row.get(0));
    any.unwrap_or(false) || home.join(OLD_MARKER).exists()
}

/// Looks at the write-ahead log now and then.
#[derive(Default)]
pub(super) struct WalWatch {
    commits: u32,
    /// The size that was complained of last.
    told: u64,
}

impl Writer {
    /// Behind a delete. Rebuilding is the only way to a file without pieces of what was once on its pages, and it makes
    /// the file as small as can be.
    pub(super) fn wipe(&mut self, connection: &Connection, id: &SessionId) -> Attempt<()> {
        self.unwiped = Some(Unwiped::Database);
        self.patience.set(WIPE_WAIT);
        let wiped = self.wipe_on(connection, WIPE_WAIT);
        self.patience.set(database::BUSY_WAIT);
        wiped?;
        if self.unwiped.is_some() {
            let message = format!(
                "session {id} was deleted, but what it said stays in {} while another program uses the database",
                self.wal().display()
            );
            return Err(Fault::new(FaultKind::Store, message).hint("close the other program").into());
        }
        Ok(())
    }

    /// Does what is left to do, for our own deletes and those of others, and writes down how far it came: the database is
    /// written anew once, however long some program keeps the log from being emptied.
    fn wipe_on(&mut self, connection: &Connection, wait: Duration) -> Attempt<()> {
        self.folds.wait();
        let Some(left) = UnwipedRows::find(connection)? else {
            self.unwiped = None;
            return Ok(());
        };
        self.unwiped = Some(left.stage);
        if left.stage == Unwiped::Database {
            // All of it goes through the log, which would grow by as much where it cannot be begun anew.
            if !empty_wal(connection, wait)? || !rebuild(connection)? {
                return Ok(());
            }
            // Worth a wait: otherwise all of it is done again.
            self.patience.set(WIPE_WAIT);
            connection.execute("UPDATE deleted SET rebuilt = 1 WHERE number <= ?1", [left.upto])?;
            self.patience.set(wait);
            self.unwiped = Some(Unwiped::Wal);
        }
        if empty_wal(connection, wait)? {
            self.remove_files_of(connection, &left.ids)?;
            // Others may have deleted more meanwhile.
            connection.execute("DELETE FROM deleted WHERE number <= ?1 AND rebuilt", [left.upto])?;
            self.unwiped = None;
        }
        Ok(())
    }

    /// Whoever died before it came to them. An id may be used again.
    fn remove_files_of(&self, connection: &Connection, ids: &[SessionId]) -> Attempt<()> {
        for id in ids {
            if rows::find(connection, id)?.is_none() {
                data_dir::remove_files(&self.home, id)
                    .map_err(|error| faults::from_io("delete files of a session in", &self.home, &error))?;
            }
        }
        Ok(())
    }

    /// Looks for what another process had begun to delete. It is finished while there is nothing else to do, and at the end:
    /// the caller who waits now is not kept waiting by it.
    pub(super) fn find_unwiped(&mut self, connection: &Connection) -> Attempt<()> {
        let marker = self.home.join(OLD_MARKER);
        if let Ok(text) = fs::read_to_string(&marker) {
            immediate(connection, || {
                for id in text.lines().filter(|line| !line.is_empty()).map(SessionId::from) {
                    note_deleted(connection, &id)?;
                }
                Ok(())
            })?;
            // Left behind, it costs the next process a look.
            let _ = fs::remove_file(marker);
        }
        self.unwiped = UnwipedRows::find(connection)?.map(|left| left.stage);
        Ok(())
    }

    /// Whether nothing is left to wipe; tried again while there is nothing else to do.
    pub(super) fn wipe_again(&mut self, connection: &Connection) -> bool {
        if self.unwiped.is_some() {
            self.patience.set(Duration::ZERO);
            // Trouble with the disk is told to the next writer.
            let _ = self.wipe_on(connection, Duration::ZERO);
            self.patience.set(database::BUSY_WAIT);
        }
        self.unwiped.is_none()
    }

    pub(super) fn wal(&self) -> PathBuf {
        database::wal_path(&self.home)
    }

    /// While there is nothing else to do, so that no commit has to. As much as no reader needs.
    pub(super) fn fold_in(&mut self, connection: &Connection) {
        if self.folds.unfolded < COMMITS_PER_FOLD {
            return;
        }
        self.folds.unfolded = 0;
        // Trouble with the disk is told to the next writer.
        let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(0));
    }

    /// After a transaction.
    pub(super) fn watch_wal(&mut self, connection: &Connection) {
        self.watch.commits += 1;
        if self.watch.commits < COMMITS_PER_LOOK {
            return;
        }
        self.watch.commits = 0;
        let size = || fs::metadata(self.wal()).map_or(0, |file| file.len());
        let now = size();
        if now < WAL_BYTES_MAX {
            self.watch.told = 0;
            return;
        }
        if now < self.watch.told.saturating_mul(2) {
            return;
        }
        self.folds.wait();
        self.patience.set(Duration::ZERO);
        let emptied = empty_wal(connection, Duration::ZERO).unwrap_or(false);
        self.patience.set(database::BUSY_WAIT);
        if !emptied {
            self.watch.told = now;
            (self.note)(&format!(
                "{} has grown to {} MiB, because another program keeps reading an old state of the database; close it",
                self.wal().display(),
                now / 1024 / 1024
            ));
        }
    }

    /// Behind an input/output error, on a new connection and before anything else is done with it. What was not synced
    /// may be lost to the disk and still be seen by every process: it is written once more, into the database itself, and
    /// synced there; what was refused is taken back. A lease whose log is not as its holder was told is over: its next
    /// append says so.
    pub(super) fn verify(&mut self, connection: &Connection) -> Attempt<()> {
        self.write_again(connection)?;
        let mut is_changed = false;
        for (id, held) in self.held.iter().filter(|(_, held)| held.uncertain) {
            is_changed |= take_back(connection, id, held)?;
        }
        if is_changed {
            self.write_again(connection)?;
        }
        let mut lost = Vec::new();
        for (id, held) in &self.held {
            let Some(done) = &held.done else { continue };
            let found = rows::find(connection, id)?;
            let is_there = match found.filter(|found| found.key == done.key && found.epoch == held.epoch) {
                Some(found) => {
                    found.summary.last_seq >= done.summary.last_seq
                        && log::damaged_end(connection, found.key, found.summary.last_seq)?.is_none()
                }
                None => false,
            };
            if !is_there {
                lost.push(id.clone());
            }
        }
        for id in lost {
            self.lose(&id, faults::not_kept(&id));
        }
        Ok(())
    }

    fn write_again(&self, connection: &Connection) -> Attempt<()> {
        if empty_wal(connection, WIPE_WAIT)? {
            return Ok(());
        }
        let message = format!("{} cannot be written again after an error of the disk", self.wal().display());
        Err(Fault::new(FaultKind::Store, message).hint("the next write is tried again").into())
    }
}

/// What was committed, and then reported as failed because its sync had, goes away. Whether there was any.
fn take_back(connection: &Connection, id: &SessionId, held: &HeldLease) -> Attempt<bool> {
    immediate(connection, || {
        let Some(found) = rows::find(connection, id)?.filter(|found| found.epoch == held.epoch) else {
            return Ok(false);
        };
        if held.done.is_none() && held.new.is_none() {
            return Ok(false);
        }
        let behind = held.done.as_ref().map_or(0, |done| done.summary.last_seq);
        if found.summary.last_seq <= behind || held.done.as_ref().is_some_and(|done| done.key != found.key) {
            return Ok(false);
        }
        log::cut_behind(connection, found.key, behind, None)?;
        AuditStatements::prepare(connection)?.write(&AuditRecord::cut(id, behind, now_ms()))?;
        window::forget(connection, found.key)?;
        match &held.done {
            Some(done) => log::store_totals(connection, done.key, &done.summary)?,
            // Its first append was the one: there is no such session.
            None => {
                contents::forget(connection, found.key)?;
                connection.execute("DELETE FROM sessions WHERE key = ?1", [found.key])?;
            }
        }
        Ok(true)
    })
}

/// Folds the write-ahead log in, syncs the database and cuts the log to nothing. False when a reader still needs it.
fn empty_wal(connection: &Connection, wait: Duration) -> Attempt<bool> {
    let until = Instant::now() + wait;
    loop {
        let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy == 0 || Instant::now() >= until {
            return Ok(busy == 0);
        }
        // SQLite waits for readers and writers, but not for another process that folds the log in.
        std::thread::sleep(FOLD_PAUSE);
    }
}

/// Writes the database anew. False when another process is writing.
fn rebuild(connection: &Connection) -> Attempt<bool> {
    let number = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let is_large = number("page_count")? - number("freelist_count")? > PAGES_IN_MEMORY_MAX;
    if is_large {
        connection.execute_batch("PRAGMA temp_store = FILE")?;
    }
    let rebuilt = connection.execute_batch("VACUUM");
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
    match rebuilt {
        Err(error) if faults::is_busy(&error) => Ok(false),
        other => Ok(other.map(|()| true)?),
    }
}
