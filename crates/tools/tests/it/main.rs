//! The tools, run as the engine runs them.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod bench;
mod edit;
mod escape;
mod patch;
mod protect;
mod race;
mod read;
mod search;
mod small;
mod write;
