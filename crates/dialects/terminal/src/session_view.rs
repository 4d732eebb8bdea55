//! What the dialect keeps of the session it is in: which one, its mode, and how far its turns are.

use vocab::{AssistantMessage, Block, Mode, SessionId, TurnEnd, TurnId};
use wire::OpenCalls;

#[derive(Default)]
pub(crate) struct SessionView {
    pub(crate) session: Option<SessionId>,
    /// The mode the person is working in, which goes with them into another session.
    pub(crate) mode: Option<Mode>,
    /// The turn that the last prompt became: its end ends the wait, no other's does.
    pub(crate) turn: Option<TurnId>,
    /// The turn whose start was seen here. The end of any other was left over by a process that died.
    pub(crate) running: Option<TurnId>,
    pub(crate) calls: OpenCalls,
    /// The last turn that could not be written. What the log says later about its calls was said here.
    pub(crate) lost: Option<TurnId>,
    /// The model has answered in this turn, with no word and no call so far.
    silent: Option<bool>,
    /// Something was said in this session.
    pub(crate) spoken: bool,
}

impl SessionView {
    pub(crate) fn turn_started(&mut self, turn: &TurnId) {
        self.running = Some(turn.clone());
        self.silent = None;
    }

    /// False: the turn was not seen to begin here.
    pub(crate) fn turn_ended(&mut self, end: &TurnEnd) -> bool {
        self.running.take_if(|running| *running == end.turn).is_some()
    }

    pub(crate) fn answered(&mut self, message: &AssistantMessage) {
        self.silent = Some(self.silent.unwrap_or(true) && !says_something(message));
    }

    pub(crate) fn called(&mut self) {
        self.silent = Some(false);
    }

    /// The turn ends with an answer that says nothing.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent == Some(true)
    }
}

fn says_something(message: &AssistantMessage) -> bool {
    message.blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty()))
}
