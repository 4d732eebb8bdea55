//! Which of its turn a reply is.

use crate::{Body, NoteEntry, TurnEntry};

/// The number of the next reply of the running turn behind an entry, of what it was before it. A reply that died with its
/// process was told under a number and is not in the log: the note with which its turn goes on uses that number up, so the one
/// that is asked for instead is never taken for it.
pub fn next_reply(before: u32, body: &Body) -> u32 {
    match body {
        Body::Turn(TurnEntry::Started { .. } | TurnEntry::Ended(_)) => 0,
        Body::Assistant { .. } | Body::Note(NoteEntry::Recovered { .. }) => before + 1,
        _ => before,
    }
}
