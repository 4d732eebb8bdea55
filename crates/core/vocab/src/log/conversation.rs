//! A log for somebody who looks at it: what was said and done on the branch that counts, and not how it came about.

use std::sync::Arc;

use crate::{Body, CallEntry, Entry, NoteEntry, active_path};

/// Whether an entry is part of what is told again of a session, in whatever words.
pub fn is_retold(body: &Body) -> bool {
    match body {
        Body::Opened { .. }
        | Body::User { .. }
        | Body::Assistant { .. }
        | Body::Turn(_)
        | Body::Call(CallEntry::Ended { .. })
        | Body::Branch(_)
        | Body::Setting(_)
        | Body::Shell(_)
        // What it numbers ([`crate::next_reply`]) is called the same when it is told again.
        | Body::Note(NoteEntry::Recovered { .. }) => true,
        Body::Call(CallEntry::Started { .. }) | Body::Ask(_) | Body::Queue(_) | Body::Model(_) => false,
        Body::Note(
            NoteEntry::Imported { .. } | NoteEntry::Label { .. } | NoteEntry::Keyed(_) | NoteEntry::Waived { .. },
        ) => false,
    }
}

/// The conversation of a log, oldest first. Its newest entry is there in any case: it says how far the log goes.
pub fn conversation(entries: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
    let newest = entries.last().map_or(0, |entry| entry.seq);
    let path = active_path(entries).into_iter();
    path.filter(|entry| entry.seq == newest || is_retold(&entry.body)).cloned().collect()
}
