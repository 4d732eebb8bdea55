//! The store on disk against the suite, and against disks, neighbours and accidents.

// Helpers outside `#[test]` functions are test code too.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod audit;
mod chances;
mod contents;
mod damage;
mod deleting;
mod disk;
mod failed_commits;
mod files;
mod kit;
mod mixes;
mod numbers;
mod overlaps;
mod owners;
mod packed;
mod processes;
mod reads;
mod suites;
mod syscalls;
mod torn;
mod watching;
mod windows;
