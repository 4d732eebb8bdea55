//! Extensions as real programs: good ones, and every kind of bad one.

// In a helper of a test a failed `unwrap` is a failed test.
#![allow(clippy::unwrap_used)]

mod bad;
mod examples;
mod good;
mod page;
mod support;
