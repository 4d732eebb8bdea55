//! What a session costs among many, on the store and with the tools of the product. A test binary of its own, with one
//! test: what it measures is the whole process.

// In a helper of a test a failed `unwrap` is a failed test.
#![allow(clippy::unwrap_used)]

mod cost;
mod process;
#[allow(dead_code)] // Each of the two binaries uses its part.
mod world;
