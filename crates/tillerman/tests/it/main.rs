//! Tests of the whole: conversations, stories, the page, the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod docs;
mod golden;
mod leash_entry;
mod real_model;
mod stories;
mod transcripts;
