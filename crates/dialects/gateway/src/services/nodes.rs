//! Companion devices: each registers on its connection, says what it can, where it is and how it does.

use std::sync::Arc;

use vocab::Secret;

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::shape::*;
use crate::{Gateway, shape, words};

/// The version of the companions' protocol that is spoken here.
pub const NODE_PROTOCOL: u64 = 1;

shape! { params
    /// Who registers.
    RegisterParams {
        "nodeId" node_id: Text<1, 128>,
        "role" role: Text<1, 64>,
        "protocolVersion" protocol_version: Count<1, 1_000_000>,
        "capabilities" capabilities: List<Text<1, 64>, 64>,
    }
}
shape! { both
    /// Where a companion is.
    NodeLocation {
        "latitude" latitude: Real<-90, 90>,
        "longitude" longitude: Real<-180, 180>,
        "accuracyMeters" accuracy_meters: Option<Real<0, 100_000_000>>,
        "source" source: Option<Text<0, 64>>,
        /// By its own clock.
        "capturedAt" captured_at: Option<Count<0, { i64::MAX }>>,
        /// By ours; whatever the companion says of it is passed over.
        "receivedAt" received_at: Option<Count<0, { i64::MAX }>>,
    }
}
words! { /// What it runs on.
    PowerSource { Ac = "ac", Battery = "battery", Unknown = "unknown" }
}
shape! { both
    /// How a companion does. Only what is given is changed.
    NodeStatus {
        "platform" platform: Option<Text<0, 64>>,
        "appVersion" app_version: Option<Text<0, 64>>,
        "deviceName" device_name: Option<Text<0, 128>>,
        "statusText" status_text: Option<Text<0, 500>>,
        "batteryPct" battery_pct: Option<Real<0, 100>>,
        "powerSource" power_source: Option<PowerSource>,
        "updatedAt" updated_at: Option<Count<0, { i64::MAX }>>,
    }
}
words! { /// Whose push service.
    PushProvider { Apns = "apns", Fcm = "fcm" }
}
shape! { params
    /// By which the companion can be woken.
    PushTokenParams { "provider" provider: PushProvider, "token" token: Text<16, 4096> }
}

shape! { result
    /// Which companion.
    NodeName { "id" id: Arc<str>, "role" role: Arc<str> }
}
shape! { result
    /// The lower one of both counts.
    NodeProtocol {
        "serverVersion" server_version: u64, "clientVersion" client_version: u64, "negotiatedVersion" negotiated_version: u64,
    }
}
shape! { result
    /// `enabled`: those of the declared ones that are granted here.
    NodeCapabilities { "declared" declared: Vec<Arc<str>>, "enabled" enabled: Vec<Arc<str>> }
}
shape! { result
    /// It is registered on this connection.
    RegisterResult {
        "registered" registered: bool,
        "node" node: NodeName,
        "protocol" protocol: NodeProtocol,
        "capabilities" capabilities: NodeCapabilities,
    }
}
shape! { result
    /// As it was agreed.
    NodeCapabilitiesResult {
        "node" node: NodeName, "protocol" protocol: NodeProtocol, "capabilities" capabilities: NodeCapabilities,
    }
}
shape! { result
    /// What is known now.
    SetLocationResult { "updated" updated: bool, "node" node: NodeName, "location" location: NodeLocation }
}
shape! { result
    /// null: it has not said.
    LocationResult { "node" node: NodeName, "location" location: Nullable<NodeLocation> }
}
shape! { result
    /// What is known now.
    SetStatusResult { "updated" updated: bool, "node" node: NodeName, "status" status: NodeStatus }
}
shape! { result
    /// The token itself is never told.
    PushState { "provider" provider: PushProvider, "tokenPreview" token_preview: String, "updatedAt" updated_at: i64 }
}
shape! { result
    /// What is kept.
    SetPushResult { "updated" updated: bool, "node" node: NodeName, "push" push: PushState }
}
shape! { result
    /// A companion that is here.
    NodeRow {
        "connectionId" connection_id: Arc<str>,
        "id" id: Arc<str>,
        "role" role: Arc<str>,
        "protocolVersion" protocol_version: u64,
        "capabilities" capabilities: NodeCapabilities,
        "location" location: Nullable<NodeLocation>,
        "status" status: Nullable<NodeStatus>,
        "push" push: Nullable<PushState>,
        "registeredAt" registered_at: i64,
        "lastSeenAt" last_seen_at: i64,
    }
}
shape! { result
    /// How many.
    NodesSummary { "total" total: u64 }
}
shape! { result
    /// All that are here.
    NodesResult { "nodes" nodes: Vec<NodeRow>, "summary" summary: NodesSummary }
}
shape! { result
    /// One that has said where it is.
    LocatedNode { "node" node: NodeName, "location" location: NodeLocation }
}
shape! { result
    /// Those that have said where they are.
    LocationsResult { "locations" locations: Vec<LocatedNode> }
}
words! { /// What happened to a companion.
    NodeChange { Registered = "registered", Changed = "changed", Gone = "gone" }
}
shape! { result
    /// What happened to a companion.
    NodeNews { "change" change: NodeChange, "node" node: NodeName, "at" at: i64 }
}

#[derive(Debug)]
pub enum NodeCall {
    Register(RegisterParams),
    Capabilities,
    SetLocation(NodeLocation),
    Location,
    SetStatus(Box<NodeStatus>),
    SetPush { provider: PushProvider, token: Secret },
}

#[derive(Debug)]
pub enum NodeAnswer {
    Registered(RegisterResult),
    Capabilities(NodeCapabilitiesResult),
    LocationSet(SetLocationResult),
    Location(LocationResult),
    StatusSet(SetStatusResult),
    PushSet(SetPushResult),
}

fn node(call: NodeCall) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Node(call))))
}

pub(crate) fn register(_: &Gateway, params: RegisterParams) -> Result<OwnPlan, GatewayRefusal> {
    node(NodeCall::Register(params))
}
pub(crate) fn capabilities(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    node(NodeCall::Capabilities)
}
pub(crate) fn set_location(_: &Gateway, params: NodeLocation) -> Result<OwnPlan, GatewayRefusal> {
    node(NodeCall::SetLocation(params))
}
pub(crate) fn location(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    node(NodeCall::Location)
}
pub(crate) fn set_status(_: &Gateway, params: NodeStatus) -> Result<OwnPlan, GatewayRefusal> {
    node(NodeCall::SetStatus(Box::new(params)))
}
pub(crate) fn set_push(_: &Gateway, params: PushTokenParams) -> Result<OwnPlan, GatewayRefusal> {
    let must = || GatewayRefusal::wrong_param("token", "`token` must not be blank");
    let token = Secret::new(&params.token.0).ok_or_else(must)?;
    node(NodeCall::SetPush { provider: params.provider, token })
}
pub(crate) fn nodes(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Nodes)))
}

told!(register_told, ServiceAnswer::Node(NodeAnswer::Registered(it)) => it, RegisterResult);
told!(capabilities_told, ServiceAnswer::Node(NodeAnswer::Capabilities(it)) => it, NodeCapabilitiesResult);
told!(set_location_told, ServiceAnswer::Node(NodeAnswer::LocationSet(it)) => it, SetLocationResult);
told!(location_told, ServiceAnswer::Node(NodeAnswer::Location(it)) => it, LocationResult);
told!(set_status_told, ServiceAnswer::Node(NodeAnswer::StatusSet(it)) => it, SetStatusResult);
told!(set_push_told, ServiceAnswer::Node(NodeAnswer::PushSet(it)) => it, SetPushResult);
told!(nodes_told, ServiceAnswer::Nodes(it) => it, NodesResult);
told!(locations_told, ServiceAnswer::Nodes(it) => located(it), LocationsResult);

fn located(all: NodesResult) -> LocationsResult {
    let one = |node: NodeRow| {
        let name = NodeName { id: node.id, role: node.role };
        Some(LocatedNode { node: name, location: node.location.0? })
    };
    LocationsResult { locations: all.nodes.into_iter().filter_map(one).collect() }
}
