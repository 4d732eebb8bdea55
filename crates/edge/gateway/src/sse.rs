//! Server-sent events as a pipe of messages: what a dialect says becomes events of one answer, and it hears one request.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use host::{MessageSink, MessageStream};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, Sleep, sleep};
use wire::Close;

/// Unread bytes at which whoever speaks has to wait.
const UNREAD_BYTES_MAX: usize = 64 * 1024;
/// A proxy takes an answer for dead that says nothing for long.
const STILL_HERE: Duration = Duration::from_secs(25);
const STILL_HERE_LINE: &[u8] = b":\n\n";

#[derive(Default)]
struct SseQueue {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    /// Nothing more will be said.
    ended: bool,
    /// Nobody reads any more, or nobody may.
    gone: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
    hearer: Option<Waker>,
}

#[derive(Clone, Default)]
struct SseShared(Arc<Mutex<SseQueue>>);

impl SseShared {
    fn lock(&self) -> MutexGuard<'_, SseQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, change: impl FnOnce(&mut SseQueue)) {
        let wakers = {
            let mut queue = self.lock();
            change(&mut queue);
            [queue.reader.take(), queue.writer.take(), queue.hearer.take()]
        };
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

/// Ends the events from outside.
#[derive(Clone)]
pub(crate) struct SseEnd(SseShared);

impl SseEnd {
    pub(crate) fn end(&self) {
        self.0.end(|queue| (queue.gone, queue.ended) = (true, true));
    }
}

/// What is heard: one request, then nothing until the reader is gone.
pub(crate) struct SseStream {
    request: Option<Vec<u8>>,
    shared: SseShared,
}

pub(crate) struct SseSink(SseShared);

/// The answer's body.
pub struct SseBody {
    shared: SseShared,
    still_here: Pin<Box<Sleep>>,
}

/// A pipe on which `request` is asked once.
pub(crate) fn pipe(request: Vec<u8>) -> (SseStream, SseSink, SseBody, SseEnd) {
    let shared = SseShared::default();
    let stream = SseStream { request: Some(request), shared: shared.clone() };
    let body = SseBody { shared: shared.clone(), still_here: Box::pin(sleep(STILL_HERE)) };
    (stream, SseSink(shared.clone()), body, SseEnd(shared))
}

impl MessageStream for SseStream {
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        if let Some(request) = self.request.take() {
            return Poll::Ready(Some(request));
        }
        let mut queue = self.shared.lock();
        if queue.gone {
            return Poll::Ready(None);
        }
        queue.hearer = Some(context.waker().clone());
        Poll::Pending
    }
}

impl MessageSink for SseSink {
    fn poll_send(&mut self, context: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>> {
        let mut queue = self.0.lock();
        if queue.gone {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if queue.bytes >= UNREAD_BYTES_MAX {
            queue.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let piece = Bytes::from(event(message));
        queue.bytes += piece.len();
        queue.pieces.push_back(piece);
        if let Some(reader) = queue.reader.take() {
            drop(queue);
            reader.wake();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>, _: &Close) -> Poll<()> {
        self.0.end(|queue| queue.ended = true);
        Poll::Ready(())
    }
}

impl Drop for SseSink {
    fn drop(&mut self) {
        self.0.end(|queue| queue.ended = true);
    }
}

impl Drop for SseBody {
    fn drop(&mut self) {
        self.shared.end(|queue| queue.gone = true);
    }
}

impl SseBody {
    /// The next piece; `None`: it is over.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut queue = self.shared.lock();
        if let Some(piece) = queue.pieces.pop_front() {
            queue.bytes -= piece.len();
            let writer = queue.writer.take();
            drop(queue);
            writer.into_iter().for_each(Waker::wake);
            self.still_here.as_mut().reset(Instant::now() + STILL_HERE);
            return Poll::Ready(Some(piece));
        }
        if queue.ended {
            return Poll::Ready(None);
        }
        queue.reader = Some(context.waker().clone());
        drop(queue);
        if self.still_here.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.still_here.as_mut().reset(Instant::now() + STILL_HERE);
        Poll::Ready(Some(Bytes::from_static(STILL_HERE_LINE)))
    }

    /// The first thing that is said, left where it is; `None`: it ended without a word.
    pub(crate) async fn first(&mut self) -> Option<Bytes> {
        std::future::poll_fn(|context| {
            let mut queue = self.shared.lock();
            match queue.pieces.front() {
                Some(piece) => Poll::Ready(Some(piece.clone())),
                None if queue.ended => Poll::Ready(None),
                None => {
                    queue.reader = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

/// The members of a frame that an event is made from.
#[derive(Deserialize)]
struct FrameParts<'a> {
    #[serde(borrow)]
    event: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    cursor: Option<&'a RawValue>,
    #[serde(borrow)]
    seq: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// One frame as one event: its place as the id, its name, and the frame itself.
fn event(frame: &[u8]) -> Vec<u8> {
    let parts: Option<FrameParts<'_>> = serde_json::from_slice(frame).ok();
    let mut out = Vec::with_capacity(frame.len() + 64);
    if let Some(parts) = parts {
        let id = parts.cursor.or(parts.seq).map(|id| id.get().trim_matches('"'));
        if let Some(id) = id.filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic())) {
            out.extend_from_slice(format!("id: {id}\n").as_bytes());
        }
        let name = match (&parts.event, parts.error) {
            (Some(name), _) => name.as_ref(),
            (None, Some(_)) => "error",
            (None, None) => "result",
        };
        let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
        if is_word {
            out.extend_from_slice(format!("event: {name}\n").as_bytes());
        }
    }
    // A frame is JSON on one line; should one not be, no line of it can be taken for a field.
    for line in frame.split(|byte| matches!(byte, b'\n' | b'\r')) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn shown(frame: &str) -> String {
        String::from_utf8(event(frame.as_bytes())).unwrap()
    }

    #[test]
    fn a_frame_is_an_event_with_its_place() {
        let content = r#"{"id":0,"event":"content","data":{"text":"a"},"seq":7,"cursor":"7+3"}"#;
        assert_eq!(shown(content), format!("id: 7+3\nevent: content\ndata: {content}\n\n"));
        let plain = r#"{"id":0,"event":"done","data":{},"seq":8}"#;
        assert_eq!(shown(plain), format!("id: 8\nevent: done\ndata: {plain}\n\n"));
        assert_eq!(shown(r#"{"id":0,"result":{}}"#), "event: result\ndata: {\"id\":0,\"result\":{}}\n\n");
        let sly = r#"{"id":0,"event":"a\nid: 9","data":{},"cursor":"1\n2"}"#;
        assert!(shown(sly).starts_with("id: 1\\n2\ndata: ") && !shown(sly).contains("\nid: 9"), "{}", shown(sly));
        assert_eq!(shown("a\nevent: b"), "data: a\ndata: event: b\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_lags_is_waited_for_and_one_that_leaves_ends_it() {
        let (mut stream, mut sink, mut body, _) = pipe(b"ask".to_vec());
        assert_eq!(poll_fn(|context| stream.poll_receive(context)).await.as_deref(), Some(&b"ask"[..]));
        let large = vec![b'x'; UNREAD_BYTES_MAX];
        poll_fn(|context| sink.poll_send(context, &large)).await.unwrap();
        let second = tokio::time::timeout(Duration::from_secs(5), poll_fn(|context| sink.poll_send(context, b"{}")));
        assert!(second.await.is_err(), "it waits");
        assert!(poll_fn(|context| body.poll_piece(context)).await.is_some());
        poll_fn(|context| sink.poll_send(context, b"{}")).await.unwrap();
        assert!(poll_fn(|context| body.poll_piece(context)).await.is_some());
        let began = Instant::now();
        assert_eq!(poll_fn(|context| body.poll_piece(context)).await.as_deref(), Some(STILL_HERE_LINE));
        assert_eq!(began.elapsed(), STILL_HERE);
        drop(body);
        assert_eq!(poll_fn(|context| stream.poll_receive(context)).await, None);
        assert!(poll_fn(|context| sink.poll_send(context, b"{}")).await.is_err());
    }

    #[tokio::test]
    async fn the_end_of_what_is_said_is_the_end_of_the_body() {
        let (_stream, mut sink, mut body, _) = pipe(Vec::new());
        poll_fn(|context| sink.poll_send(context, b"{}")).await.unwrap();
        poll_fn(|context| sink.poll_close(context, &Close::normal())).await;
        assert!(body.first().await.is_some());
        assert!(poll_fn(|context| body.poll_piece(context)).await.is_some());
        assert!(poll_fn(|context| body.poll_piece(context)).await.is_none());
    }
}
