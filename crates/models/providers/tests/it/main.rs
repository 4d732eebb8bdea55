//! The provider against a real server on loopback.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod anthropic;
mod calls;
mod catalogue;
mod connections;
mod custom;
mod cuts;
mod detection;
mod gemini;
mod listing;
mod live;
mod refusals;
mod responses;
mod secrets;
mod sent;
mod silence;
mod support;
mod timing;
mod tls;
