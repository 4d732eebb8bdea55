//! The services behind the gateway's dialect, driven through it: real engine, store in memory, paused time.
#![allow(clippy::unwrap_used)] // A test that cannot go on has failed.

mod asks;
mod canvas;
mod golden;
mod history;
mod house;
mod names;
mod nodes;
mod pairing;
mod play;
mod reports;
mod scopes;
mod sessions;
mod shelf;
mod transcripts;
