//! Servers as real programs and real HTTP: good ones, and every kind of bad one.

// In a helper of a test a failed `unwrap` is a failed test.
#![allow(clippy::unwrap_used)]

mod leashed;
mod lives;
mod page;
mod stdio;
mod support;
mod web;
mod web_server;
