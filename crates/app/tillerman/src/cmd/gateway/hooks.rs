//! What a server asks of its process: how we are, what can be asked, which settings hold.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use config::{Configuration, ServerConfig};
use gateway::services::{
    ConfigSource, GatewayCounts, GatewayService, NodeRules, PairingRules, Reloaded, ServiceParts, ServiceSettings, StoreKey,
};
use gateway::{AccessHandle, HealthReport, ServerHandle, ServerHooks};
use serde_json::{Value, json};
use vocab::{Fault, FaultKind, Later, SessionId, Settings};

use super::settle;
use crate::compose::Wired;

/// One per process.
pub(super) struct DaemonHooks {
    wired: Arc<Wired>,
    source: Arc<Source>,
    pub(super) service: GatewayService,
    started: std::time::Instant,
}

/// The settings that hold, and where they are read again from.
pub(super) struct Source {
    holds: Mutex<(Configuration, ServerConfig)>,
    again: Box<dyn Fn() -> Result<Configuration, Fault> + Send + Sync>,
    /// Once the server runs.
    server: OnceLock<(AccessHandle, GatewayService)>,
    wired: Arc<Wired>,
}
