//! The tour and the script player from outside, through the port the engine uses.

mod docs;
mod grammar;
mod natural;
mod properties;
mod provider;
mod script;
mod support;
mod timing;
mod transcripts;
