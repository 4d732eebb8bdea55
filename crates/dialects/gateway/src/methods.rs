//! Every method, once: its name, who may ask for it, what it takes and gives, and who answers. What is not in this table does
//! not exist: it is refused with -3, and neither `system.capabilities` nor the schema nor a client library knows it.
//!
//! A row is answered in one of two ways:
//!
//! ```text
//! // The dialect answers, at once or later:
//! // fn(&mut Gateway, RequestId, Params, &mut Out) -> Result<(), GatewayRefusal>. `Ok`: the id will be settled by what was set
//! // going, or has been (`Gateway::answer`); `Err` settles it now.
//! method!("agent.cancel", Scopes::CHAT, CancelParams => CancelResult, "Stops what runs or waits.", by cancel::cancel),
//!
//! // A service beside the engine answers (`services`, and `edge/gateway/src/services`): a function that says what it is asked,
//! // and one that makes the result of what it says. Everything between is done here.
//! method!("lanes.list", Scopes::READ, LanesParams => LanesResult, "What every lane does.", own services::system::lanes, told services::system::lanes_told),
//! fn lanes(_: &Gateway, params: LanesParams) -> Result<OwnPlan, GatewayRefusal> {
//!     call(ServiceCall::Lanes { limit: params.limit.size() })
//! }
//! told!(lanes_told, ServiceAnswer::Lanes(it) => it, LanesResult);
//! ```
//!
//! `gateway.session_or_attached(params.session_id)` is the session that is meant. A session that must be written before the
//! service can do anything with it (canvas) is `OwnPlan::KeepFirst { session, call }`.

use serde_json::value::RawValue;

use crate::Gateway;
use crate::auth_state::MayAsk;
use crate::commands;
use crate::inbound::{agent, cancel, connection, events, queue, sessions, tools};
use crate::ledger::RequestId;
use crate::own::{GatewayAnswer, GatewayOwn, GatewayRefusal, Out, Scopes};
use crate::params::*;
use crate::results::*;
use crate::services;
use crate::services::access::{
    AttemptsParams, AttemptsResult, CloseConnectionParams, CloseConnectionResult, ConnectionsResult,
};
use crate::services::asks::{AsksParams, AsksResult};
use crate::services::canvas::{
    CanvasAllParams, CanvasClearResult, CanvasDeleteResult, CanvasGetResult, CanvasListParams, CanvasListResult,
    CanvasOneParams, CanvasPutParams, CanvasPutResult,
};
use crate::services::config::{ConfigParams, ConfigSetParams, ConfigSetResult, ReloadParams, ReloadResult};
use crate::services::lane_history::{LaneHistoryParams, LaneHistoryResult};
use crate::services::latency::{LatencyParams, LatencyResult};
use crate::services::memory::{MemoryGetParams, MemoryGetResult, MemoryListParams, MemoryListResult};
use crate::services::nodes::{
    LocationResult, LocationsResult, NodeCapabilitiesResult, NodeLocation, NodeStatus, NodesResult, PushTokenParams,
    RegisterParams, RegisterResult, SetLocationResult, SetPushResult, SetStatusResult,
};
use crate::services::pairing::{GenerateParams, GenerateResult, PairingListResult, RevokeParams, RevokeResult};
use crate::services::reports::{AuditParams, AuditResult, UsageParams, UsageResult};
use crate::services::runs::{UsageRunsParams, UsageRunsResult};
use crate::services::search::{SearchParams, SearchResult};
use crate::services::sessions::{GetParams, GetResult, ListParams, ListResult};
use crate::services::system::{
    AnalyticsParams, AnalyticsResult, CapabilitiesResult, ContextParams, ContextResult, InfoResult, LanesParams,
    LanesResult, MetricsResult, PresenceParams, PresenceResult,
};
use crate::shape::{AnyJson, Nothing, ObjectJson, ShapeSchema};

/// One method.
pub struct MethodRow {
    pub name: &'static str,
    pub may_ask: MayAsk,
    pub doc: &'static str,
    pub params: fn() -> ShapeSchema,
    pub result: fn() -> ShapeSchema,
    pub(crate) answer: AnswerBy,
}

pub(crate) type AnswerBy = fn(&mut Gateway, RequestId, Option<&RawValue>, &mut Out) -> Result<(), GatewayRefusal>;
/// Makes the result's JSON of what a service said.
pub(crate) type ToldBy = fn(&Gateway, GatewayAnswer) -> Result<Vec<u8>, GatewayRefusal>;

/// What a service is asked.
#[derive(Debug)]
pub(crate) enum OwnPlan {
    Call(GatewayOwn),
    /// The session is written to the disk first, where it is not yet.
    KeepFirst {
        session: vocab::SessionId,
        call: GatewayOwn,
    },
}

/// See the head of this file.
macro_rules! method {
    ($name:literal, anybody, $params:ty => $result:ty, $doc:literal, by $handler:path) => {
        method!(@row $name, MayAsk::Anybody, $params => $result, $doc, |gateway, id, raw, out| {
            let params: $params = $crate::shape::read_params(raw)?;
            $handler(gateway, id, params, out)
        })
    };
    ($name:literal, $scope:expr, $params:ty => $result:ty, $doc:literal, by $handler:path) => {
        method!(@row $name, MayAsk::Needs($scope), $params => $result, $doc, |gateway, id, raw, out| {
            let params: $params = $crate::shape::read_params(raw)?;
            $handler(gateway, id, params, out)
        })
    };
    ($name:literal, $scope:expr, $params:ty => $result:ty, $doc:literal, own $plan:path, told $told:path) => {
        method!(@row $name, MayAsk::Needs($scope), $params => $result, $doc, |gateway, id, raw, out| {
            let params: $params = $crate::shape::read_params(raw)?;
            let plan = $plan(gateway, params)?;
            gateway.ask_service(id, plan, |gateway, answer| {
                let told: $result = $told(gateway, answer)?;
                Ok($crate::written(&told))
            }, out);
            Ok(())
        })
    };
    (@row $name:literal, $may_ask:expr, $params:ty => $result:ty, $doc:literal, $answer:expr) => {
        MethodRow {
            name: $name,
            may_ask: $may_ask,
            doc: $doc,
            params: <$params as $crate::shape::Shaped>::schema,
            result: <$result as $crate::shape::Shaped>::schema,
            answer: $answer,
        }
    };
}

/// In the order of the families.
pub static METHODS: &[MethodRow] = &[
    method!("auth.login", anybody, LoginParams => LoginResult, "Says who is there, by a token.", by connection::login),
    method!("system.disconnect", anybody, Nothing => SuccessResult, "Ends the connection; what runs goes on.", by connection::disconnect),
    method!("sessions.create", Scopes::CHAT, CreateParams => CreateResult, "Makes a session, or takes one that is there, and attaches this connection to it.", by sessions::create),
    method!("sessions.delete", Scopes::ADMIN, SessionParams => SuccessResult, "Removes a session and all that belongs to it.", by sessions::delete),
    method!("sessions.patch", Scopes::CHAT, PatchParams => PatchResult, "Changes what holds for a session.", by sessions::patch),
    method!("sessions.fork", Scopes::CHAT, ForkParams => ForkResult, "Copies a session, whole or up to a message.", by sessions::fork),
    method!("agent.send", Scopes::CHAT, SendParams => SendResult, "A message for the model; its events come before the result.", by agent::send),
    method!("agent.cancel", Scopes::CHAT, CancelParams => CancelResult, "Stops what runs or waits.", by cancel::cancel),
    method!("queue.list", Scopes::READ, QueueParams => QueueResult, "What waits in a session.", by queue::list),
    method!("queue.remove", Scopes::CHAT, RemoveParams => RemoveResult, "Takes back a message that waits.", by queue::remove),
    method!("commands.list", Scopes::READ, Nothing => CommandsResult, "The slash commands.", by commands::list),
    method!("agent.setToolUseCallback", Scopes::TOOLS, CallbackParams => SuccessResult, "Whether this connection is asked before tools run.", by agent::set_callback),
    method!("agent.confirmTool", Scopes::TOOLS, ConfirmParams => ConfirmResult, "Answers `tool_confirm`.", by agent::confirm_tool),
    method!("agent.wait", Scopes::READ, WaitParams => WaitResult, "Waits for the end of a run.", by agent::wait),
    method!("tools.list", Scopes::READ, ToolsParams => ToolsResult, "Which tools there are.", by tools::list),
    method!("tools.execute", Scopes::TOOLS, ExecuteParams => ExecuteResult, "Runs a tool by hand, beside the lane.", by tools::execute),
    method!("events.subscribe", Scopes::READ, SubscribeParams => SubscribeResult, "Events of sessions and services, under the id of this request, behind its result.", by events::subscribe),
    method!("events.unsubscribe", Scopes::READ, UnsubscribeParams => UnsubscribeResult, "Ends a subscription.", by events::unsubscribe),
    method!("events.replay", Scopes::READ, ReplayParams => ReplayResult, "Stored events of a session, a page at a time.", by events::replay),
    method!("system.info", Scopes::READ, Nothing => InfoResult, "What this gateway is.", own services::system::info, told services::system::info_told),
    method!("system.capabilities", Scopes::READ, Nothing => CapabilitiesResult, "What can be asked here.", own services::system::capabilities, told services::system::capabilities_told),
    method!("system.presence", Scopes::READ, PresenceParams => PresenceResult, "Who wrote, and when.", own services::system::presence, told services::system::presence_told),
    method!("system.sessionAnalytics", Scopes::READ, AnalyticsParams => AnalyticsResult, "Who wrote how much, day by day.", own services::system::analytics, told services::system::analytics_told),
    method!("system.contextUsage", Scopes::READ, ContextParams => ContextResult, "How full contexts are.", own services::system::context, told services::system::context_told),
    method!("system.metrics", Scopes::READ, Nothing => MetricsResult, "Counters since the start.", own services::system::metrics, told services::system::metrics_told),
    method!("system.latency", Scopes::READ, LatencyParams => LatencyResult, "How long models take.", own services::latency::latency, told services::latency::latency_told),
    method!("system.connections", Scopes::ADMIN, Nothing => ConnectionsResult, "Who is connected.", own services::access::connections, told services::access::connections_told),
    method!("system.closeConnection", Scopes::ADMIN, CloseConnectionParams => CloseConnectionResult, "Ends a connection; what runs goes on.", own services::access::close, told services::access::close_told),
    method!("auth.attempts", Scopes::ADMIN, AttemptsParams => AttemptsResult, "Who showed a wrong credential, and which browsers logged in.", own services::access::attempts, told services::access::attempts_told),
    method!("system.nodes", Scopes::READ, Nothing => NodesResult, "Companions that are here.", own services::nodes::nodes, told services::nodes::nodes_told),
    method!("system.location", Scopes::READ, Nothing => LocationsResult, "Where companions are.", own services::nodes::nodes, told services::nodes::locations_told),
    method!("sessions.list", Scopes::READ, ListParams => ListResult, "Sessions, the newest message first.", own services::sessions::list, told services::sessions::list_told),
    method!("sessions.get", Scopes::READ, GetParams => GetResult, "A session and its newest messages.", own services::sessions::get, told services::sessions::get_told),
    method!("sessions.search", Scopes::READ, SearchParams => SearchResult, "Messages that have a text, of the newest sessions first.", own services::search::search, told services::search::search_told),
    method!("asks.list", Scopes::READ, AsksParams => AsksResult, "Open questions of all sessions, oldest first.", own services::asks::list, told services::asks::list_told),
    method!("lanes.list", Scopes::READ, LanesParams => LanesResult, "What every lane does.", own services::system::lanes, told services::system::lanes_told),
    method!("lanes.history", Scopes::READ, LaneHistoryParams => LaneHistoryResult, "Runs that were, and those that are.", own services::lane_history::history, told services::lane_history::history_told),
    method!("canvas.put", Scopes::CHAT, CanvasPutParams => CanvasPutResult, "Puts an artifact there whole.", own services::canvas::put, told services::canvas::put_told),
    method!("canvas.get", Scopes::READ, CanvasOneParams => CanvasGetResult, "One artifact.", own services::canvas::get, told services::canvas::get_told),
    method!("canvas.list", Scopes::READ, CanvasListParams => CanvasListResult, "Artifacts, newest first.", own services::canvas::list, told services::canvas::list_told),
    method!("canvas.delete", Scopes::CHAT, CanvasOneParams => CanvasDeleteResult, "Takes an artifact away.", own services::canvas::delete, told services::canvas::delete_told),
    method!("canvas.clear", Scopes::CHAT, CanvasAllParams => CanvasClearResult, "Takes all artifacts of a session away.", own services::canvas::clear, told services::canvas::clear_told),
    method!("memory.get", Scopes::READ, MemoryGetParams => MemoryGetResult, "The checkpoint of a session.", own services::memory::get, told services::memory::get_told),
    method!("memory.list", Scopes::READ, MemoryListParams => MemoryListResult, "Checkpoints of all sessions, newest first.", own services::memory::list, told services::memory::list_told),
    method!("node.register", Scopes::CHAT, RegisterParams => RegisterResult, "A companion is here.", own services::nodes::register, told services::nodes::register_told),
    method!("node.capabilities.get", Scopes::CHAT, Nothing => NodeCapabilitiesResult, "What was agreed.", own services::nodes::capabilities, told services::nodes::capabilities_told),
    method!("node.location.set", Scopes::CHAT, NodeLocation => SetLocationResult, "Where the companion is.", own services::nodes::set_location, told services::nodes::set_location_told),
    method!("node.location.get", Scopes::CHAT, Nothing => LocationResult, "Where it said it is.", own services::nodes::location, told services::nodes::location_told),
    method!("node.status.set", Scopes::CHAT, NodeStatus => SetStatusResult, "How the companion does.", own services::nodes::set_status, told services::nodes::set_status_told),
    method!("node.push_token.set", Scopes::CHAT, PushTokenParams => SetPushResult, "How it can be woken.", own services::nodes::set_push, told services::nodes::set_push_told),
    method!("config.get", Scopes::READ, ConfigParams => AnyJson, "Settings in effect, without secrets.", own services::config::get, told services::config::get_told),
    method!("config.schema", Scopes::READ, Nothing => AnyJson, "What can be set, as a JSON Schema.", own services::config::schema, told services::config::schema_told),
    method!("config.set", Scopes::ADMIN, ConfigSetParams => ConfigSetResult, "Writes a setting into the user's file and takes it over.", own services::config::set, told services::config::set_told),
    method!("config.reload", Scopes::ADMIN, ReloadParams => ReloadResult, "Reads the settings again.", own services::config::reload, told services::config::reload_told),
    method!("pairing.generate", Scopes::ADMIN, GenerateParams => GenerateResult, "A code for an unknown sender.", own services::pairing::generate, told services::pairing::generate_told),
    method!("pairing.list", Scopes::ADMIN, Nothing => PairingListResult, "Codes, and who was let in.", own services::pairing::list, told services::pairing::list_told),
    method!("pairing.revoke", Scopes::ADMIN, RevokeParams => RevokeResult, "Takes a code or a sender back.", own services::pairing::revoke, told services::pairing::revoke_told),
    method!("usage.report", Scopes::READ, UsageParams => UsageResult, "What was used.", own services::reports::usage, told services::reports::usage_told),
    method!("usage.runs", Scopes::READ, UsageRunsParams => UsageRunsResult, "The runs behind a sum, the dearest first.", own services::runs::runs, told services::runs::runs_told),
    method!("audit.query", Scopes::ADMIN, AuditParams => AuditResult, "Who did what.", own services::reports::audit, told services::reports::audit_told),
    method!("rpc.discover", Scopes::READ, Nothing => ObjectJson, "This document.", by services::discover),
];

pub(crate) fn find(name: &str) -> Option<&'static MethodRow> {
    METHODS.iter().find(|row| row.name == name)
}
