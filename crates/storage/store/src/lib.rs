//! Sessions that survive: [`vocab::Store`] on SQLite, and in memory for those who want no trace.
//!
//! Knows nothing of turns, lanes or dialects: an entry is a numbered record that must come back as it went in.
//! [`suite`] is what any implementation has to pass; a new one starts there.
//!
//! A file is a wire too: what is on disk are the types in `records`, never the shared words themselves, so that a
//! rename in the vocabulary cannot make an old session unreadable.

mod archive;
mod beside;
mod faults;
mod lock;
mod memory;
mod private;
mod records;
mod sqlite;
pub mod suite;
mod summary;

pub use archive::{FileArchive, as_markdown};
pub use beside::spill_dir;
pub use memory::MemoryStore;
pub use private::private_write;
pub use sqlite::{Note, SqliteStore};
