//! The real binary with the built-in model: what people and scripts see of it.

#![allow(clippy::unwrap_used)]

mod cli;
mod cli_help;
mod cli_run;
mod cli_sessions;
