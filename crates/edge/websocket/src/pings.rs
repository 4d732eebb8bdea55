//! Whether the other side is still there: it is asked now and then, and an answer of any kind will do.

use std::time::Duration;

/// How often a peer is asked, and when it is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pings {
    /// `None`: never.
    pub every: Option<Duration>,
    /// Pings without an answer after which the connection is closed.
    pub missed_max: u32,
    /// How long a write may make no progress.
    pub no_progress: Duration,
}

impl Pings {
    /// For those who do not ask.
    pub const NONE: Pings = Pings { every: None, missed_max: 0, no_progress: Duration::MAX };
}

/// What the time that has come means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PingTime {
    Ask,
    GiveUp,
}

/// Pings that were not answered.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Unanswered(u32);

impl Unanswered {
    /// Anything came.
    pub(crate) fn heard(&mut self) {
        self.0 = 0;
    }

    pub(crate) fn time(&mut self, pings: Pings) -> PingTime {
        if self.0 >= pings.missed_max {
            return PingTime::GiveUp;
        }
        self.0 += 1;
        PingTime::Ask
    }
}
