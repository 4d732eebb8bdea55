//! What every store of sessions shares: the promises of [`vocab::Store`] as a suite that any implementation runs, the
//! records that an entry is written as, the running summary of a log, the words for what goes wrong; and a store in
//! memory for sessions that leave no trace.
//!
//! Knows nothing of turns, lanes or dialects, and of no database: an entry is a numbered record that must come back as
//! it went in. A new store is a crate beside this one that needs nothing else; it starts with [`suite`].
//!
//! A file is a wire too: what is on disk are the types in [`records`], never the shared words themselves, so that a
//! rename in the vocabulary cannot make an old session unreadable.

pub mod audit;
pub mod data_dir;
pub mod faults;
mod memory;
mod private;
pub mod records;
pub mod rollup;
pub mod suite;
pub mod summary;
pub mod unfinished;

pub use memory::MemoryStore;
pub use private::private_write;
