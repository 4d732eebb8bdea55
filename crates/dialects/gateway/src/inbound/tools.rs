//! Tools: which there are, and a call by hand, beside the lane.

use vocab::{DirectoryVerb, Json, Target, Verb};

use crate::Gateway;
use crate::ledger::RequestId;
use crate::own::{GatewayRefusal, Out};
use crate::params::{ExecuteParams, ToolsParams};
use crate::pending::{AfterOpen, GatewayPending, Wanted};
use crate::tool_names;

pub(crate) fn list(
    gateway: &mut Gateway,
    id: RequestId,
    params: ToolsParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let session = match params.session_id {
        Some(name) => name.0,
        // As every session has them, where this one is only a name yet.
        None if gateway.view_at(&gateway.attached).is_none() => {
            let what = GatewayPending::apart(Wanted::Tools(id));
            gateway.pending.submit(Target::Current, Verb::Directory(DirectoryVerb::Tools), what, out);
            return Ok(());
        }
        None => gateway.attached.clone(),
    };
    gateway.on_known_session(session, AfterOpen::Tools { id }, out);
    Ok(())
}

pub(crate) fn execute(
    gateway: &mut Gateway,
    id: RequestId,
    params: ExecuteParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let session = gateway.session_or_attached(params.session_id);
    let tool = tool_names::canonical(&params.tool.0).into();
    let input = params.args.map_or_else(Json::empty_object, |args| args.0);
    let after = AfterOpen::Execute { id, tool, input, limit_ms: params.timeout_ms.number() };
    gateway.on_known_session(session, after, out);
    Ok(())
}
