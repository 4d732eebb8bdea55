//! The ends of a connection: the pipe that its dialect runs on, and the readers of its streams.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use host::{MessageSink, MessageStream};
use wire::{Close, FlowWord};

use crate::acp::connection::{AcpConnection, StreamName};
use crate::acp::message::Outgoing;

/// Bytes of events that are handed to a socket at once.
const PIECE_BYTES: usize = 64 * 1024;

/// Hears what the client posts.
pub(crate) struct AcpHears(Arc<AcpConnection>);

impl AcpHears {
    pub(super) fn new(connection: Arc<AcpConnection>) -> Self {
        Self(connection)
    }
}

impl MessageStream for AcpHears {
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let mut state = self.0.lock();
        if let Some(message) = state.heard.pop_front() {
            drop(state);
            self.0.news.notify_waiters();
            return Poll::Ready(Some(message));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.hearer = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Says what the dialect says. It never waits: the dialect says no more than there is room for.
pub(crate) struct AcpSays(Arc<AcpConnection>);

impl AcpSays {
    pub(super) fn new(connection: Arc<AcpConnection>) -> Self {
        Self(connection)
    }
}

impl MessageSink for AcpSays {
    fn poll_send(&mut self, _: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if let Some(word) = FlowWord::read(message) {
            state.flow(word);
        } else if self.0.is_socket {
            let of = match Outgoing::read(message) {
                Outgoing::Update { session, .. } => Some((session, message.len())),
                _ => None,
            };
            state.own.plain(of, message);
        } else {
            state.said(message);
            if state.initialized.is_some() {
                drop(state);
                self.0.news.notify_waiters();
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>, close: &Close) -> Poll<()> {
        self.0.lock().close = Some(close.clone());
        Poll::Ready(())
    }
}

impl Drop for AcpSays {
    fn drop(&mut self) {
        self.0.lock().close.get_or_insert_with(Close::normal);
        self.0.end();
    }
}

/// Reads one stream, as long as no other does.
pub(crate) struct AcpReader {
    connection: Arc<AcpConnection>,
    name: StreamName,
    number: u64,
}

/// What a stream has for its reader.
pub(crate) enum StreamPiece {
    Events(Bytes),
    Nothing,
    Over,
}

impl AcpReader {
    pub(super) fn new(connection: Arc<AcpConnection>, name: StreamName, number: u64) -> Self {
        Self { connection, name, number }
    }

    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> StreamPiece {
        let mut guard = self.connection.lock();
        let state = &mut *guard;
        let stream = match &self.name {
            StreamName::Connection => &mut state.own,
            StreamName::Session(session) => match state.sessions.get_mut(session) {
                Some(stream) => stream,
                None => return StreamPiece::Over,
            },
        };
        if state.ended || stream.reader != Some(self.number) {
            return StreamPiece::Over;
        }
        let (mut piece, mut written) = (BytesMut::new(), Vec::new());
        while piece.len() < PIECE_BYTES
            && let Some(waiting) = stream.pop()
        {
            piece.extend_from_slice(&waiting.bytes);
            written.push(waiting.of);
        }
        if piece.is_empty() {
            stream.waker = Some(context.waker().clone());
            return StreamPiece::Nothing;
        }
        written.into_iter().for_each(|of| state.wrote(of));
        StreamPiece::Events(piece.freeze())
    }

    /// What ends it from outside.
    pub(crate) fn end(&self) -> AcpReaderEnd {
        AcpReaderEnd { connection: self.connection.clone(), name: self.name.clone(), number: self.number }
    }
}

impl Drop for AcpReader {
    fn drop(&mut self) {
        self.end().end();
    }
}

/// Ends a reader of a stream.
#[derive(Clone)]
pub(crate) struct AcpReaderEnd {
    connection: Arc<AcpConnection>,
    name: StreamName,
    number: u64,
}

impl AcpReaderEnd {
    pub(crate) fn end(&self) {
        let mut state = self.connection.lock();
        let stream = match &self.name {
            StreamName::Connection => Some(&mut state.own),
            StreamName::Session(session) => state.sessions.get_mut(session),
        };
        let Some(stream) = stream.filter(|stream| stream.reader == Some(self.number)) else { return };
        stream.reader = None;
        stream.wake();
        state.used = Instant::now();
    }
}
