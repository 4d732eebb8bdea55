//! Session files as the family writes them: read, followed, mended, and read by pi itself.

// Helpers of tests fail like tests do.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod damage;
mod disk;
mod follow;
mod hostile;
mod kit;
mod living;
mod opening;
mod pi;
mod reading;
mod signatures;
mod suite;
