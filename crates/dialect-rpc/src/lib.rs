//! The `rpc` dialect: NDJSON as xcsh, oh-my-pi and pi speak it in `--mode rpc`. A pure state machine over
//! [`wire::Dialect`]: no I/O, no clock, no runtime.
//!
//! `docs/dialects/rpc.md` is the page for authors of controllers.

pub mod messages;
pub mod transcript;
