//! What a session has to go on with, counted entry by entry, so that whoever starts anew finds it without reading a log.

use vocab::{AskEntry, Body, QueueEntry, TurnEntry};

/// What is open at some place of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenWork {
    /// A turn has started and not ended.
    pub turn: bool,
    /// Questions without an answer and messages that wait.
    pub items: i64,
}

impl OpenWork {
    pub fn is_unfinished(self) -> bool {
        self.turn || self.items > 0
    }
}

/// What one entry changes about it.
pub enum WorkChange {
    Nothing,
    Turn(bool),
    Items(i64),
}

pub fn change(body: &Body) -> WorkChange {
    match body {
        Body::Turn(TurnEntry::Started { .. }) => WorkChange::Turn(true),
        Body::Turn(TurnEntry::Ended(_)) => WorkChange::Turn(false),
        Body::Ask(AskEntry::Opened(_)) | Body::Queue(QueueEntry::Queued(_)) => WorkChange::Items(1),
        Body::Ask(AskEntry::Closed { .. }) | Body::Queue(QueueEntry::Settled { .. }) => WorkChange::Items(-1),
        _ => WorkChange::Nothing,
    }
}

/// Adds up entries: the turn as they leave it, if they say anything of it, and the items.
pub fn fold<'a>(bodies: impl IntoIterator<Item = &'a Body>) -> (Option<bool>, i64) {
    bodies.into_iter().fold((None, 0), |(turn, items), body| match change(body) {
        WorkChange::Nothing => (turn, items),
        WorkChange::Turn(is_open) => (Some(is_open), items),
        WorkChange::Items(more) => (turn, items + more),
    })
}
