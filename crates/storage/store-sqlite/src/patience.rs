//! Waiting for other processes that write to the same database. SQLite's own way is to sleep longer and longer, up to a
//! tenth of a second, and whoever came last has the best chances. The write lock is held for a fraction of a millisecond, so
//! we look often and evenly; but each look costs what a small commit does, and where thirty processes look all the time, the
//! one that has the lock gets no processor to finish. So only the first few looks are quick, for the ordinary case of one
//! neighbour. (32 processes on two busy cores, syncs of 10 ms: the slowest of a hundred appends takes 40 to 96 ms like this,
//! and 144 to 228 ms where all look every 50 to 250 us.)

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// Looks that come this quickly one after the other: a lock of one neighbour is gone by then.
const QUICK_LOOKS: i32 = 4;
const QUICK_PAUSE: Duration = Duration::from_micros(50);
/// Further ones up to this number (half a second), and all that follow: whoever has the lock for so long rebuilds the database.
const FURTHER_LOOKS: i32 = 500;
const FURTHER_PAUSE: Duration = Duration::from_millis(1);
const LONG_PAUSE: Duration = Duration::from_millis(2);

/// How long an ending process waits for others, in all: it has promised to be gone within a second.
const ENDING_WAIT: Duration = Duration::from_millis(400);

/// How long the connections that share this wait for a lock before they give up.
#[derive(Clone)]
pub(super) struct Patience(Arc<PatienceLimits>);

struct PatienceLimits {
    /// Of one wait, in microseconds.
    limit: AtomicU64,
    /// Of all waits together, once the process ends.
    end: OnceLock<Instant>,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        let patience = Self(Arc::new(PatienceLimits { limit: AtomicU64::new(0), end: OnceLock::new() }));
        patience.set(limit);
        patience
    }

    /// The process ends, and somebody waits for that: also those who wait already have [`ENDING_WAIT`] left, together.
    pub(super) fn hurry(&self) {
        self.0.end.get_or_init(|| Instant::now() + ENDING_WAIT);
    }

    pub(super) fn set(&self, limit: Duration) {
        self.0.limit.store(u64::try_from(limit.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn install(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let (limits, mut since) = (self.0.clone(), Instant::now());
        connection.busy_handler(Some(move |looks: i32| {
            if looks == 0 {
                since = Instant::now();
            }
            let is_over = limits.end.get().is_some_and(|end| Instant::now() >= *end);
            if is_over || since.elapsed() >= Duration::from_micros(limits.limit.load(Ordering::Relaxed)) {
                return false;
            }
            std::thread::sleep(pause(looks));
            true
        }))
    }
}

fn pause(looks: i32) -> Duration {
    match looks {
        ..QUICK_LOOKS => QUICK_PAUSE,
        QUICK_LOOKS..FURTHER_LOOKS => FURTHER_PAUSE,
        _ => LONG_PAUSE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_as_long_as_the_limit_says_and_no_longer() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("db");
        let holder = Connection::open(&path).unwrap();
        holder.execute_batch("CREATE TABLE t (x); BEGIN IMMEDIATE").unwrap();
        let mut waiter = Connection::open(&path).unwrap();
        let patience = Patience::new(Duration::from_millis(80));
        patience.install(&mut waiter).unwrap();
        let since = Instant::now();
        assert!(waiter.execute_batch("BEGIN IMMEDIATE").is_err());
        assert!(since.elapsed() >= Duration::from_millis(80), "{:?}", since.elapsed());
        patience.set(Duration::ZERO);
        let since = Instant::now();
        assert!(waiter.execute_batch("BEGIN IMMEDIATE").is_err());
        assert!(since.elapsed() < Duration::from_millis(80), "{:?}", since.elapsed());
        patience.set(Duration::from_secs(10));
        let holding = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            holder.execute_batch("COMMIT").unwrap();
        });
        waiter.execute_batch("BEGIN IMMEDIATE").unwrap();
        holding.join().unwrap();
    }

    #[test]
    fn who_waits_when_the_process_ends_does_not_wait_long() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("db");
        let holder = Connection::open(&path).unwrap();
        holder.execute_batch("CREATE TABLE t (x); BEGIN IMMEDIATE").unwrap();
        let mut waiter = Connection::open(&path).unwrap();
        let patience = Patience::new(Duration::from_secs(60));
        patience.install(&mut waiter).unwrap();
        let hurried = patience.clone();
        let since = Instant::now();
        let ending = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            hurried.hurry();
        });
        assert!(waiter.execute_batch("BEGIN IMMEDIATE").is_err());
        ending.join().unwrap();
        // All of them together, whatever is set meanwhile.
        patience.set(Duration::from_secs(60));
        for _ in 0..5 {
            assert!(waiter.execute_batch("BEGIN IMMEDIATE").is_err());
        }
        let took = since.elapsed();
        assert!(took >= ENDING_WAIT && took < Duration::from_secs(20), "{took:?}");
    }
}
