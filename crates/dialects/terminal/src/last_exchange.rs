//! The last exchange of a session, for a person who comes back to it.

use std::sync::Arc;

use vocab::{Body, Entry, UserFrom, parts_text};

/// Entries of the log that are looked through; an exchange that began before them is shown without its prompt.
pub(super) const ENTRIES_MAX: u64 = 400;

/// What was asked last, and what was said last to it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LastExchange {
    pub prompt: Option<String>,
    pub answer: Option<String>,
}

/// Along the branch that ends at the newest entry: what was taken back was not said.
pub(super) fn last_exchange(entries: &[Arc<Entry>]) -> LastExchange {
    let mut last = LastExchange::default();
    let mut at = entries.last().map_or(0, |entry| entry.seq);
    for entry in entries.iter().rev() {
        if entry.seq != at {
            continue;
        }
        at = entry.parent;
        match &entry.body {
            Body::User { parts, from: UserFrom::Prompt, .. } => {
                last.prompt = Some(parts_text(parts).trim().to_owned());
                return last;
            }
            Body::Assistant { message, .. } if last.answer.is_none() && !message.text().trim().is_empty() => {
                last.answer = Some(message.text().trim().to_owned());
            }
            _ => {}
        }
    }
    last
}
