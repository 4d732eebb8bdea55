//! Looking through a log from its end for one kind of thing, a bounded piece at a time: for reports and searches, which may
//! come to logs of any length and must keep nobody waiting.

use std::sync::Arc;

use crate::{Body, BranchEntry, Entry, ModelEntry, TurnEntry, UserFrom};

/// Records that one look passes at most, whatever they are; who wants more looks again.
pub const SKIM_ROWS_MAX: u64 = 4096;
/// Entries that one look gives at most.
pub const SKIM_ENTRIES_MAX: usize = 256;

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SkimFor {
    /// What people and models said.
    Messages,
    /// Where runs begin and end, and what was used in them.
    Runs,
    Compactions,
}

impl SkimFor {
    pub fn is_met_by(self, body: &Body) -> bool {
        match (self, body) {
            (SkimFor::Messages, Body::User { from, .. }) => {
                matches!(from, UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp)
            }
            (SkimFor::Messages | SkimFor::Runs, Body::Assistant { .. }) => true,
            (SkimFor::Runs, Body::Turn(entry)) => !matches!(entry, TurnEntry::Taken { .. }),
            (SkimFor::Runs, Body::Model(entry)) => matches!(entry, ModelEntry::Spent { .. }),
            (SkimFor::Runs | SkimFor::Compactions, Body::Branch(entry)) => matches!(entry, BranchEntry::Compacted(_)),
            _ => false,
        }
    }
}

/// One look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skim {
    pub what: SkimFor,
    /// Only entries before this one; `None`: from the end.
    pub before: Option<u64>,
    /// At most so many entries, at least one; more than [`SKIM_ENTRIES_MAX`] are not given.
    pub limit: usize,
}

/// What a look has found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Skimmed {
    /// Newest first. What cannot be read is passed over.
    pub entries: Vec<Arc<Entry>>,
    /// Where the next look goes on ([`Skim::before`]); `None`: there is nothing older.
    pub older: Option<u64>,
}
