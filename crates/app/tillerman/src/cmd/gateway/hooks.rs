//! What a server asks of its process: how we are, what can be asked, which settings hold.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use config::{Configuration, ServerConfig};
use gateway::{
    AccessHandle, ConfigSource, GatewayCounts, GatewayService, HealthReport, NodeRules, PairingRules, Reloaded,
    ServerHandle, ServerHooks, ServiceParts, ServiceSettings, StoreKey,
};
use serde_json::{Value, json};
use vocab::{Fault, FaultKind, Later, SessionId, Settings, ShelfKind, ShelfPlace};

use super::settle;
use crate::compose::Wired;

/// Written to see whether the store can be written to.
const PROBE: ShelfKind = ShelfKind { name: "probe", goes_with_session: false };

/// Reads the configuration once more.
pub(super) type Again = Box<dyn Fn() -> Result<Configuration, Fault> + Send + Sync>;

/// One per process.
pub(super) struct DaemonHooks {
    wired: Arc<Wired>,
    source: Arc<Source>,
    pub(super) service: GatewayService,
    started: Instant,
    server: OnceLock<Box<dyn Fn() -> (usize, usize) + Send + Sync>>,
}

/// The settings that hold, and where they are read from again.
pub(super) struct Source {
    wired: Arc<Wired>,
    holds: Mutex<(Configuration, Arc<ServerConfig>)>,
    again: Again,
    /// Once the server runs: whom a change reaches.
    reaches: OnceLock<(AccessHandle, GatewayService)>,
}

impl DaemonHooks {
    pub(super) fn new(
        wired: &Arc<Wired>,
        (config, server): (Configuration, ServerConfig),
        again: Again,
        place: &Path,
        counts: GatewayCounts,
    ) -> Result<Self, Fault> {
        let server = Arc::new(server);
        let key = safefile::private_dir(place).and_then(|()| StoreKey::of_file(&place.join("key")));
        let key = key.map_err(|error| Fault::new(FaultKind::Invalid, format!("the gateway's key: {error}")))?;
        let source = Arc::new(Source {
            wired: wired.clone(),
            holds: Mutex::new((config, server.clone())),
            again,
            reaches: OnceLock::new(),
        });
        let parts = ServiceParts {
            engine: wired.engine.clone(),
            store: wired.ports.store.clone(),
            shelf: wired.shelf.clone(),
            clock: wired.ports.clock.clone(),
            config: source.clone(),
            key,
            keyring: wired.keyring.clone(),
        };
        let service = GatewayService::new(parts, service_settings(&server, &wired.settings), counts);
        Ok(Self { wired: wired.clone(), source, service, started: Instant::now(), server: OnceLock::new() })
    }

    /// The server is there: reloads reach it, and its connections are counted.
    pub(super) fn runs_as(&self, running: &ServerHandle) {
        let _ = self.source.reaches.set((running.access(), self.service.clone()));
        let _ = self.server.set(Box::new(running.counter()));
    }

    pub(super) fn holds(&self) -> Arc<ServerConfig> {
        self.source.holds().1.clone()
    }

    /// What a session of this id starts with.
    pub(super) fn usual(&self) -> impl Fn(&SessionId) -> Option<Arc<Settings>> + Send + Sync + 'static {
        let source = self.source.clone();
        move |session| Some(Arc::new(source.usual(session)))
    }

    pub(super) async fn read_again(&self) -> Result<Reloaded, String> {
        self.source.reload().await.map_err(|errors| errors.join("; "))
    }
}

impl Source {
    fn holds(&self) -> MutexGuard<'_, (Configuration, Arc<ServerConfig>)> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn usual(&self, session: &SessionId) -> Settings {
        let server = self.holds().1.clone();
        let mut settings = self.wired.settings.clone();
        settle::settle(&mut settings, &server);
        settings.lane = server.queue.policy(session.as_str());
        settings
    }

    fn take_over(&self) -> Result<Reloaded, Vec<String>> {
        let wrong = |fault: Fault| vec![fault.message];
        let config = (self.again)().map_err(wrong)?;
        let server = Arc::new(config.server().map_err(wrong)?);
        let mut holds = self.holds();
        let changed: Vec<&str> = config.changed(&holds.0);
        let (restart, now): (Vec<&str>, Vec<&str>) =
            changed.iter().partition(|name| Configuration::needs_restart(name));
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let reloaded = Reloaded { changed: owned(now), restart_required: owned(restart) };
        *holds = (config, server.clone());
        drop(holds);
        let mut settings = self.wired.settings.clone();
        settle::settle(&mut settings, &server);
        self.wired.engine.set_defaults(settings.clone());
        if let Some((access, service)) = self.reaches.get() {
            service.settle(service_settings(&server, &settings));
            let token = server.token.clone().or_else(|| access.get().token.clone());
            access.set(super::access(&server, token)).map_err(|error| vec![error.to_string()])?;
        }
        Ok(reloaded)
    }
}

impl ConfigSource for Source {
    fn shown(&self) -> Value {
        let holds = self.holds();
        holds.0.redacted(&holds.1, None).unwrap_or_else(|| json!({}))
    }
    fn reload(&self) -> Later<'static, Result<Reloaded, Vec<String>>> {
        let done = self.take_over();
        Box::pin(async move { done })
    }
}

fn service_settings(server: &Arc<ServerConfig>, settings: &Settings) -> ServiceSettings {
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
    }
}

impl ServerHooks for DaemonHooks {
    fn health(&self) -> Later<'static, HealthReport> {
        let (wired, started) = (self.wired.clone(), self.started);
        let connections = self.server.get().map_or(0, |count| count().1);
        let (running, waiting) = self.service.load();
        Box::pin(async move {
            let place = ShelfPlace { kind: PROBE, owner: "".into(), name: "health".into() };
            let written = wired.shelf.put(place, b"1".as_slice().into(), None).await;
            let model = wired.integrations.model == catalogue::Standing::Connected;
            let status = if written.is_ok() && model { "ok" } else { "degraded" };
            let json = json!({
                "status": status,
                "version": env!("CARGO_PKG_VERSION"),
                "uptime": started.elapsed().as_secs(),
                "connections": connections,
                "sessions": wired.engine.live().len(),
                "activeRuns": running,
                "queueDepth": waiting,
                "checks": {
                    "store": if written.is_ok() { "ok" } else { "cannot be written" },
                    "model": if model { "ok" } else { "none is connected" },
                },
            });
            HealthReport { serves: written.is_ok(), json: json.to_string() }
        })
    }
    fn schema(&self) -> Arc<str> {
        dialect_gateway::openrpc(env!("CARGO_PKG_VERSION")).to_string().into()
    }
    fn metrics(&self) -> String {
        self.service.prometheus(env!("CARGO_PKG_VERSION"))
    }
    fn reload(&self) -> Later<'static, Result<(), String>> {
        let done = self.source.take_over().map(|_| ()).map_err(|errors| errors.join("; "));
        Box::pin(async move { done })
    }
    fn note(&self, text: &str) {
        self.service.log("info", text);
        host::note(text);
    }
}
