//! Skills on a real disk.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod disk;
mod docs_page;
