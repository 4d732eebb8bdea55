//! A host that comes in while a turn runs: its reply was told to somebody else, and its calls go on here.

use vocab::{Body, CallEntry, Present, TurnId};
use wire::{FrameBuf, OpenCalls};

use super::{RoundCall, Run};
use crate::models::KnownModels;
use pi_format::transcript::TranscriptLine;

impl Run {
    /// The run begins here, and so do its calls that run: each gets its end and its result, and `turn_end` has the message
    /// that they are of, as everywhere.
    pub(crate) fn join(&mut self, turn: &TurnId, present: &Present, known: &KnownModels, frames: &mut FrameBuf) {
        self.turn = Some(turn.clone());
        self.start_run(frames);
        for entry in &present.round {
            match &entry.body {
                Body::Assistant { message, .. } => {
                    self.start_turn(frames);
                    self.calls = message.calls().map(RoundCall::new).collect();
                }
                Body::Call(CallEntry::Ended { result, .. }) => {
                    let call = self.calls.iter_mut().find(|call| call.id == result.call);
                    call.into_iter().for_each(|call| (call.started, call.ended) = (true, true));
                }
                _ => continue,
            }
            let said = self.projector.take(entry, known).into_iter().find_map(TranscriptLine::into_message);
            match (said.map(|said| said.json), &self.message) {
                (Some(json), None) => self.message = Some(json),
                (Some(json), Some(_)) => self.results.push(json),
                (None, _) => {}
            }
        }
        for started in OpenCalls::running(present) {
            self.logged(started, known, frames);
        }
    }
}
