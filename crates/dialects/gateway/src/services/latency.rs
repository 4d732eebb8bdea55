//! How long models take to answer, over time, by model, and what they fail with.

use std::sync::Arc;

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::shape::*;
use crate::{Gateway, shape};

/// Points of one answer.
pub const LATENCY_BUCKETS_MAX: i64 = 300;

shape! { params
    /// The last so many minutes, in steps of so many seconds: at most 300 of them.
    LatencyParams {
        "windowMinutes" window_minutes: Count<1, 1440> = Count(60),
        "bucketSeconds" bucket_seconds: Count<15, 3600> = Count(60),
    }
}
shape! { result
    /// Milliseconds. The first word's are absent where none came.
    LatencySum {
        /// Calls that ended by themselves, well or not.
        "calls" calls: u64,
        "errors" errors: u64,
        /// From the request to the end of the answer.
        "p50" p50: u64,
        "p95" p95: u64,
        "p99" p99: u64,
        /// From the request to the first word of the answer.
        "firstTokenP50" first_token_p50: Option<u64>,
        "firstTokenP95" first_token_p95: Option<u64>,
        "firstTokenP99" first_token_p99: Option<u64>,
    }
}
shape! { result
    /// The calls that ended in one step, which began at `ts`.
    LatencyBucket { "ts" ts: i64, .. sum: LatencySum }
}
shape! { result
    /// The calls of one model.
    ModelLatency { "model" model: Arc<str>, .. sum: LatencySum }
}
shape! { result
    /// `status`: what the server answered, `429`; or a word where none did, `network`.
    StatusCount { "status" status: String, "count" count: u64 }
}
shape! { result
    /// From the word to the end of a run, the last 100 of the process.
    CancelTimes { "p50" p50: Option<u64>, "p95" p95: Option<u64>, "p99" p99: Option<u64>, "samples" samples: Vec<u64> }
}
shape! { result
    /// Steps in which no call ended are left out. Nothing before `since` is known.
    LatencyResult {
        "generatedAt" generated_at: i64,
        "since" since: i64,
        "windowMinutes" window_minutes: i64,
        "bucketSeconds" bucket_seconds: i64,
        "buckets" buckets: Vec<LatencyBucket>,
        "total" total: LatencySum,
        /// Those with most calls first.
        "byModel" by_model: Vec<ModelLatency>,
        "errorsByStatus" errors_by_status: Vec<StatusCount>,
        "cancel" cancel: CancelTimes,
    }
}

pub(crate) fn latency(_: &Gateway, params: LatencyParams) -> Result<OwnPlan, GatewayRefusal> {
    let points = (params.window_minutes.0 * 60 + params.bucket_seconds.0 - 1) / params.bucket_seconds.0;
    if points > LATENCY_BUCKETS_MAX {
        let message = format!("that would be {points} points, and {LATENCY_BUCKETS_MAX} is the most");
        return Err(GatewayRefusal::invalid("too_many_points", message).with("max", LATENCY_BUCKETS_MAX));
    }
    Ok(OwnPlan::Call(asks(ServiceCall::Latency(params))))
}

told!(latency_told, ServiceAnswer::Latency(it) => *it, LatencyResult);
