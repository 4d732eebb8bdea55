//! The time of day, as the machine has it.

use std::time::SystemTime;

use vocab::Clock;

pub struct WallClock;

impl Clock for WallClock {
    fn now_ms(&self) -> i64 {
        now_ms()
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    vocab::unix_ms(SystemTime::now())
}
