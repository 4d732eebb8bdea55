//! A dialect whose output is one text and not frames, on a pipe of messages: what is said goes out in pieces of any size, and
//! each message that comes in is a line.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use engine::Engine;
use host::{DaemonEnding, Ended, MessageSink, MessageStream, NoOwnCalls};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wire::{Dialect, NoOwn};

use crate::door::DoorEnd;
use crate::entrance::{Caller, MessagePipe};

/// Runs a dialect to its end.
pub async fn converse_text<D: Dialect<Own = NoOwn> + 'static>(
    dialect: D,
    engine: &Engine,
    caller: Caller,
    (stream, sink): MessagePipe,
    ending: DaemonEnding,
) -> Ended {
    let options = DoorEnd::JustGoes.pump_options(Box::new(NoOwnCalls), caller, ending);
    let mut pieces = TextPieces { sink, piece: Vec::new() };
    let lines = MessageLines { stream, line: Vec::new(), at: 0 };
    let ended = host::pump(dialect, engine, lines, &mut pieces, options).await;
    let closing = std::future::poll_fn(|context| pieces.sink.poll_close(context, &ended.close));
    // Who does not take the last word must not hold us.
    let _ = tokio::time::timeout(crate::limits::ENDING, closing).await;
    ended
}

struct MessageLines {
    stream: Box<dyn MessageStream>,
    line: Vec<u8>,
    at: usize,
}

impl AsyncRead for MessageLines {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let lines = self.get_mut();
        while lines.at == lines.line.len() {
            match ready!(lines.stream.poll_receive(context)) {
                None => return Poll::Ready(Ok(())),
                Some(mut message) => {
                    message.push(b'\n');
                    (lines.line, lines.at) = (message, 0);
                }
            }
        }
        let count = (lines.line.len() - lines.at).min(into.remaining());
        into.put_slice(&lines.line[lines.at..lines.at + count]);
        lines.at += count;
        Poll::Ready(Ok(()))
    }
}

struct TextPieces {
    sink: Box<dyn MessageSink>,
    /// On its way: whoever writes may have more by the time it is gone.
    piece: Vec<u8>,
}

impl AsyncWrite for TextPieces {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let pieces = self.get_mut();
        if pieces.piece.is_empty() {
            pieces.piece.extend_from_slice(bytes);
        }
        ready!(pieces.sink.poll_send(context, &pieces.piece))?;
        Poll::Ready(Ok(std::mem::take(&mut pieces.piece).len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
