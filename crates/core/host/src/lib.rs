//! Joins any [`wire::Dialect`] to the engine over any byte pipe: stdio, a socket, memory. Knows no dialect, and is the only
//! crate that touches the process's stdout.

mod frame_log;
mod notes;
mod pump;
mod stdio;

pub use frame_log::FrameLog;
pub use notes::{note, notes_dropped};
pub use pump::{Ended, Gone, Options, pump};
pub use stdio::{Input, Output, take};
