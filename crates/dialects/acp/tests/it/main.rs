//! The dialect as its clients meet it: without an engine where the order of events matters (`talk`), over a pipe with the real
//! engine where anything may happen at any time (`chaos`). Whole conversations stand in `golden/acp`.
#![allow(clippy::unwrap_used)] // Test helpers outside of #[test] functions: a panic is the report.

mod asks;
mod bytes;
mod chaos;
mod coming_back;
mod costs;
mod editor;
mod garbage;
mod lost;
mod races;
mod show;
mod talk;
mod tools;
mod watch;
