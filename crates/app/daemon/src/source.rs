//! The settings of a gateway that runs: which hold, and what a second reading changes.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use config::{Configuration, ServerConfig};
use engine::Engine;
use gateway::{AccessHandle, ConfigSource, GatewayService, Reloaded};
use serde_json::{Value, json};
use vocab::{Fault, Later, SessionId, Settings};

use crate::{access, service_settings, settle};

/// Reads the configuration once more.
pub type ReadAgain = Box<dyn Fn() -> Result<Configuration, Fault> + Send + Sync>;

/// The settings that hold, and where they are read from again.
pub struct SettingsSource {
    engine: Engine,
    /// What sessions start with where the configuration of the server says nothing.
    settings: Settings,
    holds: Mutex<(Configuration, Arc<ServerConfig>)>,
    again: ReadAgain,
    /// Once the server runs: whom a change reaches.
    reaches: OnceLock<(AccessHandle, GatewayService)>,
}

impl SettingsSource {
    pub fn new(
        engine: Engine,
        settings: Settings,
        holds: (Configuration, Arc<ServerConfig>),
        again: ReadAgain,
    ) -> Self {
        Self { engine, settings, holds: Mutex::new(holds), again, reaches: OnceLock::new() }
    }

    /// The server runs: changes reach it from now on.
    pub fn reaches(&self, access: AccessHandle, service: GatewayService) {
        let _ = self.reaches.set((access, service));
    }

    /// The configuration that holds now.
    pub fn with_config<T>(&self, look: impl FnOnce(&Configuration) -> T) -> T {
        look(&self.holds().0)
    }

    pub fn server(&self) -> Arc<ServerConfig> {
        self.holds().1.clone()
    }

    fn holds(&self) -> MutexGuard<'_, (Configuration, Arc<ServerConfig>)> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a session of this id starts with.
    pub fn usual(&self, session: &SessionId) -> Settings {
        let server = self.holds().1.clone();
        let mut settings = self.settings.clone();
        settle(&mut settings, &server);
        settings.lane = server.queue.policy(session.as_str());
        settings
    }

    /// Reads everything again and makes it hold.
    pub fn take_over(&self) -> Result<Reloaded, Vec<String>> {
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
        let mut settings = self.settings.clone();
        settle(&mut settings, &server);
        self.engine.set_defaults(settings.clone());
        if let Some((handle, service)) = self.reaches.get() {
            service.settle(service_settings(&server, &settings));
            let token = server.token.clone().or_else(|| handle.get().token.clone());
            handle.set(access(&server, token)).map_err(|error| vec![error.to_string()])?;
        }
        Ok(reloaded)
    }
}

impl ConfigSource for SettingsSource {
    fn shown(&self) -> Value {
        let holds = self.holds();
        holds.0.redacted(&holds.1, None).unwrap_or_else(|| json!({}))
    }
    fn reload(&self) -> Later<'static, Result<Reloaded, Vec<String>>> {
        let done = self.take_over();
        Box::pin(async move { done })
    }
}
