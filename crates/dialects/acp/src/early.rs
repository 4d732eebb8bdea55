//! What happens in a session before its client has heard that it is there, kept until then, and how much of it.

use vocab::{Block, Body, CallEntry, Delta, Event, Fault, FaultKind, parts_text};

/// Bytes that are kept for one session while its past is read: as much as any reader may have unread. With more the session is
/// given up and its client is told so: it can load it again, and nothing of the session is lost.
const EARLY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What an event takes beside its texts.
const EVENT_BYTES: usize = 128;

#[derive(Default)]
pub(crate) struct EarlyEvents {
    events: Vec<Event>,
    bytes: usize,
}

impl EarlyEvents {
    pub(crate) fn push(&mut self, event: Event) {
        self.bytes += EVENT_BYTES + text_bytes(&event);
        self.events.push(event);
    }

    /// Why no more is kept, where that is so.
    pub(crate) fn overflow(&self) -> Option<Fault> {
        let text = "too much happened in the session while its past was read";
        (self.bytes > EARLY_BYTES_MAX).then(|| Fault::new(FaultKind::Internal, text).hint("load it again"))
    }
}

impl IntoIterator for EarlyEvents {
    type Item = Event;
    type IntoIter = std::vec::IntoIter<Event>;
    fn into_iter(self) -> Self::IntoIter {
        self.events.into_iter()
    }
}

fn text_bytes(event: &Event) -> usize {
    match event {
        Event::Delta(Delta::Text { delta, .. } | Delta::Thinking { delta, .. }) => delta.len(),
        Event::Delta(Delta::CallInput { delta, .. }) => delta.len(),
        Event::Delta(Delta::CallProgress { parts, .. }) => parts_text(parts).len(),
        Event::Logged(entry) => match &entry.body {
            Body::User { parts, .. } => parts_text(parts).len(),
            Body::Call(CallEntry::Ended { result, .. }) => parts_text(&result.parts).len(),
            Body::Assistant { message, .. } => message.blocks.iter().map(block_bytes).sum(),
            _ => 0,
        },
        _ => 0,
    }
}

fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Thinking { text, .. } => text.len(),
        Block::Redacted(_) => 0,
        Block::Call(call) => call.input.json().as_str().len(),
    }
}
