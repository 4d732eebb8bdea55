//! The words every other crate shares. No I/O, no JSON, no runtime, no dialect, no vendor. What each
//! word means stands in docs/glossary.md.

mod ask;
mod command;
mod content;
mod editor;
mod event;
mod extension;
mod fault;
mod finding;
mod ids;
mod keyring;
mod log;
pub mod names;
pub mod nearest;
mod ports;
mod saved;
mod secret;
mod settings;
mod slash;
mod subagents;
pub mod thinking;
mod time;
mod todo;
mod usage;
pub mod visible;

pub use ask::*;
pub use command::*;
pub use content::*;
pub use editor::*;
pub use event::*;
pub use extension::*;
pub use fault::*;
pub use finding::*;
pub use ids::*;
pub use keyring::*;
pub use log::*;
pub use ports::*;
pub use saved::*;
pub use secret::*;
pub use settings::*;
pub use slash::*;
pub use subagents::*;
pub use time::*;
pub use todo::*;
pub use usage::*;
