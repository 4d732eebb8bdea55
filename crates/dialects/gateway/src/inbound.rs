//! What each method does: one function per row of the table.

pub(crate) mod agent;
pub(crate) mod cancel;
pub(crate) mod connection;
pub(crate) mod events;
pub(crate) mod message;
pub(crate) mod queue;
pub(crate) mod sessions;
pub(crate) mod tools;
