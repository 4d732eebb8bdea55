//! The clock and the patience of this crate, so that tests need neither.

use std::time::{Duration, SystemTime};

use vocab::{Clock, Later};

/// A clock one can wait by. Only the pauses between polls go through it; limits on sockets are real time.
pub trait Timer: Clock {
    fn sleep(&self, pause: Duration) -> Later<'static, ()>;
}

/// Real time.
pub struct SystemTimer;

impl Clock for SystemTimer {
    fn now_ms(&self) -> i64 {
        vocab::unix_ms(SystemTime::now())
    }
}

impl Timer for SystemTimer {
    fn sleep(&self, pause: Duration) -> Later<'static, ()> {
        Box::pin(tokio::time::sleep(pause))
    }
}
