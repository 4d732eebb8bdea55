//! The stores against the suite, and the one on disk against disks, neighbours and accidents.

mod damage;
mod disk;
mod failed_commits;
mod files;
mod kit;
mod numbers;
mod processes;
mod suites;
mod syscalls;
mod torn;
