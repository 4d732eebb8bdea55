//! The dialect without an engine: lines and events in, commands and lines out.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acknowledged;
mod choosing;
mod commands;
mod events;
mod garbage;
mod ids;
mod lost;
mod recovered;
mod sealed;
mod splits;
mod stopping;
mod strings;
mod talk;
mod updates;
