//! Child processes, started for real.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod launchers;
mod leash_entry;
mod terminal;
