//! What a server asks of its process: how we are, what can be asked, which settings hold.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use config::{Configuration, ServerConfig};
use daemon::{ReadAgain, SettingsSource, service_settings};
use gateway::{GatewayCounts, GatewayService, HealthReport, ServerHandle, ServerHooks, ServiceParts, StoreKey};
use serde_json::json;
use vocab::{Fault, FaultKind, Later, SessionId, Settings, ShelfKind, ShelfPlace};

use crate::compose::Wired;

/// Written to see whether the store can be written to.
const PROBE: ShelfKind = ShelfKind { name: "probe", goes_with_session: false };

/// One per process.
pub(super) struct DaemonHooks {
    wired: Arc<Wired>,
    source: Arc<SettingsSource>,
    pub(super) service: GatewayService,
    started: Instant,
    server: OnceLock<Box<dyn Fn() -> (usize, usize) + Send + Sync>>,
}

impl DaemonHooks {
    pub(super) fn new(
        wired: &Arc<Wired>,
        (config, server): (Configuration, ServerConfig),
        again: ReadAgain,
        place: &Path,
        counts: GatewayCounts,
    ) -> Result<Self, Fault> {
        let server = Arc::new(server);
        let key = safefile::private_dir(place).and_then(|()| StoreKey::of_file(&place.join("key")));
        let key = key.map_err(|error| Fault::new(FaultKind::Invalid, format!("the gateway's key: {error}")))?;
        let source = SettingsSource::new(wired.engine.clone(), wired.settings.clone(), (config, server.clone()), again);
        let source = Arc::new(source);
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
        self.source.reaches(running.access(), self.service.clone());
        let _ = self.server.set(Box::new(running.counter()));
    }

    pub(super) fn holds(&self) -> Arc<ServerConfig> {
        self.source.server()
    }

    /// The same for a session that another wire makes.
    pub(super) fn usual_of_wire(&self) -> Settings {
        self.source.usual(&SessionId::from(""))
    }

    pub(super) fn with_config<T>(&self, look: impl FnOnce(&Configuration) -> T) -> T {
        self.source.with_config(look)
    }

    /// What a session of this id starts with.
    pub(super) fn usual(&self) -> impl Fn(&SessionId) -> Option<Arc<Settings>> + Send + Sync + 'static {
        let source = self.source.clone();
        move |session| Some(Arc::new(source.usual(session)))
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
