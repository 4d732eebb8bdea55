//! Folds the write-ahead log into the database beside the writer. A fold reads the log, writes the database and syncs it; a
//! commit that did this by the way would keep everybody waiting who commits behind it. SQLite lets others write meanwhile: what
//! they write stays in the log, for the next fold, and a log that is folded in to its end is begun anew by the next commit.
//! Under load without a pause no fold ever reaches the end; then, once in a long while, a commit does the little that is left.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::database;

/// So many new pages in the log (16 MiB) are folded in. A page that many turns have written to is folded in once for all of them.
const PAGES_PER_FOLD: u32 = 4096;
/// It looks at nothing but one pragma.
const STACK_BYTES: usize = 256 * 1024;

/// The pages that the log has behind the newest commit of a connection, as SQLite says.
#[derive(Clone, Default)]
pub(super) struct LogPages(Arc<AtomicU32>);

impl LogPages {
    /// From now on this connection folds its log in by the way only where that has become long.
    pub(super) fn count(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let pages = self.0.clone();
        connection.wal_hook(Some(move |log: &mut rusqlite::hooks::Wal, now: i32| {
            pages.store(u32::try_from(now).unwrap_or(0), Ordering::Relaxed);
            if pages.load(Ordering::Relaxed) >= database::WAL_PAGES_MAX {
                // The commit stands, whatever becomes of this.
                let _ = log.checkpoint();
            }
            Ok(())
        }))
    }
}

/// At most one fold at a time.
#[derive(Default)]
pub(super) struct Folds {
    pub(super) pages: LogPages,
    /// Commits since the log was folded in for want of anything else to do.
    pub(super) unfolded: u32,
    /// Where the log ended when the newest fold began.
    begun_at: u32,
    running: Option<JoinHandle<()>>,
}

impl Folds {
    /// Behind a commit.
    pub(super) fn begin_if_due(&mut self, home: &Path) {
        let now = self.pages.0.load(Ordering::Relaxed);
        if now < self.begun_at {
            // The log was begun anew.
            self.begun_at = 0;
        }
        if now - self.begun_at < PAGES_PER_FOLD || self.is_running() {
            return;
        }
        self.wait();
        self.begun_at = now;
        // Where there is no thread to be had, a commit folds the log in when that is long.
        self.running = start(home.to_owned()).ok();
    }

    fn is_running(&self) -> bool {
        self.running.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Returns when none runs: somebody wants the database alone, or a new connection.
    pub(super) fn wait(&mut self) {
        if let Some(thread) = self.running.take() {
            // It has no result: what was not folded in is still in the log.
            let _ = thread.join();
        }
    }
}

impl Drop for Folds {
    fn drop(&mut self) {
        self.wait();
    }
}

fn start(home: PathBuf) -> io::Result<JoinHandle<()>> {
    let fold = move || {
        // Trouble with the disk is told to whoever writes.
        let Ok(connection) = database::open_again(&home) else { return };
        let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(0));
    };
    std::thread::Builder::new().name("store-fold".to_owned()).stack_size(STACK_BYTES).spawn(fold)
}
