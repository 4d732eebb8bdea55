//! Servers of tools that a controller brings to its session, and the user's own: how they are held, and what they find in their environment.

use std::sync::Arc;

use mcp::{McpOptions, Servers};
use process::LeashLauncher;
use vocab::{Keyring, McpServer};

/// `secrets` are values that no program we start may find in its environment.
pub(super) fn servers(secrets: &Keyring, own: Vec<McpServer>) -> Arc<Servers> {
    Arc::new(Servers::new(McpOptions {
        env: process::clean_environment(secrets),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        launcher: Arc::new(LeashLauncher),
        own,
    }))
}
