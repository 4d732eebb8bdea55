//! The tour and the script player from outside, through the port the engine uses.

#![allow(clippy::unwrap_used, reason = "all of this binary is tests, also the helpers")]

mod docs;
mod grammar;
mod natural;
mod properties;
mod provider;
mod script;
mod support;
mod timing;
mod transcripts;
