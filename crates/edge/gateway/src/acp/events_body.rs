//! A stream of events as the body of an answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use crate::acp::ends::{AcpReader, StreamPiece};
use crate::http::ConnectionFacts;
use crate::sockets::SocketEntry;

const STILL_HERE_LINE: &[u8] = b":\n\n";

pub struct AcpEvents {
    reader: AcpReader,
    every: Duration,
    still_here: Pin<Box<Sleep>>,
    /// It ends with what it rests on.
    _entry: SocketEntry,
    _connection: Arc<ConnectionFacts>,
}

impl AcpEvents {
    pub(crate) fn new(
        reader: AcpReader,
        every: Duration,
        entry: SocketEntry,
        connection: Arc<ConnectionFacts>,
    ) -> Self {
        let still_here = Box::pin(sleep(every));
        Self { reader, every, still_here, _entry: entry, _connection: connection }
    }

    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let piece = match self.reader.poll_piece(context) {
            StreamPiece::Over => return Poll::Ready(None),
            StreamPiece::Events(piece) => piece,
            StreamPiece::Nothing => {
                if self.still_here.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                Bytes::from_static(STILL_HERE_LINE)
            }
        };
        self.still_here.as_mut().reset(Instant::now() + self.every);
        Poll::Ready(Some(piece))
    }
}
