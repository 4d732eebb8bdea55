//! How far a peer has been told a session.

use crate::{Body, Delta, Event, SessionId, TurnEntry};

/// How far a peer is when it has taken an event. Whoever comes in again with the position that it has is told everything
/// after it, once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Position {
    /// The last entry told.
    pub seq: u64,
    /// How much of the running reply was told; 0 where none runs. Its beginning counts one, and so does that of each call
    /// in it and each seal; the rest is the bytes of text, thinking and call input.
    pub offset: u64,
}

/// A place that a peer has been told: a position, and the session it is of where the peer knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cursor {
    pub session: Option<SessionId>,
    pub at: Position,
    pub along: Along,
}

/// What a peer that comes back is told.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Along {
    /// How things are: what was moved away from or compacted since makes its place worthless, and it is told everything anew.
    #[default]
    Branch,
    /// What was written, entry by entry, whatever became of the branch.
    Log,
}

impl Cursor {
    /// Right behind an entry.
    pub fn at(seq: u64) -> Self {
        Self { session: None, at: Position::at(seq), along: Along::default() }
    }
}

impl Position {
    pub fn at(seq: u64) -> Self {
        Self { seq, offset: 0 }
    }

    /// Goes on to where a peer is that has taken this, too.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Logged(entry) => {
                self.seq = entry.seq;
                if ends_reply(&entry.body) {
                    self.offset = 0;
                }
            }
            Event::Delta(Delta::ModelCalled { .. }) => self.offset = 1,
            Event::Delta(delta) => self.offset += steps(delta),
            Event::TurnLost(_) => self.offset = 0,
            Event::State(_)
            | Event::Compaction(_)
            | Event::Retry(_)
            | Event::Settled
            | Event::ShellProgress { .. }
            | Event::Extension(_)
            | Event::Editor(_)
            | Event::SignIn { .. }
            | Event::Queue(_)
            | Event::Watch(_)
            | Event::Live { .. }
            | Event::Reply { .. }
            | Event::Gone { .. } => {}
        }
    }
}

/// How far a delta brings the reply that it is of.
fn steps(delta: &Delta) -> u64 {
    match delta {
        Delta::ModelCalled { .. } | Delta::Sealed { .. } => 1,
        Delta::Text { delta, .. } | Delta::Thinking { delta, .. } => delta.len() as u64,
        Delta::CallInput { id, name, delta, .. } => u64::from(id.is_some() || name.is_some()) + delta.len() as u64,
        Delta::CallProgress { .. } | Delta::CallBegan { .. } => 0,
    }
}

/// With this entry the reply is in the log, or there is none.
pub fn ends_reply(body: &Body) -> bool {
    matches!(body, Body::Assistant { .. } | Body::Turn(TurnEntry::Started { .. } | TurnEntry::Ended(_)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Entry, NoteEntry, Sealed};

    fn note(seq: u64) -> Event {
        let body = Body::Note(NoteEntry::Recovered { text: "x".into() });
        Event::Logged(Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None }))
    }

    #[test]
    fn every_delta_that_can_be_told_apart_has_its_own_position() {
        let mut at = Position::at(4);
        let turn = || "t".into();
        let call = |id: Option<&str>, delta: &str| {
            let (id, delta) = (id.map(Into::into), delta.into());
            Event::Delta(Delta::CallInput { turn: turn(), index: 0, id, name: None, delta })
        };
        let steps = [
            (Event::Delta(Delta::ModelCalled { turn: turn(), reply: 0 }), (4, 1)),
            (Event::Delta(Delta::Thinking { turn: turn(), delta: "hé".into() }), (4, 4)),
            (Event::Delta(Delta::Sealed { turn: turn(), what: Sealed::Thinking }), (4, 5)),
            (note(5), (5, 5)),
            (Event::Delta(Delta::Text { turn: turn(), delta: "so".into() }), (5, 7)),
            (call(Some("c1"), ""), (5, 8)),
            (call(None, "{}"), (5, 10)),
            (Event::Settled, (5, 10)),
            (Event::Delta(Delta::ModelCalled { turn: turn(), reply: 0 }), (5, 1)),
        ];
        for (event, want) in steps {
            at.take(&event);
            assert_eq!((at.seq, at.offset), want, "{event:?}");
        }
        let started = Body::Turn(TurnEntry::Started { turn: turn() });
        at.take(&Event::Logged(Arc::new(Entry { seq: 6, parent: 5, at_ms: 0, body: started, by: None })));
        assert_eq!(at, Position::at(6));
    }
}
