//! Companions: one per connection, and a newer connection takes its companion over. Everything about one ends with its
//! connection, but the push token, which exists to reach a companion that is away.

use std::collections::HashMap;
use std::sync::Arc;

use dialect_gateway::services::nodes::*;
use dialect_gateway::shape::{Count, Nullable};
use dialect_gateway::{Code, GatewayRefusal, Topic};
use vocab::{Fault, FaultKind, Secret, ShelfKind, ShelfPlace};

use super::{SharedServices, incident, json, lock, refused};

/// Companions at the same time.
const NODES_MAX: usize = 1_024;
const PUSH_TOKEN: ShelfKind = ShelfKind { name: "push_token", goes_with_session: false };
/// Characters of a token that are shown at either end.
const PREVIEW_CHARS: usize = 4;

/// What companions may do.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct NodeRules {
    pub enabled: bool,
    pub allowed_roles: Vec<Arc<str>>,
    pub location: bool,
    pub push: bool,
}

#[derive(Default)]
pub(super) struct NodeRegistry {
    by_connection: HashMap<Arc<str>, NodeRow>,
}

impl NodeRegistry {
    pub(super) fn rows(&self) -> NodesResult {
        let mut nodes: Vec<NodeRow> = self.by_connection.values().cloned().collect();
        nodes.sort_by(|one, two| (one.registered_at, &one.id).cmp(&(two.registered_at, &two.id)));
        let summary = NodesSummary { total: nodes.len() as u64 };
        NodesResult { nodes, summary }
    }

    pub(super) fn name_on(&self, connection: &str) -> Option<NodeName> {
        self.by_connection.get(connection).map(name)
    }

    fn on(&mut self, connection: &str, now_ms: i64) -> Result<&mut NodeRow, GatewayRefusal> {
        let missing =
            || GatewayRefusal::invalid("node_not_registered", "`node.register` comes first on this connection");
        let node = self.by_connection.get_mut(connection).ok_or_else(missing)?;
        node.last_seen_at = now_ms;
        Ok(node)
    }

    /// In the place of who was on this connection, and of whoever has this id elsewhere.
    fn put(&mut self, connection: Arc<str>, node: NodeRow) -> Result<(), GatewayRefusal> {
        self.by_connection.retain(|at, other| *at != connection && other.id != node.id);
        if self.by_connection.len() >= NODES_MAX {
            let message = format!("{NODES_MAX} companions are registered");
            return Err(GatewayRefusal::new(Code::Busy, message).because("limit"));
        }
        self.by_connection.insert(connection, node);
        Ok(())
    }
}

fn name(node: &NodeRow) -> NodeName {
    NodeName { id: node.id.clone(), role: node.role.clone() }
}

fn protocol(client_version: u64) -> NodeProtocol {
    let negotiated_version = client_version.min(NODE_PROTOCOL);
    NodeProtocol { server_version: NODE_PROTOCOL, client_version, negotiated_version }
}

/// The connection is gone, and its companion with it.
pub(super) fn gone(services: &SharedServices, connection: &str) {
    if let Some(node) = lock(&services.nodes).by_connection.remove(connection) {
        tell(services, NodeChange::Gone, name(&node));
    }
}

fn tell(services: &SharedServices, change: NodeChange, node: NodeName) {
    let about = vocab::SessionId::from(&*node.id);
    let news = NodeNews { change, node, at: services.now_ms() };
    services.news.tell(Topic::Nodes, Some(&about), "node", || json(&news));
}

pub(super) async fn carry_out(
    services: &SharedServices,
    connection: Arc<str>,
    call: NodeCall,
) -> Result<NodeAnswer, GatewayRefusal> {
    let settings = services.settings();
    let rules = &settings.nodes;
    if !rules.enabled {
        return Err(GatewayRefusal::invalid("nodes_disabled", "companions are switched off"));
    }
    let now_ms = services.now_ms();
    if let NodeCall::Register(params) = call {
        return register(services, connection, params, now_ms).await.map(NodeAnswer::Registered);
    }
    let node = name(lock(&services.nodes).on(&connection, now_ms)?);
    let answer = match call {
        NodeCall::Register(_) | NodeCall::Capabilities => {
            let mut nodes = lock(&services.nodes);
            let row = nodes.on(&connection, now_ms)?;
            let (protocol, capabilities) = (protocol(row.protocol_version), row.capabilities.clone());
            return Ok(NodeAnswer::Capabilities(NodeCapabilitiesResult { node, protocol, capabilities }));
        }
        NodeCall::Location => {
            let location = lock(&services.nodes).on(&connection, now_ms)?.location.clone();
            return Ok(NodeAnswer::Location(LocationResult { node, location }));
        }
        NodeCall::SetLocation(mut location) => {
            if !rules.location {
                return Err(GatewayRefusal::invalid("location_disabled", "companions do not say where they are"));
            }
            location.received_at = Some(Count(now_ms));
            lock(&services.nodes).on(&connection, now_ms)?.location = Nullable(Some(location.clone()));
            NodeAnswer::LocationSet(SetLocationResult { updated: true, node: node.clone(), location })
        }
        NodeCall::SetStatus(new) => {
            let mut nodes = lock(&services.nodes);
            let row = nodes.on(&connection, now_ms)?;
            let status = laid_over(row.status.0.take(), *new, now_ms);
            row.status = Nullable(Some(status.clone()));
            NodeAnswer::StatusSet(SetStatusResult { updated: true, node: node.clone(), status })
        }
        NodeCall::SetPush { provider, token } => {
            if !rules.push {
                return Err(GatewayRefusal::invalid("push_disabled", "push tokens are not kept"));
            }
            let push = PushState { provider, token_preview: preview(&token), updated_at: now_ms };
            keep_token(services, &node.id, provider, &token).await?;
            lock(&services.nodes).on(&connection, now_ms)?.push = Nullable(Some(push.clone()));
            NodeAnswer::PushSet(SetPushResult { updated: true, node: node.clone(), push })
        }
    };
    tell(services, NodeChange::Changed, node);
    Ok(answer)
}

async fn register(
    services: &SharedServices,
    connection: Arc<str>,
    params: RegisterParams,
    now_ms: i64,
) -> Result<RegisterResult, GatewayRefusal> {
    let settings = services.settings();
    let rules = &settings.nodes;
    if !rules.allowed_roles.contains(&params.role.0) {
        let message = format!("companions are not let in as {}", vocab::visible::visible_line(&params.role.0));
        return Err(GatewayRefusal::invalid("role_not_allowed", message));
    }
    let mut declared: Vec<Arc<str>> = Vec::new();
    for capability in params.capabilities.0 {
        if !declared.contains(&capability.0) {
            declared.push(capability.0);
        }
    }
    let granted = |name: &str| match name {
        "location" => rules.location,
        "push" => rules.push,
        name => settings.gate(name),
    };
    let enabled = declared.iter().filter(|name| granted(name)).cloned().collect();
    let row = NodeRow {
        connection_id: connection.clone(),
        id: params.node_id.0,
        role: params.role.0,
        protocol_version: params.protocol_version.number(),
        capabilities: NodeCapabilities { declared, enabled },
        location: Nullable(None),
        status: Nullable(None),
        push: Nullable(None),
        registered_at: now_ms,
        last_seen_at: now_ms,
    };
    let push = kept_push(services, &row.id).await?;
    let row = NodeRow { push: Nullable(push), ..row };
    let result = RegisterResult {
        registered: true,
        node: name(&row),
        protocol: protocol(row.protocol_version),
        capabilities: row.capabilities.clone(),
    };
    lock(&services.nodes).put(connection, row)?;
    tell(services, NodeChange::Registered, result.node.clone());
    Ok(result)
}

/// What is given replaces what was; the rest stays.
fn laid_over(before: Option<NodeStatus>, new: NodeStatus, now_ms: i64) -> NodeStatus {
    let none = || NodeStatus {
        platform: None,
        app_version: None,
        device_name: None,
        status_text: None,
        battery_pct: None,
        power_source: None,
        updated_at: None,
    };
    let before = before.unwrap_or_else(none);
    NodeStatus {
        platform: new.platform.or(before.platform),
        app_version: new.app_version.or(before.app_version),
        device_name: new.device_name.or(before.device_name),
        status_text: new.status_text.or(before.status_text),
        battery_pct: new.battery_pct.or(before.battery_pct),
        power_source: new.power_source.or(before.power_source),
        updated_at: Some(Count(now_ms)),
    }
}

/// `fcm_…3456`
fn preview(token: &Secret) -> String {
    let letters: Vec<char> = token.expose().chars().collect();
    let (first, last) =
        (letters.iter().take(PREVIEW_CHARS), letters.iter().skip(letters.len().saturating_sub(PREVIEW_CHARS)));
    first.chain(std::iter::once(&'…')).chain(last).collect()
}

fn place(node: &str, provider: &str) -> ShelfPlace {
    ShelfPlace { kind: PUSH_TOKEN, owner: node.into(), name: provider.into() }
}

/// What a token belongs to; it opens for nothing else.
fn about(node: &str, provider: &str) -> String {
    format!("{node}/{provider}")
}

async fn keep_token(
    services: &SharedServices,
    node: &str,
    provider: PushProvider,
    token: &Secret,
) -> Result<(), GatewayRefusal> {
    let provider = provider.as_str();
    let sealed = services.parts.key.seal(&about(node, provider), token.expose());
    let sealed = sealed.ok_or_else(|| incident("internal", "a push token could not be encrypted"))?;
    services.parts.shelf.put(place(node, provider), sealed.into(), None).await.map_err(refused)?;
    Ok(())
}

/// The newest one that is kept of a companion.
async fn kept_push(services: &SharedServices, node: &str) -> Result<Option<PushState>, GatewayRefusal> {
    let kept = services.parts.shelf.list(PUSH_TOKEN, Some(node.into()), 1).await.map_err(refused)?;
    let Some(kept) = kept.into_iter().next() else { return Ok(None) };
    let Some(provider) = PushProvider::parse(&kept.place.name) else { return Ok(None) };
    let opened = services.parts.key.open(&about(node, provider.as_str()), &kept.payload);
    // One that another key has sealed is as good as none.
    Ok(opened.as_deref().and_then(Secret::new).map(|token| PushState {
        provider,
        token_preview: preview(&token),
        updated_at: kept.updated_ms,
    }))
}

pub(super) async fn push_token(services: &SharedServices, node: &str, provider: &str) -> Result<Option<Secret>, Fault> {
    let Some(kept) = services.parts.shelf.get(place(node, provider)).await? else { return Ok(None) };
    let opened = services.parts.key.open(&about(node, provider), &kept.payload);
    let opened = opened.ok_or_else(|| Fault::new(FaultKind::Store, "a push token was sealed with another key"))?;
    Ok(Secret::new(&opened))
}
