//! The dialect without an engine: lines and events in, commands and lines out.

mod ending;
mod garbage;
mod inbound;
mod multi;
mod outbound;
mod permissions;
mod schema;
mod strings;
mod talk;
