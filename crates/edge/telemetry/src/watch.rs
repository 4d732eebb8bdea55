//! Ports with somebody who looks on. What a watcher is told costs a call; it can neither change nor delay what passes.

mod models;
mod store;
mod tools;

pub use models::{CallWatch, ModelWatch, WatchedProvider};
pub use store::{LogWatch, WatchedStore};
pub use tools::{ToolWatch, WatchedServers, WatchedToolbox};
