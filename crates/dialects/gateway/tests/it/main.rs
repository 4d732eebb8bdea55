//! The dialect as its clients meet it: over a pipe, with the real engine and a model that obeys its prompts.
#![allow(clippy::unwrap_used)] // Test helpers outside of #[test] functions: a panic is the report.

mod asks;
mod checkpoints;
mod collecting;
mod coming_back;
mod commands;
mod document;
mod ends;
mod envelope;
mod garbage;
mod golden;
mod history;
mod json;
mod lanes;
mod law;
mod models;
mod places;
mod play;
mod queue;
mod refused;
mod repeats;
mod runs;
mod sdk;
mod subagents;
mod subscriptions;
mod talk;
mod tools;
mod transcripts;
mod views;
mod withdrawing;
