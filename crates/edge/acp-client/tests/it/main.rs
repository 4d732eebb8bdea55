//! Tests of the client against agents that follow a script: in memory, as processes, behind ssh.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent;
mod asking;
mod edges;
mod ending;
mod process;
mod recordings;
mod services;
mod sessions;
mod ssh;
mod turns;
