//! What a server asks of its process: how we are, what can be asked, which settings hold.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use config::{Configuration, ServerConfig};
use daemon::{HealthFacts, SettingsPlace, SettingsService, SettingsSource, service_settings};
use gateway::{
    ConfigSource, EXPORT_PATH, ExportRoute, GatewayCounts, GatewayService, HealthReport, ServerHandle, ServerHooks,
    ServerLoad, ServiceParts, StoreKey, WebRoute,
};
use vocab::{CompactionPolicy, Fault, FaultKind, Later, Secret, SessionId, Settings};

use crate::compose::Wired;

/// One per process.
pub(super) struct DaemonHooks {
    wired: Arc<Wired>,
    source: Arc<SettingsSource>,
    pub(super) service: GatewayService,
    export: Arc<ExportRoute>,
    started: Instant,
    server: OnceLock<Box<dyn Fn() -> ServerLoad + Send + Sync>>,
}

impl DaemonHooks {
    pub(super) fn new(
        wired: &Arc<Wired>,
        (config, server): (Configuration, ServerConfig),
        settings: Box<dyn SettingsPlace>,
        place: &Path,
        counts: GatewayCounts,
    ) -> Result<Self, Fault> {
        let server = Arc::new(server);
        let key = safefile::private_dir(place).and_then(|()| StoreKey::of_file(&place.join("key")));
        let key = key.map_err(|error| Fault::new(FaultKind::Invalid, format!("the gateway's key: {error}")))?;
        // What the server's configuration was laid over: a reload lays it anew, and may ask for more than the start did.
        let mut usual = wired.settings.clone();
        usual.compaction.threshold_pct = config.compaction(CompactionPolicy::default()).threshold_pct;
        let source = SettingsSource::new(wired.engine.clone(), usual, (config, server.clone()), settings);
        let source = Arc::new(source);
        let provider = wired.ports.provider.clone();
        let parts = ServiceParts {
            engine: wired.engine.clone(),
            store: wired.ports.store.clone(),
            shelf: wired.shelf.clone(),
            clock: wired.ports.clock.clone(),
            config: Arc::new(SettingsService(source.clone())),
            key,
            keyring: wired.keyring.clone(),
            prices: Arc::new(move |slug| provider.resolve(slug).ok()?.prices),
        };
        let service = GatewayService::new(parts, service_settings(&server, &wired.settings), counts);
        let store = wired.ports.store.clone();
        let export = ExportRoute::new(Arc::new(move |session, ending| {
            Box::pin(export::download(store.clone(), session, ending))
        }));
        let (started, server) = (Instant::now(), OnceLock::new());
        Ok(Self { wired: wired.clone(), source, service, export: Arc::new(export), started, server })
    }

    /// The server is there: reloads reach it, and its connections are counted.
    pub(super) fn runs_as(&self, running: &ServerHandle) {
        self.source.reaches(running, self.service.clone());
        self.service.is_served_by(running);
        let _ = self.server.set(Box::new(running.counter()));
    }

    fn load(&self) -> ServerLoad {
        self.server.get().map_or_else(ServerLoad::default, |load| load())
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
        move |session| Some(Arc::new(source.usual_here(session)))
    }
}

impl ServerHooks for DaemonHooks {
    fn health(&self) -> Later<'static, HealthReport> {
        let wired = &self.wired;
        let facts = HealthFacts {
            version: env!("CARGO_PKG_VERSION"),
            uptime: self.started.elapsed(),
            connections: self.load().sockets,
            sessions: wired.engine.live().len(),
            load: self.service.load(),
            has_model: wired.integrations.model == catalogue::Standing::Connected,
        };
        Box::pin(daemon::health(wired.shelf.clone(), facts))
    }
    fn schema(&self) -> Arc<str> {
        dialect_gateway::openrpc(env!("CARGO_PKG_VERSION")).to_string().into()
    }
    fn metrics(&self) -> String {
        self.service.prometheus(env!("CARGO_PKG_VERSION"), self.load())
    }
    fn reload(&self) -> Later<'static, Result<(), String>> {
        let done = SettingsService(self.source.clone()).reload(false);
        Box::pin(async move {
            let reloaded = done.await.map_err(|errors| errors.join("; "))?;
            if !reloaded.restart_required.is_empty() {
                host::note(&format!("takes a restart to hold: {}", reloaded.restart_required.join(", ")));
            }
            Ok(())
        })
    }
    fn route(&self, path: &str) -> Option<Arc<dyn WebRoute>> {
        (path == EXPORT_PATH).then(|| self.export.clone() as Arc<dyn WebRoute>)
    }
    fn hide(&self, token: &Secret) {
        self.wired.keyring.learn(token.expose());
    }
    fn note(&self, text: &str) {
        host::note(text);
    }
}
