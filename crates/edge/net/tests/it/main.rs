//! HTTP against real servers on loopback.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod endpoint;
mod exchange;
mod idle;
mod tls;
mod visitor;
