//! A message pipe in memory: what a WebSocket is to a test.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use wire::Close;

use super::{MessageSink, MessageStream};

/// One end of the pipe: what it hears and what it says.
pub struct MemoryEnd {
    pub stream: MemoryStream,
    pub sink: MemorySink,
}

pub struct MemoryStream(Arc<Direction>);
pub struct MemorySink(Arc<Direction>);

/// One direction.
struct Direction {
    messages_max: usize,
    state: Mutex<DirectionState>,
}

#[derive(Default)]
struct DirectionState {
    queue: VecDeque<Vec<u8>>,
    close: Option<Close>,
    sink_gone: bool,
    stream_gone: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Two ends of one pipe; each direction holds `messages_max` messages before its writer waits.
pub fn message_pair(messages_max: usize) -> (MemoryEnd, MemoryEnd) {
    let way = || Arc::new(Direction { messages_max, state: Mutex::default() });
    let (there, back) = (way(), way());
    let end = |from: &Arc<Direction>, into: &Arc<Direction>| MemoryEnd {
        stream: MemoryStream(from.clone()),
        sink: MemorySink(into.clone()),
    };
    (end(&back, &there), end(&there, &back))
}

impl Direction {
    fn lock(&self) -> MutexGuard<'_, DirectionState> {
        // A panic while holding this lock cannot leave the queue half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DirectionState {
    fn wake(&mut self) {
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }
}

impl MemoryStream {
    /// How the other side said that it ended, if it did.
    pub fn close(&self) -> Option<Close> {
        self.0.lock().close.clone()
    }
}

impl MessageStream for MemoryStream {
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let mut state = self.0.lock();
        if let Some(message) = state.queue.pop_front() {
            state.wake();
            return Poll::Ready(Some(message));
        }
        if state.sink_gone || state.close.is_some() {
            return Poll::Ready(None);
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl MessageSink for MemorySink {
    fn poll_send(&mut self, context: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if state.stream_gone {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if state.queue.len() >= self.0.messages_max {
            state.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        state.queue.push_back(message.to_vec());
        state.wake();
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>, close: &Close) -> Poll<()> {
        let mut state = self.0.lock();
        state.close = Some(close.clone());
        state.wake();
        Poll::Ready(())
    }
}

impl Drop for MemoryStream {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.stream_gone = true;
        state.wake();
    }
}

impl Drop for MemorySink {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.sink_gone = true;
        state.wake();
    }
}
