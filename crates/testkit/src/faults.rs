//! What fault tests of the real binary are made of: a world for it to run in, a process that speaks lines, eyes on
//! `/proc`, and what any client of any dialect can do ([`Driver`]).
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod driver;
mod process;
mod watch;
mod world;

use std::time::Duration;

use serde_json::Value;

pub use driver::{Asking, Driver, End, Heard, Limits, Turn};
pub use process::Process;
pub use watch::{Witness, mark, most_kib, peak_kib, rss_kib, running, within};
pub use world::{KEY, Tmpfs, World};

/// Everything in here happens on a busy machine; only a promise with a time of its own is held to a shorter one.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub const MIB: usize = 1 << 20;

/// The count of a normal run, or the one of a full run.
pub fn count(normal: usize, full: usize) -> usize {
    if is_full() { full } else { normal }
}

pub fn is_full() -> bool {
    std::env::var("TILLERMAN_FULL").is_ok_and(|value| value == "1")
}

pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// For messages of failed tests.
pub fn brief(seen: &[Value]) -> String {
    let text: Vec<String> = seen.iter().map(|value| value.to_string().chars().take(300).collect()).collect();
    let from = text.len().saturating_sub(20);
    text[from..].join("\n")
}
