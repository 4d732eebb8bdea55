//! What a connection tells, in the order it came over the wire, and the bounded queue it waits in.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_types::{PermissionOption, PromptResponse, SessionUpdate, ToolCall};
use serde_json::Value;
use tokio::sync::Notify;

use crate::error::{ClientError, Terminated};

/// Events that wait for their reader; at this many the agent's output is read no further until some are taken.
pub const EVENTS_MAX: usize = 4096;
/// Bytes of lines that wait as events, with the same consequence.
pub const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Our name for a question of the agent's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AskId(pub(crate) u64);

#[derive(Clone, PartialEq, Debug)]
pub enum ClientEvent {
    Update {
        session: String,
        update: SessionUpdate,
    },
    /// Wants [`crate::AcpClient::choose`]. The call may be one that was never announced.
    Permission(PermissionAsk),
    /// Wants [`crate::AcpClient::elicited`].
    Elicitation(Elicitation),
    /// The question is over: cancelled with its turn, or by the agent.
    AskClosed {
        ask: AskId,
    },
    /// The turn is over and the agent did not say how this call ended.
    CallLeftOpen {
        session: String,
        call: String,
    },
    TurnEnded {
        session: String,
        turn: Result<PromptResponse, ClientError>,
    },
    /// A notification that is not `session/update`.
    Notification {
        method: String,
        params: Value,
    },
    /// For people: a line that was no message, an answer that no request waits for.
    Note(String),
    /// The last event.
    ConnectionLost(Terminated),
}

#[derive(Clone, PartialEq, Debug)]
pub struct PermissionAsk {
    pub ask: AskId,
    pub session: String,
    pub call: ToolCall,
    pub options: Vec<PermissionOption>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Elicitation {
    pub ask: AskId,
    pub session: Option<String>,
    pub message: String,
    /// The whole question: `mode`, `requestedSchema` or `url`.
    pub params: Value,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<(ClientEvent, usize)>,
    bytes: usize,
    closed: bool,
    /// The reader is gone; what comes is dropped.
    deaf: bool,
}

/// Between the reading task and the reader of [`Events`].
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    filled: Notify,
    emptied: Notify,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Always takes it; the caller reads no more of the wire while there is no room.
    pub(crate) fn push(&self, event: ClientEvent, bytes: usize) {
        let mut state = self.state();
        if !state.closed && !state.deaf {
            state.bytes += bytes;
            state.waiting.push_back((event, bytes));
            self.filled.notify_one();
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        let state = self.state();
        state.waiting.len() < EVENTS_MAX && state.bytes < EVENT_BYTES_MAX
    }

    /// Resolves when something was taken. Safe to cancel.
    pub(crate) async fn emptied(&self) {
        self.emptied.notified().await;
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.filled.notify_one();
    }
}

/// The stream of events. Read it while requests wait: a queue that is full holds back their answers, too.
pub struct Events(pub(crate) Arc<Queue>);

impl Events {
    /// `None` after the last one. Safe to cancel.
    pub async fn next(&mut self) -> Option<ClientEvent> {
        loop {
            {
                let mut state = self.0.state();
                if let Some((event, bytes)) = state.waiting.pop_front() {
                    state.bytes -= bytes;
                    self.0.emptied.notify_one();
                    return Some(event);
                }
                if state.closed {
                    return None;
                }
            }
            self.0.filled.notified().await;
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.deaf = true;
        state.waiting.clear();
        state.bytes = 0;
        self.0.emptied.notify_one();
    }
}
