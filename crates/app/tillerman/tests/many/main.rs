//! Many sessions in one process, on the store and with the tools of the product. A test binary of its own: what it
//! measures is the whole process.

// In a helper of a test a failed `unwrap` is a failed test.
#![allow(clippy::unwrap_used)]

mod cost;
mod process;
mod soak;
mod stress;
mod world;
