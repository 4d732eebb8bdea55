//! Word of what is written, by this process or by another. One thread looks while somebody waits, and only then: it asks
//! SQLite for the number that changes with every commit of another connection, which costs some ten microseconds and reads no
//! page, and looks at sessions when it has changed. What this store itself commits is said to the thread at once. Others are
//! looked for often while they write and seldom while they do not.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use vocab::{Fault, SessionId, StoreChange, StoreMoment};

use super::rows::{from_int, to_int};
use super::sync::FileIdentity;
use super::writer::{Trust, judged};
use super::{Attempt, ReplySender, database, faults, sync};

/// Between two looks: right behind a change, and after a while without one. A reader is late by this much at most.
const LOOK_WAIT_MIN: Duration = Duration::from_millis(4);
const LOOK_WAIT_MAX: Duration = Duration::from_millis(100);
/// How many looks in a row come as quickly as the first; each further one waits a half longer than the one before.
const QUICK_LOOKS: u32 = 50;
/// Without anybody who waits for this long, the database is closed.
const IDLE: Duration = Duration::from_secs(1);
/// Sessions that one answer names; the rest is in the next one.
const NAMED_MAX: u64 = 1000;

pub(super) enum WatchedLogs {
    Session { session: SessionId, after: u64, reply: ReplySender<Option<u64>> },
    All { after: Option<StoreMoment>, reply: ReplySender<StoreChange> },
}

impl WatchedLogs {
    fn is_wanted(&self) -> bool {
        match self {
            WatchedLogs::Session { reply, .. } => !reply.is_closed(),
            WatchedLogs::All { reply, .. } => !reply.is_closed(),
        }
    }

    fn refuse(self, fault: Fault) {
        match self {
            WatchedLogs::Session { reply, .. } => _ = reply.send(Err(fault)),
            WatchedLogs::All { reply, .. } => _ = reply.send(Err(fault)),
        }
    }
}

#[derive(Default)]
struct WatchState {
    /// Not looked at yet. As many as there are callers who wait.
    new: Vec<WatchedLogs>,
    /// This store has committed something.
    is_rung: bool,
    is_over: bool,
}

/// Between those who wait, the writer and the thread.
#[derive(Default)]
pub(super) struct Bell {
    state: Mutex<WatchState>,
    rung: Condvar,
    is_watched: AtomicBool,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Behind a commit. Where nobody waits it is one look at a flag.
    pub(super) fn ring(&self) {
        if self.is_watched.load(Ordering::Acquire) {
            self.lock().is_rung = true;
            self.rung.notify_one();
        }
    }
}

/// The thread, once somebody has waited.
pub(super) struct WatchThread {
    bell: Arc<Bell>,
    thread: JoinHandle<()>,
}

impl WatchThread {
    pub(super) fn start(home: PathBuf, bell: Arc<Bell>, stack_bytes: usize) -> std::io::Result<Self> {
        let (database, waiting) = (home.join(database::FILE_NAME), Vec::new());
        let (opened, version, seen, fresh, quiet) = Default::default();
        let watcher = Watcher { home, database, opened, bell: bell.clone(), waiting, version, seen, fresh, quiet };
        let thread = std::thread::Builder::new().name("store-watch".to_owned()).stack_size(stack_bytes);
        Ok(Self { thread: thread.spawn(move || watcher.run())?, bell })
    }

    pub(super) fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }

    pub(super) fn add(&self, watched: WatchedLogs) {
        let mut state = self.bell.lock();
        // Under the lock: the thread takes it back only while nobody is there.
        self.bell.is_watched.store(true, Ordering::Release);
        state.new.push(watched);
        self.bell.rung.notify_one();
    }

    /// Whoever still waits is told that nothing will come.
    pub(super) fn end(self) {
        self.bell.lock().is_over = true;
        self.bell.rung.notify_one();
        let _ = self.thread.join();
    }
}

struct Watcher {
    home: PathBuf,
    database: PathBuf,
    /// The file that was opened last.
    opened: Option<FileIdentity>,
    bell: Arc<Bell>,
    waiting: Vec<WatchedLogs>,
    /// As SQLite counts, for this connection.
    version: i64,
    /// Changes that were seen, and looks since the last one.
    seen: u64,
    /// What was seen before is of a file that was replaced.
    fresh: u64,
    quiet: u32,
}

impl Watcher {
    fn run(mut self) {
        while self.wait_for_somebody() {
            let before = sync::identity(&self.database).ok();
            match database::open_to_read(&self.home) {
                Ok(connection) => {
                    // Opening makes one where there is none.
                    let opened = before.or_else(|| sync::identity(&self.database).ok());
                    if self.opened.is_some() && self.opened != opened {
                        self.fresh = self.seen + 1;
                    }
                    self.opened = opened;
                    self.watch(&connection);
                }
                Err(fault) => self.waiting.drain(..).for_each(|it| it.refuse(fault.clone())),
            }
        }
    }

    /// Without a connection.
    fn wait_for_somebody(&mut self) -> bool {
        let bell = self.bell.clone();
        let mut state = bell.lock();
        while state.new.is_empty() && self.waiting.is_empty() && !state.is_over {
            bell.is_watched.store(false, Ordering::Release);
            state = bell.rung.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_over
    }

    /// Until nobody waits any more, for a while.
    fn watch(&mut self, connection: &Connection) {
        // What this connection did not see may have been something.
        self.seen += 1;
        self.version = 0;
        loop {
            let looked = self.look(connection);
            let (result, trust) = judged(&self.database, "read", looked);
            if let Err(fault) = result {
                self.waiting.drain(..).for_each(|it| it.refuse(fault.clone()));
            }
            // Neither what an error has made doubtful is folded in, nor a log into another file than its own.
            if trust == Trust::Reopen || self.is_replaced() {
                return;
            }
            if !self.pause() {
                break;
            }
        }
        if !self.is_replaced() {
            database::prepare_to_close(connection);
        }
    }

    /// Another file is there by now. One that is gone is watched on: whoever comes next makes a new one.
    fn is_replaced(&self) -> bool {
        sync::identity(&self.database).is_ok_and(|found| self.opened != Some(found))
    }

    fn look(&mut self, connection: &Connection) -> Attempt<()> {
        let new: Vec<WatchedLogs> = {
            let mut state = self.bell.lock();
            state.is_rung = false;
            std::mem::take(&mut state.new)
        };
        self.waiting.retain(WatchedLogs::is_wanted);
        let version = connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        self.quiet += 1;
        let is_changed = version != self.version;
        if is_changed {
            (self.version, self.quiet) = (version, 0);
            self.seen += 1;
        }
        let looked = if is_changed { std::mem::take(&mut self.waiting) } else { Vec::new() };
        for watched in looked.into_iter().chain(new) {
            if let Some(watched) = self.answer(connection, watched)? {
                self.waiting.push(watched);
            }
        }
        Ok(())
    }

    /// Gives back what has no answer yet.
    fn answer(&self, connection: &Connection, watched: WatchedLogs) -> Attempt<Option<WatchedLogs>> {
        match watched {
            WatchedLogs::Session { session, after, reply } => {
                let mut find = connection.prepare("SELECT last_seq FROM sessions WHERE id = ?1")?;
                let last: Option<i64> = find.query_row([session.as_str()], |row| row.get(0)).optional()?;
                let last = last.map(from_int);
                if last.is_some_and(|last| last <= after) {
                    return Ok(Some(WatchedLogs::Session { session, after, reply }));
                }
                let _ = reply.send(Ok(last));
            }
            WatchedLogs::All { after, reply } => {
                if after.is_some_and(|after| after.seen >= self.seen) {
                    return Ok(Some(WatchedLogs::All { after, reply }));
                }
                let _ = reply.send(Ok(self.change(connection, after)?));
            }
        }
        Ok(None)
    }

    /// What was used since. A session moves to the end when another one was used in between, so whatever is before the one
    /// that was last then is as it was.
    fn change(&self, connection: &Connection, after: Option<StoreMoment>) -> Attempt<StoreChange> {
        let newest = "SELECT used, last_seq FROM sessions ORDER BY used DESC LIMIT 1";
        let newest = connection.query_row(newest, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (used, last_seq) = newest.unwrap_or((0, 0));
        let mut now = StoreMoment { seen: self.seen, used: from_int(used), last_seq: from_int(last_seq) };
        let Some(mut after) = after else { return Ok(StoreChange { now, used: Vec::new() }) };
        if after.seen < self.fresh {
            // Of another file: everything in this one is new.
            (after.used, after.last_seq) = (0, 0);
        }
        let sql = "SELECT id, last_seq, used FROM sessions WHERE used >= ?1 ORDER BY used LIMIT ?2";
        let mut statement = connection.prepare(sql)?;
        // The one that was the last, and one more than are named.
        let mut rows = statement.query(params![to_int(after.used), to_int(NAMED_MAX + 2)])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, last, used): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if (from_int(used), from_int(last)) == (after.used, after.last_seq) {
                continue;
            }
            if found.len() as u64 == NAMED_MAX {
                // The rest is told at once.
                now.seen -= 1;
                break;
            }
            found.push((SessionId::from(id), from_int(last)));
            (now.used, now.last_seq) = (from_int(used), from_int(last));
        }
        Ok(StoreChange { now, used: found })
    }

    /// Until the next look; false when nobody waits, or the store is dropped.
    fn pause(&mut self) -> bool {
        let bell = self.bell.clone();
        let mut state = bell.lock();
        let wait = if self.waiting.is_empty() { IDLE } else { look_wait(self.quiet) };
        if state.new.is_empty() && !state.is_rung && !state.is_over {
            (state, _) = bell.rung.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
        }
        let is_wanted = !self.waiting.is_empty() || !state.new.is_empty() || state.is_rung;
        is_wanted && !state.is_over
    }
}

fn look_wait(quiet: u32) -> Duration {
    let slower = i32::try_from(quiet.saturating_sub(QUICK_LOOKS).min(16)).unwrap_or(16);
    LOOK_WAIT_MIN.mul_f64(1.5_f64.powi(slower)).min(LOOK_WAIT_MAX)
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let new = std::mem::take(&mut self.bell.lock().new);
        self.waiting.drain(..).chain(new).for_each(|it| it.refuse(faults::thread_died()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_quickly_behind_a_change_and_seldom_without_one() {
        assert_eq!((look_wait(0), look_wait(QUICK_LOOKS)), (LOOK_WAIT_MIN, LOOK_WAIT_MIN));
        assert!(look_wait(QUICK_LOOKS + 1) > LOOK_WAIT_MIN);
        assert_eq!(look_wait(u32::MAX), LOOK_WAIT_MAX);
    }
}
