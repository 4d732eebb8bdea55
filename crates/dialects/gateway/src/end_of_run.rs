//! How a run ended: one table for its own requests, for subscribers, for lists and for counters.

use vocab::{CutBy, Stop};

use crate::events::RunStateWord;
use crate::services::lane_history::RunOutcome;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndOfRun {
    Complete,
    /// The reason that is told.
    Cancelled(&'static str),
    /// Nothing moved in it for too long.
    Stalled,
    Failed,
}

impl EndOfRun {
    /// `cut`: what its log says has cut it.
    pub fn of(stop: Stop, cut: Option<CutBy>) -> Self {
        match (stop, cut) {
            (Stop::EndTurn | Stop::MaxTokens | Stop::MaxIterations | Stop::Refusal, _) => EndOfRun::Complete,
            (Stop::Interrupted | Stop::Error, Some(CutBy::Stalled)) => EndOfRun::Stalled,
            (Stop::Interrupted, None | Some(CutBy::Asked)) => EndOfRun::Cancelled("cancelled"),
            (Stop::Interrupted, Some(CutBy::Newer)) => EndOfRun::Cancelled("preempted"),
            (Stop::Interrupted, Some(CutBy::Ending)) => EndOfRun::Cancelled("shutdown"),
            (Stop::Interrupted, Some(CutBy::Deleted)) => EndOfRun::Cancelled("session_deleted"),
            (Stop::Interrupted, Some(CutBy::TimedOut)) => EndOfRun::Cancelled("timeout"),
            (Stop::Error | Stop::Budget, _) => EndOfRun::Failed,
        }
    }

    pub fn state(self) -> RunStateWord {
        match self {
            EndOfRun::Complete => RunStateWord::Complete,
            EndOfRun::Cancelled(_) => RunStateWord::Cancelled,
            EndOfRun::Stalled | EndOfRun::Failed => RunStateWord::Error,
        }
    }
    pub fn outcome(self) -> RunOutcome {
        match self {
            EndOfRun::Complete => RunOutcome::Complete,
            EndOfRun::Cancelled(_) => RunOutcome::Cancelled,
            EndOfRun::Stalled | EndOfRun::Failed => RunOutcome::Error,
        }
    }
}
