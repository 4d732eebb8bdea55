//! The words every other crate shares. No I/O, no JSON, no runtime, no dialect.
//!
//! Glossary, one word per idea:
//!
//! * **session**: one conversation and its log. It outlives connections.
//! * **entry**: one durable record of a session's log, numbered by a gap-free `seq`.
//! * **turn**: one run of the agent, from a user message until it stops. At most one per session at a time.
//! * **round**: one model call of a turn plus the tool calls it asked for.
//! * **lane**: the waiting room in front of a session's turns.
//! * **item**: one message waiting in a lane.
//! * **call**: one tool call; it gets exactly one result.
//! * **child**: a session that works for a call of another one (a sub-agent) and ends before that call does.
//! * **ask / answer**: the engine asks a person something; it is answered once or withdrawn.
//! * **peer**: one attached controller, speaking one dialect.
//! * **extension**: a program of the user's beside every session (an extension); **hook / verdict**: it is asked, it says.
//! * **command**: what a peer wants; **event**: what a peer is told; **tag** joins a reply to its command.
//! * **fault**: anything that went wrong, with a closed kind and hints.
//! * **frame**: one message on a wire. **dialect**: a way of speaking frames.

mod around;
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
mod secret;
mod settings;
mod slash;
mod subagents;
pub mod thinking;
mod time;
mod todo;
mod usage;
pub mod visible;

pub use around::*;
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
pub use secret::*;
pub use settings::*;
pub use slash::*;
pub use subagents::*;
pub use time::*;
pub use todo::*;
pub use usage::*;
