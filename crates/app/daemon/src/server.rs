//! What the configuration means to the server: where it listens, who may come in, how its services stand.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use config::{Configuration, ServerConfig};
use dialect_gateway::ContextRules;
use gateway::{Access, CheckpointRules, DashboardRules, NodeRules, PairingRules, ServiceSettings, TailscaleOptions};
use vocab::{Fault, FaultKind, SessionId, Settings};

pub fn access(server: &ServerConfig) -> Access {
    Access {
        token: server.token.clone(),
        hostnames: server.hostnames.clone(),
        allowed_origins: server.allowed_origins.clone(),
        auth_http: server.auth_http,
        body_bytes_max: usize::try_from(server.max_body_bytes).unwrap_or(usize::MAX),
        dashboard: DashboardRules { enabled: server.dashboard.enabled, public_shell: server.dashboard.public_shell },
        tailscale: TailscaleOptions {
            identity: server.tailscale.identity,
            trust_header: server.tailscale.trust_header,
            allowed_logins: server.tailscale.allowed_logins.clone(),
        },
    }
}

/// What a connection goes by from its beginning to its end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DoorRules {
    /// A run ends with the connection that asked for it.
    pub cancel_on_disconnect: bool,
    /// When people are told how full the context is; `None`: never.
    pub context: Option<ContextRules>,
    /// Files and terminals of ACP clients on other machines are used.
    pub remote_client_fs: bool,
}

pub fn door_rules(server: &ServerConfig) -> DoorRules {
    let proactive = &server.proactive;
    DoorRules {
        cancel_on_disconnect: server.cancel_on_disconnect,
        context: proactive.enabled.then(|| ContextRules {
            warn_pct: f64::from(proactive.warn_pct),
            checkpoint_pct: f64::from(proactive.checkpoint_pct),
            compact_pct: f64::from(proactive.auto_compact_pct),
        }),
        remote_client_fs: server.acp.remote_client_fs,
    }
}

/// What is set and can never come true: an origin that no page has, a name that nobody is called by, a token that no header
/// carries; and what is probably a slip, since nothing is denied by a name that no tool has.
pub fn doubts(config: &Configuration, server: &ServerConfig) -> Vec<String> {
    let place = |key: &str| config.source(key).map(|it| format!("{it}: ")).unwrap_or_default();
    let has = |key: &str, word: &str| format!("{}`{key}` has `{}`", place(key), vocab::visible::visible_line(word));
    let mut doubts = Vec::new();
    let origins = server.allowed_origins.iter().filter(|it| !gateway::is_origin(it));
    doubts.extend(origins.map(|it| {
        format!(
            "{}, which has no effect: it wants an origin, such as https://app.example",
            has("server.allowed_origins", it)
        )
    }));
    let names = server.hostnames.iter().filter(|it| !gateway::is_host_name(it));
    doubts.extend(names.map(|it| {
        format!("{}, which has no effect: it wants a name alone, such as box.example", has("server.hostnames", it))
    }));
    if server.token.as_ref().is_some_and(|token| !token.expose().bytes().all(|byte| matches!(byte, b' '..=b'~'))) {
        let key = "server.token";
        doubts.push(format!(
            "{}`{key}` has characters that no `Authorization` header carries: only a login can show it",
            place(key)
        ));
    }
    let tools = &server.tools;
    let lists = [
        ("tools.only", tools.only.as_deref().unwrap_or_default()),
        ("tools.auto_approve", &tools.auto_approve),
        ("tools.confirm", &tools.confirm),
        ("tools.deny", &tools.deny),
    ];
    for (key, names) in lists {
        let slips = names.iter().filter_map(|name| Some((name, vocab::names::misspelt(name)?)));
        doubts.extend(slips.map(|(name, near)| {
            format!("{}, which no tool of ours is called; did you mean `{near}`?", has(key, name))
        }));
    }
    let known = |name: &str| config::FEATURES.contains(&name);
    for (name, _) in server.feature_gates.iter().filter(|(name, _)| !known(name)) {
        if let Some(near) = vocab::nearest::nearest(name, config::FEATURES) {
            let has = has("server.feature_gates", name);
            doubts.push(format!("{has}, which is no feature of ours; did you mean `{near}`?"));
        }
    }
    doubts
}

pub fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>, Fault> {
    match host {
        "localhost" => Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]),
        host => match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => Ok(vec![SocketAddr::new(address, port)]),
            Err(_) => Err(Fault::new(FaultKind::Invalid, format!("{host} is no address to listen on"))
                .hint("127.0.0.1 is this machine alone; 0.0.0.0 is every network it is in")),
        },
    }
}

pub fn service_settings(server: &Arc<ServerConfig>, settings: &Settings) -> ServiceSettings {
    let lanes = server.clone();
    ServiceSettings {
        gates: server.feature_gates.iter().map(|(name, on)| (name.as_str().into(), *on)).collect(),
        nodes: NodeRules {
            enabled: server.nodes.enabled,
            allowed_roles: server.nodes.allowed_roles.iter().map(|role| role.as_str().into()).collect(),
            location: server.nodes.location,
            push: server.nodes.push,
        },
        pairing: PairingRules {
            enabled: server.pairing.enabled,
            ttl_ms: i64::try_from(server.pairing.code_ttl_s).unwrap_or(i64::MAX / 1000) * 1000,
            length: server.pairing.code_length,
        },
        online_ms: i64::try_from(server.presence_online_ms).unwrap_or(i64::MAX),
        lane: Arc::new(move |session: &SessionId| lanes.queue.policy(session.as_str())),
        threshold_pct: u64::from(settings.compaction.threshold_pct),
        stall_ms: server.stall_ms,
        checkpoints: CheckpointRules {
            from_pct: server.proactive.enabled.then(|| f64::from(server.proactive.checkpoint_pct)),
            cooldown_ms: i64::try_from(server.proactive.checkpoint_cooldown_ms).unwrap_or(i64::MAX),
            namespace: server.proactive.memory_namespace.as_str().into(),
        },
    }
}
