//! Framing and JSON as every dialect relies on them.

mod calls;
mod frames;
mod json;
mod jsonrpc;
mod lines;

use proptest::test_runner::{Config, RngSeed};

/// The same generated cases on every run and every machine, nothing written to disk.
fn cases(count: u32) -> Config {
    Config { cases: count, rng_seed: RngSeed::Fixed(0x7111e2), failure_persistence: None, ..Config::default() }
}
