//! Servers of tools that a controller brings to its session: how they are held, and what they find in their environment.

use std::sync::Arc;

use mcp::{Options, Servers};

use crate::beside::Leashed;

/// `secrets` are values that no program we start may find in its environment.
pub(super) fn servers(secrets: &[String]) -> Arc<Servers> {
    Arc::new(Servers::new(Options {
        env: tools::shell::clean_environment(secrets.to_vec()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        launcher: Arc::new(Leashed),
    }))
}
