//! The reply whose calls have not all ended, and what was told of them: whoever comes in now could not follow the rest of it
//! without that.

use std::sync::Arc;

use vocab::{Body, CallEntry, Entry, Event};

/// Empty while no reply has open calls.
#[derive(Default)]
pub(super) struct OpenRound {
    entries: Vec<Arc<Entry>>,
    /// Calls of the reply that have no result.
    open: usize,
}

impl OpenRound {
    pub(super) fn entries(&self) -> Vec<Arc<Entry>> {
        self.entries.clone()
    }

    /// Follows what is told.
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::Logged(entry) => self.logged(entry),
            Event::TurnLost(_) => *self = Self::default(),
            _ => {}
        }
    }

    pub(super) fn logged(&mut self, entry: &Arc<Entry>) {
        match &entry.body {
            Body::Assistant { message, .. } => {
                let open = message.calls().count();
                let entries = if open > 0 { vec![entry.clone()] } else { Vec::new() };
                *self = Self { entries, open };
            }
            Body::Call(call) if self.open > 0 => {
                self.entries.push(entry.clone());
                self.open -= usize::from(matches!(call, CallEntry::Ended { .. }));
                if self.open == 0 {
                    self.entries.clear();
                }
            }
            Body::Turn(_) => *self = Self::default(),
            _ => {}
        }
    }
}
