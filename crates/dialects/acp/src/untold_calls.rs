//! Calls that the model has asked for and the client was not told of: what stops a turn ends those, too, and no client hears the
//! end of a call that it does not know.

use vocab::{Body, Call, CallEnd, CallEntry, Entry, TurnEntry};

/// Of the newest reply.
#[derive(Default)]
pub(crate) struct UntoldCalls {
    calls: Vec<Call>,
}

impl UntoldCalls {
    /// At the end of these entries, to a client that was told them live.
    pub(crate) fn behind<'e>(entries: impl Iterator<Item = &'e std::sync::Arc<Entry>>) -> Self {
        let mut untold = Self::default();
        entries.for_each(|entry| _ = untold.take(&entry.body));
        untold
    }

    /// An entry. Returns the call that ends with it and is to be told first.
    pub(crate) fn take(&mut self, body: &Body) -> Option<Call> {
        match body {
            Body::Assistant { message, .. } => self.calls = message.calls().cloned().collect(),
            Body::Call(CallEntry::Started { call, .. }) => self.calls.retain(|it| it.id != call.id),
            Body::Call(CallEntry::Ended { result, .. }) => {
                let at = self.calls.iter().position(|call| call.id == result.call)?;
                let call = self.calls.remove(at);
                // Any other has started. What is recalled of a log does not say which have.
                return matches!(result.end, CallEnd::Interrupted | CallEnd::Lost).then_some(call);
            }
            Body::Turn(TurnEntry::Started { .. }) => self.all_told(),
            _ => {}
        }
        None
    }

    /// A reply that is told again comes with all its calls.
    pub(crate) fn all_told(&mut self) {
        self.calls.clear();
    }
}
