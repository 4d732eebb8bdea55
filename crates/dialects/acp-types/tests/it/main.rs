//! The types as both ends meet them: what is broken is forgiven, what is unknown is kept, what is written is in order.
#![allow(clippy::unwrap_used)] // Test helpers outside of #[test] functions: a panic is the report.

mod reading;
mod writing;
