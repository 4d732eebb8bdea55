//! The reply that the model is giving, as far as it was told: what a peer that comes in now has missed of it. It is kept from
//! the deltas themselves, so it is what was told, in the order in which it was, whatever still waits behind a commit.

use std::sync::Arc;

use vocab::{CallId, Delta, Event, Position, Sealed, TurnId};

use crate::session::turn::REPLY_BYTES_MAX;

#[derive(Default)]
pub(super) struct RunningReply {
    /// The turn that it is of; `None` while no reply runs, and nothing is kept then.
    turn: Option<TurnId>,
    /// Which of the turn it is.
    reply: u32,
    /// The last entry that was told before it began.
    since: u64,
    pieces: Vec<ReplyPiece>,
    /// Bytes kept. What a runaway model says beyond the bound is not kept here, as it is not kept in the log.
    bytes: usize,
}

/// Deltas of one kind behind each other, joined.
enum ReplyPiece {
    Text(String),
    Thinking(String),
    Sealed(Sealed),
    Call { index: u32, id: Option<CallId>, name: Option<Arc<str>>, input: String },
}

impl RunningReply {
    /// Follows what is told. `at`: where that brings the peers.
    pub(super) fn take(&mut self, event: &Event, at: Position) {
        match event {
            Event::Delta(Delta::ModelCalled { turn, reply }) => {
                *self = Self { turn: Some(turn.clone()), reply: *reply, since: at.seq, ..Self::default() };
            }
            Event::Delta(delta) if self.turn.is_some() => self.grow(delta),
            _ if at.offset == 0 && self.turn.is_some() => *self = Self::default(),
            _ => {}
        }
    }

    fn grow(&mut self, delta: &Delta) {
        let more = match delta {
            Delta::Text { delta, .. } | Delta::Thinking { delta, .. } | Delta::CallInput { delta, .. } => delta.len(),
            Delta::ModelCalled { .. } | Delta::Sealed { .. } | Delta::CallProgress { .. } | Delta::CallBegan { .. } => {
                0
            }
        };
        if self.bytes + more > REPLY_BYTES_MAX {
            return;
        }
        self.bytes += more;
        match (self.pieces.last_mut(), delta) {
            (Some(ReplyPiece::Text(text)), Delta::Text { delta, .. })
            | (Some(ReplyPiece::Thinking(text)), Delta::Thinking { delta, .. }) => text.push_str(delta),
            (
                Some(ReplyPiece::Call { index, input, .. }),
                Delta::CallInput { index: same, id: None, name: None, delta, .. },
            ) if index == same => input.push_str(delta),
            (_, Delta::Text { delta, .. }) => self.pieces.push(ReplyPiece::Text(delta.as_str().into())),
            (_, Delta::Thinking { delta, .. }) => self.pieces.push(ReplyPiece::Thinking(delta.as_str().into())),
            (_, Delta::Sealed { what, .. }) => self.pieces.push(ReplyPiece::Sealed(*what)),
            (_, Delta::CallInput { index, id, name, delta, .. }) => {
                let (index, id, name, input) = (*index, id.clone(), name.clone(), delta.as_str().to_owned());
                self.pieces.push(ReplyPiece::Call { index, id, name, input });
            }
            (_, Delta::ModelCalled { .. } | Delta::CallProgress { .. } | Delta::CallBegan { .. }) => {}
        }
    }

    /// How much of this reply a peer has that is at a position: a position before it has nothing of it.
    pub(super) fn known_at(&self, at: Position) -> u64 {
        if self.turn.is_some() && at.seq >= self.since { at.offset } else { 0 }
    }

    /// What was told beyond `known`, as few deltas as possible.
    pub(super) fn beyond(&self, known: u64) -> Vec<Delta> {
        let Some(turn) = &self.turn else { return Vec::new() };
        let mut deltas = Vec::new();
        let mut known = known;
        if skip(&mut known, 1) == 0 {
            deltas.push(Delta::ModelCalled { turn: turn.clone(), reply: self.reply });
        }
        for piece in &self.pieces {
            let turn = turn.clone();
            match piece {
                ReplyPiece::Text(text) => {
                    deltas.extend(rest(text, &mut known).map(|delta| Delta::Text { turn, delta: delta.into() }));
                }
                ReplyPiece::Thinking(text) => {
                    deltas.extend(rest(text, &mut known).map(|delta| Delta::Thinking { turn, delta: delta.into() }));
                }
                ReplyPiece::Sealed(what) => {
                    if skip(&mut known, 1) == 0 {
                        deltas.push(Delta::Sealed { turn, what: *what });
                    }
                }
                ReplyPiece::Call { index, id, name, input } => {
                    let begins = id.is_some() || name.is_some();
                    let is_known = begins && skip(&mut known, 1) == 1;
                    let (id, name) = if is_known { (None, None) } else { (id.clone(), name.clone()) };
                    let delta = rest(input, &mut known);
                    if delta.is_some() || (begins && !is_known) {
                        let delta = delta.unwrap_or_default();
                        deltas.push(Delta::CallInput { turn, index: *index, id, name, delta: delta.into() });
                    }
                }
            }
        }
        deltas
    }
}

/// How much of `steps` is known; the rest of what is known lies behind them.
fn skip(known: &mut u64, steps: u64) -> u64 {
    let skipped = steps.min(*known);
    *known -= skipped;
    skipped
}

/// What is not known of a text. A peer has whole deltas; one that says otherwise gets the broken character whole.
fn rest(text: &str, known: &mut u64) -> Option<String> {
    let skipped = skip(known, text.len() as u64) as usize;
    let rest = &text[text.floor_char_boundary(skipped)..];
    (!rest.is_empty()).then(|| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(index: u32, id: Option<&str>, delta: &str) -> Delta {
        let (id, delta) = (id.map(Into::into), delta.into());
        Delta::CallInput { turn: "t".into(), index, id, name: None, delta }
    }
    fn text(delta: &str) -> Delta {
        Delta::Text { turn: "t".into(), delta: delta.into() }
    }

    /// Two calls that are written at the same time, among everything else.
    fn deltas() -> Vec<Delta> {
        let turn = || TurnId::from("t");
        vec![
            Delta::ModelCalled { turn: turn(), reply: 0 },
            Delta::Thinking { turn: turn(), delta: "h".into() },
            Delta::Thinking { turn: turn(), delta: "mé".into() },
            Delta::Sealed { turn: turn(), what: Sealed::Thinking },
            Delta::Sealed { turn: turn(), what: Sealed::Alone },
            text("so"),
            text(" then"),
            call(0, Some("c1"), ""),
            call(0, None, "{\"a\""),
            call(1, Some("c2"), "{"),
            call(0, None, ":1}"),
            call(1, None, "}"),
            text("!"),
        ]
    }

    /// Neighbours joined, as `beyond` gives them.
    fn joined(deltas: &[Delta]) -> Vec<Delta> {
        let mut reply = RunningReply { turn: Some("t".into()), ..RunningReply::default() };
        deltas.iter().for_each(|delta| reply.grow(delta));
        let is_begun = matches!(deltas.first(), Some(Delta::ModelCalled { .. }));
        reply.beyond(u64::from(!is_begun))
    }

    #[test]
    fn what_is_known_and_what_lies_beyond_it_are_the_whole_at_every_position() {
        let (deltas, mut reply, mut at) = (deltas(), RunningReply::default(), Position::at(7));
        let mut positions = vec![at];
        for delta in &deltas {
            let event = Event::Delta(delta.clone());
            at.take(&event);
            reply.take(&event, at);
            positions.push(at);
        }
        assert!(positions.is_sorted_by(|one, other| one < other), "each has its own: {positions:?}");
        for (index, position) in positions.iter().enumerate() {
            assert_eq!(reply.beyond(reply.known_at(*position)), joined(&deltas[index..]), "at {position:?}");
        }
        assert_eq!(reply.beyond(reply.known_at(Position { seq: 6, offset: 9 })), joined(&deltas), "of another reply");
        reply.take(&Event::Settled, Position::at(8));
        assert!(reply.beyond(0).is_empty(), "it is over");
    }

    #[test]
    fn a_position_in_the_middle_of_a_character_gets_it_whole() {
        let mut reply = RunningReply { turn: Some("t".into()), ..RunningReply::default() };
        reply.grow(&text("é!"));
        assert_eq!(reply.beyond(2), [text("é!")]);
        assert!(reply.beyond(99).is_empty());
    }
}
