//! Watching sessions without being on them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{CallId, LanePolicy, Mode, SessionId, TurnId, Usage};

/// Sessions that are watched. One that is not in memory is watched from the moment it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Watched {
    /// Each, also those that are still to come.
    All,
    Ids(Vec<SessionId>),
}

/// For a peer that watches.
#[derive(Clone, PartialEq, Debug)]
pub enum WatchEvent {
    /// How a session stands now. Of several that were not read yet only the newest is told.
    Stands(Arc<Glance>),
    /// It is not in memory any more.
    Ended,
    /// The peer reads too slowly: some of what was to be told of this session was left out. Its log has it.
    Missed,
}

/// How a session stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Glance {
    pub title: Option<Arc<str>>,
    pub model: Arc<str>,
    pub mode: Mode,
    /// The turn that runs.
    pub turn: Option<TurnId>,
    /// It has no place among those that run at once yet, or none again.
    pub awaits_place: bool,
    /// It is ended where nothing more comes of it for too long: what it waits for has no clock of its own.
    pub can_stall: bool,
    /// Questions without an answer.
    pub asks: usize,
    /// Messages that wait.
    pub waiting: usize,
    /// Peers that are on it.
    pub peers: usize,
    pub context_tokens: u64,
    /// What was used since it came into memory.
    pub usage: Usage,
    pub last_seq: u64,
    /// The rules of its queue.
    pub lane: LanePolicy,
    /// When the turn that runs began.
    pub started_ms: Option<i64>,
    /// When something last came of it; where much does, a while ago.
    pub moved_ms: i64,
    /// Since when the message waits that waits longest.
    pub oldest_wait_ms: Option<i64>,
    pub context_window: u64,
    /// The directory it works in.
    pub workspace: PathBuf,
    /// The tool whose call is under way; of several the one that began last.
    pub tool: Option<Arc<str>>,
    /// The call that it works for.
    pub child_of: Option<(SessionId, CallId)>,
}
