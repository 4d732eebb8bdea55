//! Waiting for other processes that write to the same database. SQLite's own way is to sleep longer and longer, up to a
//! tenth of a second, and whoever came last has the best chances. The write lock is held for a fraction of a millisecond, so
//! we look often and evenly; but each look costs what a small commit does, and where thirty processes look all the time, the
//! one that has the lock gets no processor to finish. So only the first few looks are quick, for the ordinary case of one
//! neighbour. (32 processes on two busy cores, syncs of 10 ms: the slowest of a hundred appends takes 40 to 96 ms like this,
//! and 144 to 228 ms where all look every 50 to 250 us.)

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// Looks that come this quickly one after the other: a lock of one neighbour is gone by then.
const QUICK_LOOKS: i32 = 4;
const QUICK_PAUSE: Duration = Duration::from_micros(50);
/// Further ones up to this number (half a second), and all that follow: whoever has the lock for so long rebuilds the database.
const FURTHER_LOOKS: i32 = 500;
const FURTHER_PAUSE: Duration = Duration::from_millis(1);
const LONG_PAUSE: Duration = Duration::from_millis(2);

/// How long somebody who stops the work waits to hear that it has stopped, and then how long an ending process waits, in all: it
/// has promised to be gone within a second.
const HASTY_WAIT: Duration = Duration::from_millis(450);
const ENDING_WAIT: Duration = Duration::from_millis(350);

/// How long the connections that share this wait for a lock before they give up.
#[derive(Clone)]
pub(super) struct Patience(Arc<PatienceLimits>);

struct PatienceLimits {
    born: Instant,
    /// Of one wait, in microseconds.
    limit: AtomicU64,
    /// Of all waits together, once the process ends: microseconds since `born`; 0 while it does not.
    end: AtomicU64,
    /// Of the waits that began before it, in the same way.
    hasty: AtomicU64,
}

impl PatienceLimits {
    fn micros(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.born).as_micros()).unwrap_or(u64::MAX)
    }
    /// Whether a wait that began at `since` has lasted long enough.
    fn is_over(&self, since: Instant, now: Instant) -> bool {
        let (began, at) = (self.micros(since), self.micros(now));
        let (end, hasty) = (self.end.load(Ordering::Relaxed), self.hasty.load(Ordering::Relaxed));
        (end > 0 && at >= end) || (began < hasty && at >= hasty) || at - began >= self.limit.load(Ordering::Relaxed)
    }
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        let (none, end, hasty) = Default::default();
        let patience = Self(Arc::new(PatienceLimits { born: Instant::now(), limit: none, end, hasty }));
        patience.set(limit);
        patience
    }

    /// The process ends, and somebody waits for that: also those who wait already have [`ENDING_WAIT`] left, together.
    pub(super) fn hurry(&self) {
        let end = self.0.micros(Instant::now() + ENDING_WAIT);
        // The first word counts.
        let _ = self.0.end.compare_exchange(0, end, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// It does not end after all: somebody has begun something.
    pub(super) fn take_time(&self) {
        self.0.end.store(0, Ordering::Relaxed);
    }

    /// Somebody waits for what is being written or is about to be: those who wait, and those who begin to before that, have
    /// [`HASTY_WAIT`] left.
    pub(super) fn hasten(&self) {
        self.0.hasty.store(self.0.micros(Instant::now() + HASTY_WAIT), Ordering::Relaxed);
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
            if limits.is_over(since, Instant::now()) {
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
        patience.set(2 * ENDING_WAIT);
        patience.take_time();
        let since = Instant::now();
        assert!(waiter.execute_batch("BEGIN IMMEDIATE").is_err());
        assert!(since.elapsed() >= 2 * ENDING_WAIT, "who begins anew has all the time: {:?}", since.elapsed());
    }

    #[test]
    fn haste_is_for_what_is_being_written_and_not_for_what_comes_later() {
        let patience = Patience::new(Duration::from_secs(60));
        let limits = &patience.0;
        let (before, second) = (Instant::now(), Duration::from_secs(1));
        patience.hasten();
        let after = Instant::now();
        assert!(!limits.is_over(before, after));
        assert!(limits.is_over(before, after + HASTY_WAIT) && limits.is_over(after, after + HASTY_WAIT));
        let later = after + second;
        assert!(!limits.is_over(later, later + 59 * second) && limits.is_over(later, later + 60 * second));
    }
}
