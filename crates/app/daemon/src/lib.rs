//! A gateway as a process: from its configuration to what the server, the services and the sessions go by, now and after a
//! second reading; and what it goes on with after a start.

mod health;
mod log;
mod login;
mod server;
mod settle;
mod source;
mod take_up;
#[cfg(test)]
mod tests;

pub use health::{HealthFacts, health};
pub use log::{LogListeners, keep_log};
pub use login::login;
pub use server::{DoorRules, access, addresses, door_rules, doubts, service_settings};
pub use settle::settle;
pub use source::{SettingsPlace, SettingsService, SettingsSource};
pub use take_up::{UsualOf, take_up};
