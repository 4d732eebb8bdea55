//! A gateway as a process: from its configuration to what the server, the services and the sessions go by, now and after a
//! second reading; and what it goes on with after a start.

mod health;
mod log;
mod login;
mod server;
mod settle;
mod source;
mod take_up;

pub use health::{HealthFacts, health};
pub use log::{LogListeners, keep_log};
pub use login::login;
pub use server::{access, addresses, doubts, service_settings};
pub use settle::settle;
pub use source::{SettingsPlace, SettingsService, SettingsSource};
pub use take_up::{UsualOf, take_up};
