#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test fails by panicking; helpers outside `#[test]` as well

mod leash_entry;
mod shell_background;
mod shell_ending;
mod shell_run;
mod shell_support;
mod web;
