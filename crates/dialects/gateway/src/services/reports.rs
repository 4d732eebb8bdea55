//! What was used, and who did what: sums and lines that the store keeps.

use std::sync::Arc;

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::results::UsageSum;
use crate::shape::*;
use crate::{Gateway, shape, words};

words! { /// By what usage is added up.
    GroupBy { Day = "day", Session = "session", Model = "model", Tool = "tool", Principal = "principal" }
}
shape! { params
    /// Days of UTC as `2026-01-31`, both included; without them, the last 30.
    UsageParams {
        "from" from: Option<Text<10, 10>>,
        "to" to: Option<Text<10, 10>>,
        "groupBy" group_by: GroupBy = GroupBy::Day,
        "sessionId" session_id: Option<SessionName>,
    }
}
shape! { result
    /// One sum.
    UsageRow {
        /// The day, the session, the model, the tool or the principal.
        "key" key: Arc<str>,
        /// Answers of models, or calls of the tool.
        "calls" calls: u64,
        "failed" failed: Option<u64>,
        "usage" usage: UsageSum,
        /// Tokens whose price is not known; the cost does not have them.
        "unpriced" unpriced: u64,
    }
}
shape! { result
    /// Days in their order, everything else with the largest first. A day without a row was not used, unless it is before `since`.
    UsageResult {
        "rows" rows: Vec<UsageRow>,
        "from" from: String,
        "to" to: String,
        /// The first day of which sums are kept at all; of days before it nothing is known. Absent where nothing was used yet.
        "since" since: Option<String>,
    }
}

shape! { params
    /// Newest first.
    AuditParams {
        "sessionId" session_id: Option<SessionName>,
        "by" by: Option<Text<1, 200>>,
        /// Only lines before this one.
        "before" before: Option<Count<1, { i64::MAX }>>,
        "limit" limit: Count<1, 1000> = Count(100),
        /// Whether the audit is as it was written; reads all of it.
        "verify" verify: bool = false,
    }
}
shape! { result
    /// One thing that somebody did.
    AuditRow {
        "number" number: u64,
        "at" at: i64,
        "by" by: Arc<str>,
        "sessionId" session_id: String,
        "seq" seq: Option<u64>,
        "action" action: Arc<str>,
        "detail" detail: Option<Arc<str>>,
        /// Of `queue.preempt`.
        "data" data: Option<PreemptData>,
    }
}
shape! { result
    /// A newer message took the place of a run.
    PreemptData {
        "laneId" lane_id: String,
        "preemptedRunId" preempted_run_id: Arc<str>,
        /// The message, by its `itemId`. Absent in lines of older versions.
        "byRequest" by_request: Option<Arc<str>>,
        "ts" ts: i64,
    }
}
impl PreemptData {
    /// What the audit calls it.
    pub const ACTION: &'static str = "queue.preempt";
}
shape! { result
    /// `head` stands for all lines, `whole` says whether none was changed; both only where it was asked.
    AuditResult {
        "lines" lines: Vec<AuditRow>, "head" head: Option<String>, "whole" whole: Option<bool>, "broken" broken: Option<String>,
    }
}

pub(crate) fn usage(_: &Gateway, params: UsageParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Usage(params))))
}
pub(crate) fn audit(_: &Gateway, params: AuditParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Audit(params))))
}

told!(usage_told, ServiceAnswer::Usage(it) => it, UsageResult);
told!(audit_told, ServiceAnswer::Audit(it) => it, AuditResult);
