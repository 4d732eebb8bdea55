//! The clock and the patience of this crate, so that tests need neither.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use vocab::{Clock, Later};

/// A clock one can wait by. Only the pauses between polls go through it; limits on sockets are real time.
pub trait Timer: Clock {
    fn sleep(&self, pause: Duration) -> Later<'static, ()>;
}

/// Real time.
pub struct SystemTimer;

impl Clock for SystemTimer {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

impl Timer for SystemTimer {
    fn sleep(&self, pause: Duration) -> Later<'static, ()> {
        Box::pin(tokio::time::sleep(pause))
    }
}
