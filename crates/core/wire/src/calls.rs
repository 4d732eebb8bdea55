//! The calls that a peer was told of. Each has one result on every wire, also where the log has none: when what came of it
//! could not be written, or the session is gone.

use std::sync::Arc;

use vocab::{Body, CallEnd, CallEntry, CallId, CallResult, Entry, Event, Part, Present, TurnEntry, TurnId};

/// What a call gets whose result is nowhere. It may have done all of its work.
pub const UNTOLD: &str =
    "no result: what came of this call could not be written; it may have run: check what it did before trying again";

/// Calls of one session whose start was told and whose result was not.
#[derive(Default)]
pub struct OpenCalls {
    open: Vec<OpenCall>,
}

struct OpenCall {
    turn: TurnId,
    call: CallId,
    tool: Arc<str>,
    started_ms: i64,
}

impl OpenCalls {
    pub fn is_open(&self, turn: &TurnId, call: &CallId) -> bool {
        self.open.iter().any(|open| open.turn == *turn && open.call == *call)
    }

    /// A call that is told, with its start or before.
    pub fn told(&mut self, turn: &TurnId, call: &CallId, tool: &Arc<str>, started_ms: i64) {
        if !self.is_open(turn, call) {
            let (turn, call, tool) = (turn.clone(), call.clone(), tool.clone());
            self.open.push(OpenCall { turn, call, tool, started_ms });
        }
    }

    /// Takes note of what is told.
    pub fn logged(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Call(CallEntry::Started { turn, call, tool }) => self.told(turn, &call.id, tool, entry.at_ms),
            Body::Call(CallEntry::Ended { turn, result }) => {
                self.open.retain(|open| open.turn != *turn || open.call != result.call);
            }
            // A session has one turn at a time.
            Body::Turn(TurnEntry::Started { .. }) => self.open.clear(),
            _ => {}
        }
    }

    /// The starts of calls that run while a peer comes in: to be told as if they came now, so that each result that follows
    /// has its start.
    pub fn running(present: &Present) -> impl Iterator<Item = &Arc<Entry>> {
        let has_ended = |id: &CallId| {
            let is_end = |entry: &Arc<Entry>| matches!(&entry.body, Body::Call(CallEntry::Ended { result, .. }) if result.call == *id);
            present.round.iter().any(is_end)
        };
        present.round.iter().filter(
            move |entry| matches!(&entry.body, Body::Call(CallEntry::Started { call, .. }) if !has_ended(&call.id)),
        )
    }

    /// What is to be told before this event: when no log will have them any more, the results of all open calls, as entries
    /// without a place in the log (`seq` 0).
    pub fn lost_by(&self, event: &Event) -> Vec<Event> {
        match event {
            Event::TurnLost(_) | Event::Gone { .. } => self.open.iter().map(OpenCall::untold).collect(),
            _ => Vec::new(),
        }
    }
}

impl OpenCall {
    fn untold(&self) -> Event {
        let result = CallResult {
            call: self.call.clone(),
            tool: self.tool.clone(),
            end: CallEnd::Lost,
            parts: vec![Part::text(UNTOLD)],
            is_error: true,
            duration_ms: 0,
            mutation: None,
            edits: Vec::new(),
            details: None,
        };
        let body = Body::Call(CallEntry::Ended { turn: self.turn.clone(), result });
        Event::Logged(Arc::new(Entry { seq: 0, parent: 0, at_ms: self.started_ms, body, by: None }))
    }
}
