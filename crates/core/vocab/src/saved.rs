//! Saved sessions, as a peer sees them that is on none of them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{Entry, Summary};

/// One saved session, as a list shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Saved {
    pub summary: Summary,
    /// How its place is written down for people.
    pub place: PathBuf,
}

/// A page of saved sessions.
#[derive(Clone, PartialEq, Debug)]
pub struct SavedPage {
    pub list: Vec<Saved>,
    /// Of all pages together.
    pub total: u64,
}

/// A saved session and its active branch, read without opening it.
#[derive(Clone, PartialEq, Debug)]
pub struct Recalled {
    pub saved: Saved,
    pub entries: Vec<Arc<Entry>>,
}
