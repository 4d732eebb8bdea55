//! A session's log: what an entry can say, which entries are on the active branch, and what the whole log adds up to.
//! Facts of a log are folded here and nowhere else, so that no two views of a session differ.

mod active_path;
mod admission;
mod conversation;
mod entry;
mod keyed;
mod reply_number;
mod totals;
mod window;

pub use active_path::{active_path, path_of};
pub use admission::{Admission, brought_text};
pub use conversation::{conversation, is_retold};
pub use entry::*;
pub use keyed::*;
pub use reply_number::next_reply;
pub use totals::{Totals, answered_usage, settled_usage};
pub use window::{LogWindow, WindowCarry, WindowFold, WindowMark};
