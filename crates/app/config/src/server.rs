//! `server`, `pairing` and what else the gateway goes by, with everything that is not set as usual.

use std::path::PathBuf;

use vocab::{LanePolicy, LaneWish, Secret};

use super::keys::SettingValue;
use super::{Configuration, lanes};

/// The port of Flynn's, so that its clients find ours.
const PORT: u16 = 18_800;
const BODY_BYTES_MAX: u64 = 1024 * 1024;
const RUNS_MAX: u64 = 128;
const GRACE_MS: u64 = 5_000;
const STALL_S: u64 = 600;
const ASK_KEEP_S: u64 = 86_400;
const ONLINE_MS: u64 = 300_000;
const CODE_TTL_S: u64 = 300;
/// Of 32 letters and digits: 40 bits.
const CODE_LENGTH: u64 = 8;
const ACP_GRACE_S: u64 = 300;
const WARN_PCT: u8 = 75;
const CHECKPOINT_PCT: u8 = 85;
const AUTO_COMPACT_PCT: u8 = 95;
const CHECKPOINT_COOLDOWN_MS: u64 = 300_000;
const MEMORY_NAMESPACE: &str = "session/checkpoints";
/// Features of ours. They are on where nobody says otherwise; others may have names of their own.
pub const FEATURES: [&str; 2] = ["ui.canvas", "notifications"];

#[derive(Clone, PartialEq, Debug)]
pub struct ServerConfig {
    pub host: String,
    pub port: u16,
    pub token: Option<Secret>,
    /// Whether reading health, numbers and schema wants the token, too.
    pub auth_http: bool,
    pub tailscale: TailscaleConfig,
    pub allowed_origins: Vec<String>,
    pub hostnames: Vec<String>,
    pub max_body_bytes: u64,
    pub max_concurrent_runs: usize,
    /// A run ends with the connection that asked for it.
    pub cancel_on_disconnect: bool,
    pub shutdown_grace_ms: u64,
    pub acp: AcpConfig,
    pub tls: Option<TlsFiles>,
    pub queue: QueueConfig,
    pub nodes: NodesConfig,
    pub dashboard: DashboardConfig,
    /// By name; those that nobody named are off.
    pub feature_gates: Vec<(String, bool)>,
    pub presence_online_ms: u64,
    pub tools: ToolLists,
    pub stall_ms: u64,
    pub pairing: PairingConfig,
    pub proactive: ProactiveConfig,
}

/// What is said and done about contexts that fill up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProactiveConfig {
    pub enabled: bool,
    pub warn_pct: u8,
    pub checkpoint_pct: u8,
    pub auto_compact_pct: u8,
    pub checkpoint_cooldown_ms: u64,
    /// Without a `/` at its end.
    pub memory_namespace: String,
}

/// The Agent Client Protocol over the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcpConfig {
    /// How long a connection stays without a stream and without a request.
    pub connection_grace_s: u64,
    /// Files and terminals of its clients are used, which are those of another machine.
    pub remote_client_fs: bool,
}

/// The page for browsers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DashboardConfig {
    pub enabled: bool,
    /// It is given to everybody; what it shows is not.
    pub public_shell: bool,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TailscaleConfig {
    pub identity: bool,
    pub trust_header: bool,
    /// Empty: everybody whom tailscale knows.
    pub allowed_logins: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

#[derive(Clone, PartialEq, Debug)]
pub struct QueueConfig {
    pub usual: LanePolicy,
    /// What waited when the process ended is run.
    pub resume_after_restart: bool,
    pub channels: Vec<(String, LaneWish)>,
    pub sessions: Vec<(String, LaneWish)>,
}

impl QueueConfig {
    /// For the session of this id, whose channel is what stands before its first colon; `ws` without one.
    pub fn policy(&self, session: &str) -> LanePolicy {
        let channel = session.split_once(':').map_or("ws", |(channel, _)| channel);
        let find = |rows: &[(String, LaneWish)], name: &str| rows.iter().find(|(it, _)| it == name).map(|(_, it)| *it);
        let channel = find(&self.channels, channel).unwrap_or_default();
        let session = find(&self.sessions, session).unwrap_or_default();
        session.over(channel.over(self.usual))
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodesConfig {
    pub enabled: bool,
    pub allowed_roles: Vec<String>,
    pub location: bool,
    pub push: bool,
}

/// Canonical names of tools, or patterns in which `*` stands for anything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolLists {
    /// Names alone; `None`: all tools are offered.
    pub only: Option<Vec<String>>,
    pub auto_approve: Vec<String>,
    pub confirm: Vec<String>,
    pub deny: Vec<String>,
    /// How long a question stays open while nobody is there.
    pub ask_keep_s: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairingConfig {
    pub enabled: bool,
    pub code_ttl_s: u64,
    pub code_length: usize,
}

impl Configuration {
    /// The error says what does not go together.
    pub fn server(&self) -> Result<ServerConfig, vocab::Fault> {
        let number = |name: &str, usual: u64| self.count(name).unwrap_or(usual);
        let list = |name: &str| self.texts(name).unwrap_or_default().to_vec();
        let tools = |name: &str| {
            let written = self.texts(name).unwrap_or_default().iter();
            written.flat_map(|name| vocab::names::meant(name)).map(str::to_owned).collect()
        };
        Ok(ServerConfig {
            host: self.text("server.host").unwrap_or("127.0.0.1").to_owned(),
            port: u16::try_from(number("server.port", PORT.into())).unwrap_or(PORT),
            token: match self.get("server.token") {
                Some(SettingValue::Secret(secret)) => secret.clone(),
                _ => None,
            },
            auth_http: self.switch("server.auth_http").unwrap_or(true),
            tailscale: TailscaleConfig {
                identity: self.switch("server.tailscale_identity").unwrap_or(false),
                trust_header: self.switch("server.tailscale_trust_header").unwrap_or(false),
                allowed_logins: list("server.tailscale_allowed_logins"),
            },
            allowed_origins: list("server.allowed_origins"),
            hostnames: list("server.hostnames"),
            max_body_bytes: number("server.max_body_bytes", BODY_BYTES_MAX),
            max_concurrent_runs: usize::try_from(number("server.max_concurrent_runs", RUNS_MAX)).unwrap_or(usize::MAX),
            cancel_on_disconnect: self.text("server.on_disconnect") == Some("cancel"),
            shutdown_grace_ms: number("server.shutdown_grace_ms", GRACE_MS),
            acp: AcpConfig {
                connection_grace_s: number("acp.connection_grace_s", ACP_GRACE_S),
                remote_client_fs: self.switch("acp.remote_client_fs").unwrap_or(false),
            },
            tls: self.tls_files()?,
            queue: self.queue(),
            nodes: NodesConfig {
                enabled: self.switch("server.nodes.enabled").unwrap_or(false),
                allowed_roles: self.texts("server.nodes.allowed_roles").map_or(vec!["companion".into()], <[_]>::to_vec),
                location: self.switch("server.nodes.location.enabled").unwrap_or(false),
                push: self.switch("server.nodes.push.enabled").unwrap_or(false),
            },
            dashboard: DashboardConfig {
                enabled: self.switch("server.dashboard.enabled").unwrap_or(true),
                public_shell: self.switch("server.dashboard.public_shell").unwrap_or(true),
            },
            feature_gates: self.gates(),
            presence_online_ms: number("server.presence.online_ms", ONLINE_MS),
            tools: ToolLists {
                only: self.only_tools().map(<[_]>::to_vec),
                auto_approve: tools("tools.auto_approve"),
                confirm: tools("tools.confirm"),
                deny: tools("tools.deny"),
                ask_keep_s: number("tools.ask_keep_s", ASK_KEEP_S),
            },
            stall_ms: number("agent.stall_timeout_s", STALL_S) * 1_000,
            pairing: PairingConfig {
                enabled: self.switch("pairing.enabled").unwrap_or(true),
                code_ttl_s: number("pairing.code_ttl_s", CODE_TTL_S),
                code_length: usize::try_from(number("pairing.code_length", CODE_LENGTH)).unwrap_or(usize::MAX),
            },
            proactive: self.proactive(),
        })
    }

    fn proactive(&self) -> ProactiveConfig {
        let percent = |name: &str, usual: u8| self.count(name).and_then(|it| u8::try_from(it).ok()).unwrap_or(usual);
        let namespace = self.text("compaction.proactive.memory_namespace").map(|it| it.trim_matches('/'));
        ProactiveConfig {
            enabled: self.switch("compaction.proactive.enabled").unwrap_or(true),
            warn_pct: percent("compaction.proactive.warn_pct", WARN_PCT),
            checkpoint_pct: percent("compaction.proactive.checkpoint_pct", CHECKPOINT_PCT),
            auto_compact_pct: percent("compaction.proactive.auto_compact_pct", AUTO_COMPACT_PCT),
            checkpoint_cooldown_ms: self
                .count("compaction.proactive.checkpoint_cooldown_ms")
                .unwrap_or(CHECKPOINT_COOLDOWN_MS),
            memory_namespace: namespace.filter(|it| !it.is_empty()).unwrap_or(MEMORY_NAMESPACE).to_owned(),
        }
    }

    fn tls_files(&self) -> Result<Option<TlsFiles>, vocab::Fault> {
        let (cert, key) = (self.text("server.tls.cert"), self.text("server.tls.key"));
        match (cert, key) {
            (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert: cert.into(), key: key.into() })),
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => {
                let text = "`server.tls` wants both `cert` and `key`, and has only one of them";
                Err(vocab::Fault::new(vocab::FaultKind::Invalid, text))
            }
        }
    }

    fn queue(&self) -> QueueConfig {
        let lanes = |name: &str| match self.get(name) {
            Some(SettingValue::Lanes(rows)) => rows.clone(),
            _ => Vec::new(),
        };
        let wish = LaneWish {
            mode: self.text("server.queue.mode").and_then(lanes::mode),
            cap: self.count("server.queue.cap").and_then(|cap| usize::try_from(cap).ok()),
            overflow: self.text("server.queue.overflow").and_then(lanes::overflow),
            debounce_ms: self.count("server.queue.debounce_ms"),
            summarise: self.switch("server.queue.summarize_overflow"),
            coalesce: self.text("server.queue.coalesce").and_then(lanes::coalesce),
            ..LaneWish::default()
        };
        QueueConfig {
            usual: wish.over(LanePolicy::default()),
            resume_after_restart: self.switch("server.queue.resume_after_restart").unwrap_or(false),
            channels: lanes("server.queue.overrides.channels"),
            sessions: lanes("server.queue.overrides.sessions"),
        }
    }

    fn gates(&self) -> Vec<(String, bool)> {
        let own: &[(String, bool)] = match self.get("server.feature_gates") {
            Some(SettingValue::Gates(gates)) => gates,
            _ => &[],
        };
        let usual = FEATURES.iter().filter(|name| !own.iter().any(|(it, _)| it == **name));
        usual.map(|name| ((*name).to_owned(), true)).chain(own.iter().cloned()).collect()
    }
}
