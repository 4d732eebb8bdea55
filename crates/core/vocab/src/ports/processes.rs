//! Processes that tool calls start, for whoever looks on.

use std::sync::Arc;

/// Looks at the processes of one call.
pub trait ProcessWatch: Send + Sync {
    /// A program is about to be started. `command`: all that it is to do, as the call says it.
    fn starts(&self, program: &str, command: &str) -> Box<dyn WatchedProcess>;
    /// The call's own place in a trace, for who works on it elsewhere: the W3C's `traceparent`, and its `tracestate` behind a
    /// blank ([`crate::TracePlace`]).
    fn trace(&self) -> Option<Arc<str>> {
        None
    }
}

/// One process that is looked at. Dropped before its end: the call was given up.
pub trait WatchedProcess: Send {
    /// Variables that it finds in its environment beside ours, or instead.
    fn variables(&self) -> Vec<(Arc<str>, Arc<str>)>;
    fn ended(self: Box<Self>, end: ProcessEnd);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessEnd {
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// Its time was over, or its supervisor gone.
    GivenUp,
    NotStarted,
    /// It goes on beside the conversation.
    LeftRunning,
}
