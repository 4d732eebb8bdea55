//! What lanes did: runs since the start of the process, the newest first.

use std::sync::Arc;

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::shape::*;
use crate::{Gateway, shape, words};

words! { /// What became of a run.
    RunOutcome { Running = "running", Complete = "complete", Cancelled = "cancelled", Error = "error" }
}
shape! { params
    /// Runs of the last so many minutes, and at most so many of them.
    LaneHistoryParams {
        "windowMinutes" window_minutes: Count<1, 1440> = Count(60),
        "limit" limit: Count<1, 2000> = Count(500),
    }
}
shape! { result
    /// One run. Times are milliseconds since 1970.
    LaneRun {
        "sessionId" session_id: String,
        "title" title: Option<Arc<str>>,
        "runId" run_id: String,
        /// Since when the message waited that it began with; absent where none did.
        "queuedAt" queued_at: Option<i64>,
        "startedAt" started_at: i64,
        /// Absent while it runs.
        "endedAt" ended_at: Option<i64>,
        "state" state: RunOutcome,
        /// How many calls of tools it began.
        "tools" tools: u64,
    }
}
shape! { result
    /// Runs that were under way in the window, the newest first. Nothing before `since` is known.
    LaneHistoryResult { "since" since: i64, "runs" runs: Vec<LaneRun> }
}

pub(crate) fn history(_: &Gateway, params: LaneHistoryParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::LaneHistory(params))))
}

told!(history_told, ServiceAnswer::LaneHistory(it) => it, LaneHistoryResult);
