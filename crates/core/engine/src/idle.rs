//! What becomes of a session that nobody uses: it lingers, it is unloaded, it is parked.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Duration;
use vocab::Settings;

use crate::permission::Remembered;

/// With this many sessions in a process, nothing is kept of one that is parked: it is only in the store.
pub(crate) const PARKED_MAX: usize = 100_000;

/// What of its allows a parked session keeps, in bytes; one with more asks again.
pub(crate) const PARKED_ALLOWS_BYTES_MAX: usize = 256;

/// How long a session outlives its last peer. A process that serves one controller has none: its sessions end with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdlePolicy {
    /// So long everything goes on when no peer is here: commands in the background, MCP servers. Then they end, and whatever
    /// can be made or read again is let go.
    pub linger: Duration,
    /// So long after that the session keeps its lease and is back at once. Then it is parked: its lease is free for any
    /// process, and whoever opens it here finds it as it was left.
    pub park_after: Duration,
    /// So many sessions that nobody is on are kept ready at once. With one more, that which has waited longest is parked,
    /// unless something of it still runs.
    pub ready_max: usize,
    /// A session with peers on it lets go of the model's view when nothing was asked of it for so long.
    pub unload_after: Duration,
}

impl Default for IdlePolicy {
    /// Long enough for a controller that restarts or a person who comes back from a meeting's first half.
    fn default() -> Self {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Self { linger: minutes(10), park_after: minutes(5), ready_max: 256, unload_after: minutes(1) }
    }
}

/// The sessions of a process that nobody is on and that are kept ready, the one that has waited longest first.
#[derive(Default)]
pub(crate) struct ReadySessions(Mutex<VecDeque<oneshot::Sender<()>>>);

/// A session's place among them. It is over when somebody else needs it more.
pub(crate) type ReadyPlace = oneshot::Receiver<()>;

impl ReadySessions {
    /// The newest place; those of sessions that were taken up again do not count.
    pub(crate) fn enter(&self, most: usize) -> ReadyPlace {
        let (place, mine) = oneshot::channel();
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.push_back(place);
        if places.len() > most {
            places.retain(|place| !place.is_closed());
        }
        if places.len() > most
            && let Some(oldest) = places.pop_front()
        {
            // It may have been taken up just now.
            let _ = oldest.send(());
        }
        mine
    }
}

/// What a parked session has that its log does not say. Valid only for the log as it was.
pub(crate) struct Parked {
    pub(crate) settings: Settings,
    pub(crate) remembered: Remembered,
    /// 0: nothing was ever written, so no store knows of it.
    pub(crate) last_seq: u64,
}
