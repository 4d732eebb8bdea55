//! What pi, oh-my-pi and xcsh make of a session: its messages as JSON, and its log as the lines of a session file. The
//! same bytes go over the wire (`dialect-rpc`) and into files (`session-files`). Pure: no frame, no file, no clock.

mod diff;
pub mod messages;
mod tool_names;
pub mod transcript;

pub use tool_names::TOOL_NAMES;
