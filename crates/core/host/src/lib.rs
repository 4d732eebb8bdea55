//! Joins any [`wire::Dialect`] to the engine over any pipe: bytes cut into lines (stdio, a socket, memory) or messages. Knows
//! no dialect, and is the only crate that touches the process's stdout. What a conversation is to a process lives here, too:
//! signals, exit codes, notes on stderr, the time of day, and whose process it is.

mod clock;
mod ending;
mod exit;
mod frame_log;
mod notes;
mod principal_cell;
mod pump;
mod runtime;
mod signals;
mod stdio;
mod transport;
mod user;

pub use clock::{WallClock, now_ms};
pub use ending::DaemonEnding;
pub use frame_log::FrameLog;
pub use notes::{
    DaemonLog, NoteFormat, NoteLevel, NoteListener, is_noted, keep_log, note, note_at, note_whole, notes_dropped,
};
pub use principal_cell::PrincipalCell;
pub use pump::{Ended, Gone, NoOwnCalls, OnLost, OwnCalls, PumpOptions, pump, pump_messages};
pub use runtime::{daemon_runtime, runtime_on};
pub use signals::survive_file_limits;
pub use stdio::{Input, Output, take};
pub use transport::{MemoryEnd, MemorySink, MemoryStream, MessageSink, MessageStream, message_pair};
pub use user::user_name;
