//! What was written down of sessions whose context was nearly full.

use std::sync::Arc;

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::shape::*;
use crate::{Gateway, shape};

/// Bytes of one checkpoint. Each part of it has its own bound, so that none crowds out the others.
pub const CHECKPOINT_BYTES_MAX: usize = 64 * 1024;

shape! { params
    /// Of which session.
    MemoryGetParams { "sessionId" session_id: Option<SessionName> }
}
shape! { params
    /// Newest first.
    MemoryListParams { "limit" limit: Count<1, 100> = Count(50) }
}

shape! { result
    /// A checkpoint of a session. Times are milliseconds since 1970.
    MemoryEntry {
        "namespace" namespace: Arc<str>,
        "sessionId" session_id: Arc<str>,
        /// The run behind which it was written.
        "runId" run_id: Arc<str>,
        /// The newest entry that it knows of.
        "seq" seq: u64,
        /// Markdown. Left out of lists.
        "text" text: Option<Arc<str>>,
        "createdAt" created_at: i64,
        "updatedAt" updated_at: i64,
        /// 1 at first, and one more with each that took its place.
        "version" version: u64,
    }
}
shape! { result
    /// The newest checkpoint of the session.
    MemoryGetResult { "entry" entry: Nullable<MemoryEntry> }
}
shape! { result
    /// One for each session that has one.
    MemoryListResult { "entries" entries: Vec<MemoryEntry> }
}

#[derive(Debug)]
pub enum MemoryAnswer {
    Got(Box<MemoryGetResult>),
    Listed(MemoryListResult),
}

pub(crate) fn get(gateway: &Gateway, params: MemoryGetParams) -> Result<OwnPlan, GatewayRefusal> {
    let session = gateway.session_or_attached(params.session_id);
    let is_own = gateway.is_attached_to(&session);
    Ok(OwnPlan::Call(asks(ServiceCall::MemoryOf { session, is_own })))
}
pub(crate) fn list(_: &Gateway, params: MemoryListParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Memory { limit: params.limit.size() })))
}

told!(get_told, ServiceAnswer::Memory(MemoryAnswer::Got(it)) => *it, MemoryGetResult);
told!(list_told, ServiceAnswer::Memory(MemoryAnswer::Listed(it)) => it, MemoryListResult);
