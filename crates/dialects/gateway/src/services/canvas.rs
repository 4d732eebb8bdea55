//! Artifacts of a session: small documents that a client keeps beside the conversation.

use std::sync::Arc;

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::shape::*;
use crate::{Gateway, shape};

/// Bytes of one artifact, as JSON.
pub const ARTIFACT_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of contents and metadata in one list, as JSON.
pub const CANVAS_LIST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Artifacts of one session.
pub const ARTIFACTS_MAX: u64 = 500;

shape! { params
    /// Puts an artifact there whole, in the place of one with the same id.
    CanvasPutParams {
        "sessionId" session_id: Option<SessionName>,
        "artifactId" artifact_id: Text<1, 128>,
        "type" kind: Text<1, 64>,
        "title" title: Option<Text<0, 200>>,
        "content" content: AnyJson,
        "metadata" metadata: Option<ObjectJson>,
    }
}
shape! { params
    /// Which artifact.
    CanvasOneParams { "sessionId" session_id: Option<SessionName>, "artifactId" artifact_id: Text<1, 128> }
}
shape! { params
    /// Newest first.
    CanvasListParams {
        "sessionId" session_id: Option<SessionName>,
        "limit" limit: Count<1, 500> = Count(200),
        "includeContent" include_content: bool = true,
    }
}
shape! { params
    /// Of which session.
    CanvasAllParams { "sessionId" session_id: Option<SessionName> }
}

shape! { result
    /// An artifact. Times are milliseconds since 1970.
    Artifact {
        "artifactId" artifact_id: Arc<str>,
        "sessionId" session_id: Arc<str>,
        "type" kind: Arc<str>,
        "title" title: Nullable<Arc<str>>,
        /// Left out where it was not asked for, or where the list had no more room.
        "content" content: Option<AnyJson>,
        /// The list had no more room for its content and its metadata; `canvas.get` gives both.
        "contentOmitted" content_omitted: Option<bool>,
        "metadata" metadata: Nullable<AnyJson>,
        "createdAt" created_at: i64,
        "updatedAt" updated_at: i64,
        /// 1 at first, and one more with each change.
        "version" version: u64,
    }
}
shape! { result
    /// The artifact as it is on the disk.
    CanvasPutResult { "artifact" artifact: Artifact, "created" created: bool }
}
shape! { result
    /// The artifact.
    CanvasGetResult { "artifact" artifact: Artifact }
}
shape! { result
    /// `total`: before the limit.
    CanvasListResult { "artifacts" artifacts: Vec<Artifact>, "total" total: u64 }
}
shape! { result
    /// Whether it was there.
    CanvasDeleteResult { "deleted" deleted: bool }
}
shape! { result
    /// How many there were.
    CanvasClearResult { "cleared" cleared: u64 }
}

#[derive(Debug)]
pub enum CanvasCall {
    Put(Box<CanvasPutParams>),
    Get { artifact: Arc<str> },
    List { limit: usize, with_content: bool },
    Delete { artifact: Arc<str> },
    Clear,
}

#[derive(Debug)]
pub enum CanvasAnswer {
    Put(CanvasPutResult),
    Got(CanvasGetResult),
    Listed(CanvasListResult),
    Deleted(CanvasDeleteResult),
    Cleared(CanvasClearResult),
}

fn plan(gateway: &Gateway, named: Option<SessionName>, what: CanvasCall) -> OwnPlan {
    let session = gateway.session_or_attached(named);
    let is_own = gateway.is_attached_to(&session);
    let is_put = matches!(what, CanvasCall::Put(_));
    let call = asks(ServiceCall::Canvas { session: session.clone(), is_own, what });
    // What belongs to a session is on the disk only with it.
    if is_own && is_put { OwnPlan::KeepFirst { session, call } } else { OwnPlan::Call(call) }
}

pub(crate) fn put(gateway: &Gateway, params: CanvasPutParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(plan(gateway, params.session_id.clone(), CanvasCall::Put(Box::new(params))))
}
pub(crate) fn get(gateway: &Gateway, params: CanvasOneParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(plan(gateway, params.session_id, CanvasCall::Get { artifact: params.artifact_id.0 }))
}
pub(crate) fn list(gateway: &Gateway, params: CanvasListParams) -> Result<OwnPlan, GatewayRefusal> {
    let what = CanvasCall::List { limit: params.limit.size(), with_content: params.include_content };
    Ok(plan(gateway, params.session_id, what))
}
pub(crate) fn delete(gateway: &Gateway, params: CanvasOneParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(plan(gateway, params.session_id, CanvasCall::Delete { artifact: params.artifact_id.0 }))
}
pub(crate) fn clear(gateway: &Gateway, params: CanvasAllParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(plan(gateway, params.session_id, CanvasCall::Clear))
}

told!(put_told, ServiceAnswer::Canvas(CanvasAnswer::Put(it)) => it, CanvasPutResult);
told!(get_told, ServiceAnswer::Canvas(CanvasAnswer::Got(it)) => it, CanvasGetResult);
told!(list_told, ServiceAnswer::Canvas(CanvasAnswer::Listed(it)) => it, CanvasListResult);
told!(delete_told, ServiceAnswer::Canvas(CanvasAnswer::Deleted(it)) => it, CanvasDeleteResult);
told!(clear_told, ServiceAnswer::Canvas(CanvasAnswer::Cleared(it)) => it, CanvasClearResult);
