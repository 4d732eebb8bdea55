//! The dialect without an engine: lines and events in, commands and lines out.
#![allow(clippy::unwrap_used)] // Test helpers outside of #[test] functions: a panic is the report.

mod chaos;
mod ending;
mod garbage;
mod inbound;
mod lost;
mod multi;
mod outbound;
mod page;
mod permissions;
mod schema;
mod strings;
mod talk;
