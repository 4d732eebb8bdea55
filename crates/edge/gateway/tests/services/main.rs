//! The services behind the gateway's dialect, driven through it: real engine, store in memory, paused time.
#![allow(clippy::unwrap_used)] // A test that cannot go on has failed.

mod asks;
mod canvas;
mod checkpoints;
mod golden;
mod history;
mod house;
mod listing;
mod names;
mod nodes;
mod operations;
mod pairing;
mod play;
mod reports;
mod scopes;
mod search;
mod sessions;
mod shelf;
mod transcripts;
mod usage_runs;
