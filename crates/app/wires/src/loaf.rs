//! `loaf`: how its sessions behave, what is kept for its clients, and who answers its own calls.

mod preferences;
mod service;
mod settle;

pub use preferences::{LoafPreferences, PreferencesFile};
pub use service::{LoafService, find_skills, read_image};
pub use settle::settle;

use vocab::{ModelInfo, Provider};

/// The model that was selected some earlier time, where there still is one of that name, else the first there is. Without
/// any the client has to select one: the tour would answer a user who believes to talk to a real model.
pub fn model(provider: &dyn Provider, earlier: Option<&str>, first: Option<&str>) -> Option<ModelInfo> {
    let resolve = |slug: &str| provider.resolve(slug).ok();
    earlier.and_then(resolve).or_else(|| first.and_then(resolve))
}
