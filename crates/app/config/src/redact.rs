//! The settings as others may see them, as one tree in the spelling of the wire: everything that is in effect, nothing that
//! is secret. By type first, then by name, then by what the text looks like. Also what a second reading has changed.

use serde_json::{Map, Value, json};
use vocab::{Coalesce, LaneMode, LaneWish, McpTransport, Overflow};

use super::addresses::without_secrets;
use super::keys::SettingValue;
use super::{Configuration, KEYS, ProviderEntry, ServerConfig};

const MASK: &str = "***";

/// Parts of names that say that the value is nobody else's business.
const SECRET_WORDS: [&str; 13] = [
    "token",
    "secret",
    "password",
    "passwd",
    "api_key",
    "apikey",
    "private_key",
    "privatekey",
    "signing_key",
    "signingkey",
    "authorization",
    "cookie",
    "credential",
];

/// Whether a value under this name is hidden. Numbers of tokens are no tokens, and a preview is made to be seen.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let is_count = name.ends_with("tokens") || matches!(name.as_str(), "tokenpreview" | "token_preview");
    !is_count && SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// What takes effect without a new start: whole names, and groups of which all do, with their dot. A test of the daemon
/// compares every key with what a reload applies.
const LIVE: [&str; 19] = [
    "acp.remote_client_fs",
    "agent.stall_timeout_s",
    "compaction.proactive.",
    "pairing.",
    "server.allowed_origins",
    "server.auth_http",
    "server.dashboard.",
    "server.feature_gates",
    "server.hostnames",
    "server.max_body_bytes",
    "server.nodes.",
    "server.on_disconnect",
    "server.presence.",
    "server.queue.",
    "server.tailscale_allowed_logins",
    "server.tailscale_identity",
    "server.tailscale_trust_header",
    "server.token",
    "tools.",
];

/// A setting that is not as it was, as others may see it.
#[derive(Clone, PartialEq, Debug)]
pub struct SettingChange {
    pub name: &'static str,
    /// `None`: it was not set.
    pub from: Option<Value>,
    pub to: Option<Value>,
    /// A gateway that runs cannot take it over.
    pub restart_required: bool,
}

impl Configuration {
    /// What is not as it was, without secrets.
    pub fn changes(&self, before: &Configuration) -> Vec<SettingChange> {
        let change = |name: &'static str| SettingChange {
            name,
            from: before.shown_alone(name),
            to: self.shown_alone(name),
            restart_required: Configuration::needs_restart(name),
        };
        self.changed(before).into_iter().map(change).collect()
    }

    /// One setting, hidden as the whole tree hides it.
    fn shown_alone(&self, name: &str) -> Option<Value> {
        let mut tree = Map::new();
        put(&mut tree, name, shown(self.get(name)?));
        self.references.secrets.iter().for_each(|reference| mask_at(&mut tree, reference));
        let mut tree = Value::Object(tree);
        mask_by_name(&mut tree);
        at_path(tree, name)
    }

    /// Names of settings that are not as they were.
    pub fn changed(&self, before: &Configuration) -> Vec<&'static str> {
        KEYS.iter().map(|key| key.name).filter(|name| self.get(name) != before.get(name)).collect()
    }

    /// Whether a gateway that runs cannot take this one over.
    pub fn needs_restart(name: &str) -> bool {
        !LIVE.iter().any(|live| match live.ends_with('.') {
            true => name.starts_with(live),
            false => name == *live,
        })
    }

    /// Everything that is in effect, without secrets. `path`: only what is below it; `None` where there is nothing.
    pub fn redacted(&self, server: &ServerConfig, path: Option<&str>) -> Option<Value> {
        let mut tree = Map::new();
        for key in KEYS {
            let Some(value) = self.get(key.name) else { continue };
            put(&mut tree, key.name, shown(value));
        }
        lay_over(&mut tree, effective(server));
        // Tiers and providers once more in the nesting that clients of Flynn's know.
        tree.insert("models".to_owned(), self.nested_models());
        for name in &self.references.secrets {
            mask_at(&mut tree, name);
        }
        let mut tree = Value::Object(tree);
        mask_by_name(&mut tree);
        match path {
            None => Some(tree),
            Some(path) => at_path(tree, path),
        }
    }

    /// `{TIER: {PROVIDER: {model, apiKey}}}`.
    fn nested_models(&self) -> Value {
        let mut tiers = Map::new();
        for (tier, slugs) in self.slugs("tiers") {
            let mut providers = Map::new();
            for slug in slugs {
                let (provider, model) = slug.split_once('/').unwrap_or(("", slug));
                let entry = self.providers().iter().find(|entry| entry.name == provider);
                let address = entry.and_then(|entry| entry.base_url.as_deref()).map(without_secrets);
                let mut row = Map::from_iter([
                    ("model".to_owned(), json!(model)),
                    ("apiKey".to_owned(), json!(if entry.is_some_and(has_key) { MASK } else { "" })),
                ]);
                row.extend(address.map(|address| ("baseUrl".to_owned(), json!(address))));
                providers.insert(provider.to_owned(), Value::Object(row));
            }
            tiers.insert(tier.clone(), Value::Object(providers));
        }
        Value::Object(tiers)
    }
}

fn has_key(entry: &ProviderEntry) -> bool {
    entry.key_env.is_some() || entry.key_file.is_some() || entry.secret_command.is_some()
}

fn shown(value: &SettingValue) -> Value {
    match value {
        SettingValue::Count(number) => json!(number),
        SettingValue::Limit(text) => text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number)),
        SettingValue::Bool(on) => json!(on),
        SettingValue::Texts(texts) => json!(texts.iter().map(|text| without_secrets(text)).collect::<Vec<_>>()),
        SettingValue::Slugs(names) => names.iter().map(|(name, slugs)| (name.clone(), json!(slugs))).collect(),
        SettingValue::Gates(gates) => gates.iter().map(|(name, on)| (name.clone(), json!(on))).collect(),
        SettingValue::Lanes(lanes) => lanes.iter().map(|(name, wish)| (name.clone(), lane(*wish))).collect(),
        SettingValue::Providers(entries) => entries.iter().map(|entry| (entry.name.clone(), provider(entry))).collect(),
        // What they are given may be secret; where they are is not.
        SettingValue::Servers(servers) => {
            let row = |way: &McpTransport| match way {
                McpTransport::Process { command, .. } => json!({ "command": &**command }),
                McpTransport::Http { url, .. } => json!({ "url": without_secrets(url) }),
            };
            servers.iter().map(|server| (server.name.to_string(), row(&server.way))).collect()
        }
        SettingValue::Text(_)
        | SettingValue::Secret(_)
        | SettingValue::Mode(_)
        | SettingValue::Sync(_)
        | SettingValue::Models(_) => json!(value.show_safely()),
    }
}

fn provider(entry: &ProviderEntry) -> Value {
    json!({
        "api": entry.api.map(providers::Api::as_str),
        "baseUrl": entry.base_url.as_deref().map(without_secrets),
        "apiKey": if has_key(entry) { MASK } else { "" },
        "headers": entry.headers.iter().map(|(name, _)| (name.clone(), json!(MASK))).collect::<Map<_, _>>(),
        "models": entry.models.iter().map(|model| model.slug.as_str()).collect::<Vec<_>>(),
    })
}

fn mode(mode: LaneMode) -> &'static str {
    match mode {
        LaneMode::Collect => "collect",
        LaneMode::Followup => "followup",
        LaneMode::Steer => "steer",
        LaneMode::SteerBacklog => "steer_backlog",
        LaneMode::Interrupt => "interrupt",
    }
}

fn overflow(overflow: Overflow) -> &'static str {
    match overflow {
        Overflow::DropOld => "drop_old",
        Overflow::DropNew => "drop_new",
    }
}

fn coalesce(coalesce: Coalesce) -> &'static str {
    match coalesce {
        Coalesce::Auto => "auto",
        Coalesce::Always => "always",
        Coalesce::Never => "never",
    }
}

/// Only what is said.
fn lane(wish: LaneWish) -> Value {
    let members = [
        ("mode", wish.mode.map(|it| json!(mode(it)))),
        ("cap", wish.cap.map(|it| json!(it))),
        ("overflow", wish.overflow.map(|it| json!(overflow(it)))),
        ("debounceMs", wish.debounce_ms.map(|it| json!(it))),
        ("summarizeOverflow", wish.summarise.map(|it| json!(it))),
        ("coalesce", wish.coalesce.map(|it| json!(coalesce(it)))),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// What the gateway goes by, set or not.
fn effective(server: &ServerConfig) -> Value {
    let (usual, nodes, proactive) = (server.queue.usual, &server.nodes, &server.proactive);
    json!({
        "server": {
            "host": server.host, "port": server.port, "token": if server.token.is_some() { MASK } else { "" },
            "authHttp": server.auth_http, "tailscaleIdentity": server.tailscale.identity,
            "tailscaleTrustHeader": server.tailscale.trust_header,
            "tailscaleAllowedLogins": server.tailscale.allowed_logins,
            "allowedOrigins": server.allowed_origins, "hostnames": server.hostnames,
            "maxBodyBytes": server.max_body_bytes, "maxConcurrentRuns": server.max_concurrent_runs,
            "onDisconnect": if server.cancel_on_disconnect { "cancel" } else { "continue" },
            "shutdownGraceMs": server.shutdown_grace_ms,
            "queue": {
                "mode": mode(usual.mode), "cap": usual.cap, "overflow": overflow(usual.overflow),
                "debounceMs": usual.debounce_ms, "summarizeOverflow": usual.summarise,
                "coalesce": coalesce(usual.coalesce), "resumeAfterRestart": server.queue.resume_after_restart,
            },
            "nodes": {
                "enabled": nodes.enabled, "allowedRoles": nodes.allowed_roles,
                "location": { "enabled": nodes.location }, "push": { "enabled": nodes.push },
            },
            "dashboard": { "enabled": server.dashboard.enabled, "publicShell": server.dashboard.public_shell },
            "featureGates": server.feature_gates.iter().map(|(name, on)| (name.clone(), json!(on))).collect::<Map<_, _>>(),
            "presence": { "onlineMs": server.presence_online_ms },
        },
        "tools": {
            "autoApprove": server.tools.auto_approve, "confirm": server.tools.confirm, "deny": server.tools.deny,
            "askKeepS": server.tools.ask_keep_s,
        },
        "agent": { "stallTimeoutS": server.stall_ms / 1_000 },
        "compaction": { "proactive": {
            "enabled": proactive.enabled, "warnPct": proactive.warn_pct, "checkpointPct": proactive.checkpoint_pct,
            "autoCompactPct": proactive.auto_compact_pct, "checkpointCooldownMs": proactive.checkpoint_cooldown_ms,
            "memoryNamespace": proactive.memory_namespace,
        } },
        "pairing": {
            "enabled": server.pairing.enabled, "codeTtlS": server.pairing.code_ttl_s,
            "codeLength": server.pairing.code_length,
        },
    })
}

/// What is below a path, in either spelling.
fn at_path(tree: Value, path: &str) -> Option<Value> {
    path.split('.').try_fold(tree, |tree, part| match tree {
        Value::Object(mut members) => members.remove(&camel(part)).or_else(|| members.remove(part)),
        _ => None,
    })
}

/// `a.b_c` into the tree as `a: {bC: value}`.
fn put(tree: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        None => drop(tree.insert(camel(name), value)),
        Some((group, rest)) => {
            if let Value::Object(inner) = tree.entry(camel(group)).or_insert_with(|| Value::Object(Map::new())) {
                put(inner, rest, value);
            }
        }
    }
}

fn lay_over(tree: &mut Map<String, Value>, over: Value) {
    let Value::Object(over) = over else { return };
    for (name, value) in over {
        match (tree.get_mut(&name), value) {
            (Some(Value::Object(below)), value @ Value::Object(_)) => lay_over(below, value),
            (_, value) => drop(tree.insert(name, value)),
        }
    }
}

fn mask_at(tree: &mut Map<String, Value>, name: &str) {
    let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
    match (tree.get_mut(&camel(first)), rest) {
        (Some(Value::Object(inner)), Some(rest)) => mask_at(inner, rest),
        (Some(value), None) => hide(value),
        _ => {}
    }
}

fn hide(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() => {}
        Value::Null => {}
        value => *value = json!(MASK),
    }
}

pub(super) fn mask_by_name(tree: &mut Value) {
    match tree {
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| match is_secret_name(name) {
            true => hide(value),
            false => mask_by_name(value),
        }),
        Value::Array(items) => items.iter_mut().for_each(mask_by_name),
        Value::String(text) => *text = without_secrets(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `max_tokens` is `maxTokens` on the wire.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let mut letters = word.chars();
        let start = letters.next().map(|letter| letter.to_ascii_uppercase());
        text + &start.into_iter().chain(letters).collect::<String>()
    })
}
