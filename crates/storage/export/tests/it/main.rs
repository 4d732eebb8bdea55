//! Sessions as files: what a page shows, and what a file that came from elsewhere may decide.

// Helpers outside `#[test]` functions are test code too.
#![allow(clippy::unwrap_used)]

mod admission;
mod again;
mod border;
mod download;
mod html;
