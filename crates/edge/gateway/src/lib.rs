//! The server: accepts connections, guards them, finds out who comes, and hands each one's messages to what answers its path.

mod services;

pub use services::{
    ConfigSource, ConnectionService, GatewayCounts, GatewayService, LoginPort, NodeRules, PairingRules, Reloaded,
    ServiceParts, ServiceSettings, StoreKey,
};
