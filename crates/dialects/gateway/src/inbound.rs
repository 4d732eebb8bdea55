//! What each method does: one function per row of the table.

pub(crate) mod connection;
