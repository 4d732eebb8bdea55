//! Every method, once: its name, who may ask for it, what it takes and gives, and who answers. What is not in this table does
//! not exist: it is refused with -3, and neither `system.capabilities` nor the schema nor a client library knows it.
//!
//! A row is answered in one of two ways:
//!
//! ```ignore
//! // The dialect answers, at once or later:
//! // fn(&mut Gateway, RequestId, Params, &mut Out) -> Result<(), GatewayRefusal>. `Ok`: the id will be settled by what was set
//! // going, or has been (`Gateway::answer`); `Err` settles it now.
//! method!("agent.cancel", Scopes::CHAT, CancelParams => CancelResult, "Stops what runs or waits.", by inbound::agent::cancel),
//!
//! // A service answers:
//! // plan: fn(&Gateway, Params) -> Result<OwnPlan, GatewayRefusal>, told: fn(&Gateway, GatewayAnswer) -> Result<Shape, GatewayRefusal>.
//! // Everything between is done here: the id is settled with what `told` made of the answer, or with the service's refusal.
//! method!("lanes.list", Scopes::READ, LanesParams => LanesResult, "What every lane does.", own system::lanes, told system::lanes_told),
//! fn lanes(gateway: &Gateway, params: LanesParams) -> Result<OwnPlan, GatewayRefusal> {
//!     Ok(OwnPlan::Call(GatewayOwn::Lanes { limit: params.limit.size() }))
//! }
//! fn lanes_told(gateway: &Gateway, answer: GatewayAnswer) -> Result<LanesResult, GatewayRefusal> {
//!     let GatewayAnswer::Lanes(lanes) = answer else { return Err(GatewayRefusal::mixed_up()) };
//!     Ok(LanesResult { lanes })
//! }
//! ```
//!
//! `gateway.session_or_attached(params.session_id)` is the session that is meant. A session that must be written before the
//! service can do anything with it (canvas) is `OwnPlan::KeepFirst { session, call }`.

use serde_json::value::RawValue;

use crate::Gateway;
use crate::inbound::connection;
use crate::ledger::RequestId;
use crate::own::{GatewayAnswer, GatewayOwn, GatewayRefusal, Out, Scopes};
use crate::params::*;
use crate::results::*;
use crate::services::canvas::*;
use crate::services::config::*;
use crate::services::nodes::*;
use crate::services::pairing::*;
use crate::services::reports::*;
use crate::services::sessions::{GetParams, GetResult, ListParams, ListResult};
use crate::services::system::*;
use crate::services::{self, canvas, config, nodes, pairing, reports, sessions, system};
use crate::shape::{AnyJson, Nothing, ObjectJson, ShapeSchema};

/// One method.
pub struct MethodRow {
    pub name: &'static str,
    /// What its caller must be allowed to do.
    pub scope: Scopes,
    /// Also for who has not logged in.
    pub is_open: bool,
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
        method!(@row $name, Scopes::NONE, true, $params => $result, $doc, |gateway, id, raw, out| {
            let params: $params = $crate::shape::read_params(raw)?;
            $handler(gateway, id, params, out)
        })
    };
    ($name:literal, $scope:expr, $params:ty => $result:ty, $doc:literal, by $handler:path) => {
        method!(@row $name, $scope, false, $params => $result, $doc, |gateway, id, raw, out| {
            let params: $params = $crate::shape::read_params(raw)?;
            $handler(gateway, id, params, out)
        })
    };
    ($name:literal, $scope:expr, $params:ty => $result:ty, $doc:literal, own $plan:path, told $told:path) => {
        method!(@row $name, $scope, false, $params => $result, $doc, |gateway, id, raw, out| {
            let params: $params = $crate::shape::read_params(raw)?;
            let plan = $plan(gateway, params)?;
            gateway.ask_service(id, plan, |gateway, answer| {
                let told: $result = $told(gateway, answer)?;
                Ok($crate::written(&told))
            }, out);
            Ok(())
        })
    };
    (@row $name:literal, $scope:expr, $is_open:literal, $params:ty => $result:ty, $doc:literal, $answer:expr) => {
        MethodRow {
            name: $name,
            scope: $scope,
            is_open: $is_open,
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
    method!("system.info", Scopes::READ, Nothing => InfoResult, "What this gateway is.", own system::info, told system::info_told),
    method!("system.capabilities", Scopes::READ, Nothing => CapabilitiesResult, "What can be asked here.", own system::capabilities, told system::capabilities_told),
    method!("system.presence", Scopes::READ, PresenceParams => PresenceResult, "Who wrote, and when.", own system::presence, told system::presence_told),
    method!("system.contextUsage", Scopes::READ, ContextParams => ContextResult, "How full contexts are.", own system::context, told system::context_told),
    method!("system.metrics", Scopes::READ, Nothing => MetricsResult, "Counters since the start.", own system::metrics, told system::metrics_told),
    method!("system.nodes", Scopes::READ, Nothing => NodesResult, "Companions that are here.", own nodes::nodes, told nodes::nodes_told),
    method!("system.location", Scopes::READ, Nothing => LocationsResult, "Where companions are.", own nodes::nodes, told nodes::locations_told),
    method!("sessions.list", Scopes::READ, ListParams => ListResult, "Sessions, the newest message first.", own sessions::list, told sessions::list_told),
    method!("sessions.get", Scopes::READ, GetParams => GetResult, "A session and its newest messages.", own sessions::get, told sessions::get_told),
    method!("lanes.list", Scopes::READ, LanesParams => LanesResult, "What every lane does.", own system::lanes, told system::lanes_told),
    method!("canvas.put", Scopes::CHAT, CanvasPutParams => CanvasPutResult, "Puts an artifact there whole.", own canvas::put, told canvas::put_told),
    method!("canvas.get", Scopes::READ, CanvasOneParams => CanvasGetResult, "One artifact.", own canvas::get, told canvas::get_told),
    method!("canvas.list", Scopes::READ, CanvasListParams => CanvasListResult, "Artifacts, newest first.", own canvas::list, told canvas::list_told),
    method!("canvas.delete", Scopes::CHAT, CanvasOneParams => CanvasDeleteResult, "Takes an artifact away.", own canvas::delete, told canvas::delete_told),
    method!("canvas.clear", Scopes::CHAT, CanvasAllParams => CanvasClearResult, "Takes all artifacts of a session away.", own canvas::clear, told canvas::clear_told),
    method!("node.register", Scopes::CHAT, RegisterParams => RegisterResult, "A companion is here.", own nodes::register, told nodes::register_told),
    method!("node.capabilities.get", Scopes::CHAT, Nothing => NodeCapabilitiesResult, "What was agreed.", own nodes::capabilities, told nodes::capabilities_told),
    method!("node.location.set", Scopes::CHAT, NodeLocation => SetLocationResult, "Where the companion is.", own nodes::set_location, told nodes::set_location_told),
    method!("node.location.get", Scopes::CHAT, Nothing => LocationResult, "Where it said it is.", own nodes::location, told nodes::location_told),
    method!("node.status.set", Scopes::CHAT, NodeStatus => SetStatusResult, "How the companion does.", own nodes::set_status, told nodes::set_status_told),
    method!("node.push_token.set", Scopes::CHAT, PushTokenParams => SetPushResult, "How it can be woken.", own nodes::set_push, told nodes::set_push_told),
    method!("config.get", Scopes::READ, ConfigParams => AnyJson, "Settings in effect, without secrets.", own config::get, told config::get_told),
    method!("config.reload", Scopes::ADMIN, Nothing => ReloadResult, "Reads the settings again.", own config::reload, told config::reload_told),
    method!("pairing.generate", Scopes::ADMIN, GenerateParams => GenerateResult, "A code for an unknown sender.", own pairing::generate, told pairing::generate_told),
    method!("pairing.list", Scopes::ADMIN, Nothing => PairingListResult, "Codes, and who was let in.", own pairing::list, told pairing::list_told),
    method!("pairing.revoke", Scopes::ADMIN, RevokeParams => RevokeResult, "Takes a code or a sender back.", own pairing::revoke, told pairing::revoke_told),
    method!("usage.report", Scopes::READ, UsageParams => UsageResult, "What was used.", own reports::usage, told reports::usage_told),
    method!("audit.query", Scopes::ADMIN, AuditParams => AuditResult, "Who did what.", own reports::audit, told reports::audit_told),
    method!("rpc.discover", anybody, Nothing => ObjectJson, "This document.", by services::discover),
];

pub(crate) fn find(name: &str) -> Option<&'static MethodRow> {
    METHODS.iter().find(|row| row.name == name)
}
