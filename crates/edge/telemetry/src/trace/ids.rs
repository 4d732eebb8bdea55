//! Ids that nobody has had before, and the time that spans are measured by.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom, SystemRandom};

/// Eight random bytes that are not all 0.
pub(super) fn random() -> u64 {
    let mut bytes = [0; 8];
    // Where the system has no randomness nothing else would work either; a span then has an id that others may have.
    let _ = SystemRandom::new().fill(&mut bytes);
    u64::from_be_bytes(bytes).max(1)
}

pub(super) fn random_trace() -> u128 {
    u128::from(random()) << 64 | u128::from(random())
}

/// The time of day when we began, and what has passed since: it never runs backwards.
pub(super) struct TraceClock {
    began_ns: u64,
    since: Instant,
}

impl TraceClock {
    pub(super) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { began_ns: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX), since: Instant::now() }
    }
    /// Nanoseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        self.began_ns.saturating_add(u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
