//! What was heard of the reply that is under way, for who begins to listen in the middle of it on a connection that is on the
//! session already: the engine tells it once to each connection.

use vocab::{SessionId, TurnId};

use crate::ledger::IdLedger;
use crate::listeners::Listener;
use crate::own::Out;

/// Bytes of text, and of thinking. Of a longer reply nothing is kept: who comes late hears it when it is stored.
const HEARD_BYTES_MAX: usize = 256 * 1024;

#[derive(Default, Debug)]
pub(crate) struct HeardReply {
    turn: Option<TurnId>,
    text: String,
    thinking: String,
    /// Of both, also where nothing is kept.
    bytes: (usize, usize),
}

impl HeardReply {
    /// More text, of which there were `before` bytes.
    pub(crate) fn text(&mut self, turn: &TurnId, before: u64, delta: &str) {
        keep(&mut self.text, before, delta);
        self.bytes.0 += delta.len();
        self.turn = Some(turn.clone());
    }
    pub(crate) fn thought(&mut self, turn: &TurnId, before: u64, delta: &str) {
        keep(&mut self.thinking, before, delta);
        self.bytes.1 += delta.len();
        self.turn = Some(turn.clone());
    }
    /// It is in the log, or came to nothing.
    pub(crate) fn ends(&mut self) {
        *self = Self::default();
    }
    /// Tells one who has caught up with the log what it lacks of the reply.
    pub(crate) fn tell(&self, session: &SessionId, listener: &mut Listener, ledger: &IdLedger, out: &mut Out) {
        let Some(turn) = &self.turn else { return };
        listener.has_at_most((session, turn), self.bytes, ledger, out);
        listener.thought((session, turn), 0, &self.thinking, ledger, out);
        listener.text((session, turn), 0, &self.text, ledger, out);
    }
}

fn keep(kept: &mut String, before: u64, delta: &str) {
    let is_next = kept.len() as u64 == before;
    match is_next && kept.len() + delta.len() <= HEARD_BYTES_MAX {
        true => kept.push_str(delta),
        false => kept.clear(),
    }
}
