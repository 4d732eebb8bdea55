//! The dialect as its controllers meet it: without an engine where the order of events matters (`talk`), over a pipe with the
//! real engine everywhere else (`play`).
#![allow(clippy::unwrap_used)] // Test helpers outside of #[test] functions: a panic is the report.

mod accounts;
mod bounds;
mod chaos;
mod compacting;
mod ending;
mod envelope;
mod garbage;
mod history;
mod images;
mod interrupts;
mod lost;
mod methods;
mod play;
mod races;
mod show;
mod steering;
mod talk;
mod tools;
mod turns;
mod user;
mod watch;
