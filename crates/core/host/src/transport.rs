//! What carries frames: a pipe of bytes, which is cut into lines, or a pipe of messages, each of which is a frame.

mod memory;

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use wire::Close;

use crate::pump::Unsent;

pub use memory::{MemoryEnd, MemorySink, MemoryStream, message_pair};

/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;

/// The receiving half of a message pipe (a WebSocket).
pub trait MessageStream: Send {
    /// The next message; `None` when no more will come, however the pipe ended.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>>;

    /// Behind the last message: the pipe itself takes no more of them, and this is what the other side is to hear when it has
    /// its answers. `None`: it has ended by itself.
    fn refuses_more(&self) -> Option<Close> {
        None
    }
}

/// The sending half of a message pipe.
pub trait MessageSink: Send {
    /// Takes the message whole. While it is pending the same message is handed over again, or the pipe is closed.
    fn poll_send(&mut self, context: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>>;
    /// Takes messages from the front, as many as go out together, and says how many: whoever has many to send pays for one
    /// write. While it is pending, and where it took only some, it is handed the first that is left again.
    fn poll_send_some(
        &mut self,
        context: &mut Context<'_>,
        messages: &mut dyn Iterator<Item = &[u8]>,
    ) -> Poll<io::Result<usize>> {
        match messages.next() {
            Some(message) => self.poll_send(context, message).map_ok(|()| 1),
            None => Poll::Ready(Ok(0)),
        }
    }
    /// Says how the conversation ended; nothing is sent behind it.
    fn poll_close(&mut self, context: &mut Context<'_>, close: &Close) -> Poll<()>;
}

impl<T: MessageStream + ?Sized> MessageStream for Box<T> {
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        (**self).poll_receive(context)
    }
    fn refuses_more(&self) -> Option<Close> {
        (**self).refuses_more()
    }
}

impl<T: MessageSink + ?Sized> MessageSink for Box<T> {
    fn poll_send(&mut self, context: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>> {
        (**self).poll_send(context, message)
    }
    fn poll_send_some(
        &mut self,
        context: &mut Context<'_>,
        messages: &mut dyn Iterator<Item = &[u8]>,
    ) -> Poll<io::Result<usize>> {
        (**self).poll_send_some(context, messages)
    }
    fn poll_close(&mut self, context: &mut Context<'_>, close: &Close) -> Poll<()> {
        (**self).poll_close(context, close)
    }
}

/// What the other side sent.
#[derive(Clone, Debug)]
pub(crate) enum Arrived<'a> {
    /// Any piece of a stream.
    Bytes(&'a [u8]),
    Message(&'a [u8]),
    End,
    /// Too much: nothing more is taken, though more may come.
    TooMuch(Close),
}

/// Where frames come from. Dropping `next` before it is done loses nothing.
pub(crate) trait FrameSource {
    async fn next(&mut self) -> Arrived<'_>;
}

/// Where frames go. Dropping `write` before it is done writes nothing.
pub(crate) trait Sink {
    /// How many of the unsent bytes are written.
    async fn write(&mut self, unsent: &Unsent) -> io::Result<usize>;
    async fn close(&mut self, close: &Close);
}

pub(crate) struct ByteSource<R> {
    reader: R,
    buffer: Vec<u8>,
}

impl<R> ByteSource<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; READ_BYTES] }
    }
}

impl<R: AsyncRead + Unpin> FrameSource for ByteSource<R> {
    async fn next(&mut self) -> Arrived<'_> {
        match self.reader.read(&mut self.buffer).await {
            Ok(count) if count > 0 => Arrived::Bytes(&self.buffer[..count]),
            Ok(_) | Err(_) => Arrived::End,
        }
    }
}

pub(crate) struct ByteSink<W>(pub(crate) W);

impl<W: AsyncWrite + Unpin> Sink for ByteSink<W> {
    async fn write(&mut self, unsent: &Unsent) -> io::Result<usize> {
        match self.0.write(unsent.bytes()).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            count => Ok(count),
        }
    }

    async fn close(&mut self, _: &Close) {
        // The peer may be gone; there is nothing left to save.
        let _ = self.0.flush().await;
    }
}

pub(crate) struct MessageSource<S> {
    stream: S,
    /// The last one, until the next is asked for.
    last: Vec<u8>,
}

impl<S> MessageSource<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, last: Vec::new() }
    }
}

impl<S: MessageStream> FrameSource for MessageSource<S> {
    async fn next(&mut self) -> Arrived<'_> {
        self.last = Vec::new();
        match poll_fn(|context| self.stream.poll_receive(context)).await {
            Some(message) => {
                self.last = message;
                Arrived::Message(&self.last)
            }
            None => self.stream.refuses_more().map_or(Arrived::End, Arrived::TooMuch),
        }
    }
}

pub(crate) struct FrameSink<S>(pub(crate) S);

impl<S: MessageSink> Sink for FrameSink<S> {
    async fn write(&mut self, unsent: &Unsent) -> io::Result<usize> {
        let send =
            |context: &mut Context<'_>| self.0.poll_send_some(context, &mut unsent.frames().map(wire::without_lf));
        let count = poll_fn(send).await?;
        Ok(unsent.frames().take(count).map(<[u8]>::len).sum())
    }

    async fn close(&mut self, close: &Close) {
        poll_fn(|context| self.0.poll_close(context, close)).await;
    }
}
