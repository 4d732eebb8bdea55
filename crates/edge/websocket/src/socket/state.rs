//! What both halves of a socket share.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};
use wire::{Close, CloseCode};

use super::batch::FrameBatch;
use super::{Binary, OnClose, SocketOptions};
use crate::close;
use crate::codec::{self, Codec, Incoming, Role};
use crate::handshake::random;
use crate::head::{self, FrameHead, Opcode};
use crate::pings::{PingTime, Unanswered};

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// Unwritten control frames at which a ping is not answered any more: its sender does not read.
const CONTROL_BYTES_MAX: usize = 4 * 1024;
/// How long is read on behind a write that failed: the other side is gone, and what it left is here already.
const LAST_READ: Duration = Duration::from_secs(1);

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

/// A message on its way out.
struct Writing {
    /// Of the message, to know it again.
    len: usize,
    /// Of the frame.
    written: usize,
}

pub(super) struct SocketState<S> {
    stream: S,
    codec: Codec,
    options: SocketOptions,
    /// Came behind the handshake.
    first: Vec<u8>,
    queue: VecDeque<Vec<u8>>,
    /// Control frames that are not written yet.
    control: Vec<u8>,
    control_sent: usize,
    writing: Option<Writing>,
    /// The frame on its way where it is masked.
    masked: Vec<u8>,
    unflushed: bool,
    /// No more messages will come.
    ended: bool,
    /// Our close frame is on its way or gone.
    closing: bool,
    /// The other side has nothing more to say.
    peer_done: bool,
    pub(super) closed_with: Option<Box<(u16, String)>>,
    shut: bool,
    violated: bool,
    /// It sends more than it may. What it has said is understood, and answered before it is told so.
    pub(super) flooded: Option<&'static str>,
    /// A write has failed.
    silent: bool,
    timer: Option<Pin<Box<Sleep>>>,
    unanswered: Unanswered,
    began: Instant,
    progress: Instant,
}

impl<S: AsyncRead + AsyncWrite + Unpin> SocketState<S> {
    pub(super) fn new(stream: S, first: &[u8], codec: Codec, options: SocketOptions) -> Self {
        let now = Instant::now();
        let timer = options.pings.every.map(|every| Box::pin(sleep_until(now + every)));
        Self {
            stream,
            codec,
            options,
            // A copy: even an empty piece holds the whole buffer that it was cut from.
            first: first.to_vec(),
            queue: VecDeque::new(),
            control: Vec::new(),
            control_sent: 0,
            writing: None,
            masked: Vec::new(),
            unflushed: false,
            ended: false,
            closing: false,
            peer_done: false,
            closed_with: None,
            shut: false,
            violated: false,
            flooded: None,
            silent: false,
            timer,
            unanswered: Unanswered::default(),
            began: now,
            progress: now,
        }
    }

    pub(super) fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        loop {
            if let Some(message) = self.queue.pop_front() {
                if self.queue.is_empty() {
                    self.queue = VecDeque::new();
                }
                return Poll::Ready(Some(message));
            }
            if self.ended {
                // The answer to a close goes out at once, whatever our side still does.
                let _ = self.poll_control(context);
                return Poll::Ready(None);
            }
            self.poll_time(context);
            // A pong that cannot be written now is written later; reading does not wait for it.
            if let Poll::Ready(Err(_)) = self.poll_control(context) {
                self.falls_silent();
                continue;
            }
            if self.ended {
                continue;
            }
            ready!(self.poll_more(context));
        }
    }

    pub(super) fn poll_send(&mut self, context: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>> {
        self.poll_time(context);
        if self.closing || self.shut {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if !self.is_inside_a_frame() {
            ready!(self.poll_control(context))?;
        }
        self.begin(message)?;
        let sent = ready!(self.poll_message(context, message));
        self.writing = None;
        self.masked = Vec::new();
        self.unflushed = true;
        if sent.is_ok() {
            // What does not go out now goes out when the stream is looked at next.
            let _ = self.poll_flushed(context);
        }
        Poll::Ready(sent)
    }

    /// As many messages as one write takes. What is masked, long or half written goes alone.
    pub(super) fn poll_send_some(
        &mut self,
        context: &mut Context<'_>,
        messages: &mut dyn Iterator<Item = &[u8]>,
    ) -> Poll<io::Result<usize>> {
        let Some(first) = messages.next() else { return Poll::Ready(Ok(0)) };
        if self.is_inside_a_frame() || self.codec.role() == Role::Client || !FrameBatch::fits(first) {
            return self.poll_send(context, first).map_ok(|()| 1);
        }
        self.poll_time(context);
        if self.closing || self.shut {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        ready!(self.poll_control(context))?;
        self.begin(first)?;
        let whole = FrameBatch::with(first, messages, |batch| {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, batch.bytes()))?;
            if written == 0 {
                return Poll::Ready(Err(io::Error::from(io::ErrorKind::WriteZero)));
            }
            let taken = batch.taken(written);
            self.writing = taken.begun.map(|(len, written)| Writing { len, written });
            Poll::Ready(Ok(taken.whole))
        });
        let whole = ready!(whole)?;
        self.progress = Instant::now();
        self.unflushed = true;
        if whole == 0 {
            return self.poll_send(context, first).map_ok(|()| 1);
        }
        // What does not go out now goes out when the stream is looked at next.
        let _ = self.poll_flushed(context);
        Poll::Ready(Ok(whole))
    }

    /// Says how it ended, waits for the other side to say so, too, and shuts the stream.
    pub(super) fn poll_close(&mut self, context: &mut Context<'_>, close: &Close) -> Poll<()> {
        if !self.is_inside_a_frame() {
            self.end_with(close.code.number(), &close.reason);
            let told = match ready!(self.poll_control(context)) {
                Ok(()) => ready!(self.poll_flushed(context)).is_ok(),
                Err(_) => false,
            };
            self.peer_done |= !told;
        } else {
            // Behind half a frame nothing can be said.
            self.peer_done = true;
        }
        self.peer_done |= self.silent;
        // Who broke the rules is not understood any more: that it has closed shows at the end of its stream alone.
        if self.violated {
            ready!(self.poll_shut(context));
        }
        // With unread bytes the system would throw away what the other side has not read of ours.
        while !self.peer_done {
            ready!(self.poll_more(context));
            self.queue.clear();
        }
        self.poll_shut(context)
    }

    pub(super) fn poll_last_word(&mut self, context: &mut Context<'_>, close: &Close) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.closing, true) {
            self.push_control(Opcode::Close, &close::payload(close.code.number(), &close.reason));
        }
        ready!(self.poll_control(context))?;
        self.poll_flushed(context)
    }

    fn poll_shut(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.shut {
            let _ = ready!(Pin::new(&mut self.stream).poll_shutdown(context));
            self.shut = true;
        }
        Poll::Ready(())
    }

    /// No more messages, and a close frame where none was sent.
    pub(super) fn end_with(&mut self, code: u16, reason: &str) {
        self.ended = true;
        // Whoever ends it: that is why it ends.
        let (code, reason) = self.flooded.map_or((code, reason), |why| (CloseCode::PolicyViolation.number(), why));
        if !std::mem::replace(&mut self.closing, true) {
            self.push_control(Opcode::Close, &close::payload(code, reason));
        }
    }

    /// Nobody takes what we write any more. What was said before that is still heard: how it ended may be in it.
    fn falls_silent(&mut self) {
        (self.control, self.control_sent, self.closing, self.silent) = (Vec::new(), 0, true, true);
        self.timer = Some(Box::pin(sleep_until(Instant::now() + LAST_READ)));
    }

    fn lost(&mut self) {
        (self.ended, self.peer_done, self.closing) = (true, true, true);
    }

    fn push_control(&mut self, opcode: Opcode, payload: &[u8]) {
        if self.control.is_empty() && self.writing.is_none() {
            self.progress = Instant::now();
        }
        let mask = self.mask();
        codec::frame(opcode, payload, mask, &mut self.control);
    }

    fn mask(&self) -> Option<[u8; 4]> {
        (self.codec.role() == Role::Client).then(random)
    }

    // ---- time ---------------------------------------------------------------------------------------------------

    fn poll_time(&mut self, context: &mut Context<'_>) {
        if self.silent {
            if self.timer.as_mut().is_none_or(|timer| timer.as_mut().poll(context).is_ready()) {
                self.lost();
            }
            return;
        }
        let (Some(timer), Some(every)) = (&mut self.timer, self.options.pings.every) else { return };
        let mut pinged = false;
        while timer.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            timer.as_mut().reset(now + every);
            let writes = self.writing.is_some() || self.control.len() > self.control_sent;
            if writes && now.duration_since(self.progress) > self.options.pings.no_progress {
                return self.lost();
            }
            if self.closing {
                return;
            }
            if self.unanswered.time(self.options.pings) == PingTime::GiveUp {
                self.end_with(1001, "no answer to pings");
                // Nobody is there to wait for.
                self.peer_done = true;
                return;
            }
            pinged = true;
        }
        if pinged && self.control.len() < CONTROL_BYTES_MAX {
            self.push_control(Opcode::Ping, b"");
        }
    }

    // ---- reading ------------------------------------------------------------------------------------------------

    /// Reads once.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.first.is_empty() {
            let mut first = std::mem::take(&mut self.first);
            self.came(&mut first);
            return Poll::Ready(());
        }
        BUFFER.with_borrow_mut(|buffer| {
            let mut into = ReadBuf::new(buffer);
            let count = match ready!(Pin::new(&mut self.stream).poll_read(context, &mut into)) {
                Ok(()) => into.filled().len(),
                Err(_) => 0,
            };
            if count == 0 {
                self.lost();
            } else {
                self.came(&mut buffer[..count]);
            }
            Poll::Ready(())
        })
    }

    fn came(&mut self, bytes: &mut [u8]) {
        if let Some((_, limits)) = self.options.once_known.take_if(|(cell, _)| cell.get().is_some()) {
            self.codec.set_limits(limits);
        }
        self.unanswered.heard();
        let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut pongs: Vec<Vec<u8>> = Vec::new();
        let mut closed: Option<Option<(u16, String)>> = None;
        let (queue, binary) = (&mut self.queue, self.options.binary);
        let fed = self.codec.feed(bytes, now_ms, &mut |incoming| match incoming {
            Incoming::Message { text: true, bytes } => queue.push_back(bytes.into_owned()),
            Incoming::Message { text: false, .. } if binary == Binary::Invalid => {
                queue.push_back(wire::NO_TEXT.to_vec())
            }
            Incoming::Message { .. } | Incoming::Pong(_) => {}
            Incoming::Ping(payload) => pongs.push(payload.to_vec()),
            Incoming::Close(close) => closed = Some(close.map(|(code, why)| (code, why.to_owned()))),
        });
        for payload in pongs {
            if !self.closing && self.control.len() < CONTROL_BYTES_MAX {
                self.push_control(Opcode::Pong, &payload);
            }
        }
        if let Err(violation) = fed {
            self.violated = true;
            if violation.code == CloseCode::PolicyViolation.number() && self.codec.role() == Role::Server {
                (self.ended, self.flooded) = (true, Some(violation.why));
            } else {
                self.end_with(violation.code, violation.why);
            }
        }
        if let Some(close) = closed {
            let code = close.as_ref().map(|(code, _)| *code);
            self.closed_with = close.map(Box::new);
            self.peer_done = true;
            // Its own code is the answer; one without a code gets an empty one.
            self.ended = true;
            if self.options.on_close == OnClose::AtOnce && !std::mem::replace(&mut self.closing, true) {
                let payload = code.map(|code| code.to_be_bytes().to_vec()).unwrap_or_default();
                self.push_control(Opcode::Close, &payload);
            }
        }
    }

    // ---- writing ------------------------------------------------------------------------------------------------

    /// Control frames go out between messages.
    fn poll_control(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_inside_a_frame() {
            return Poll::Pending;
        }
        while self.control_sent < self.control.len() {
            let unsent = &self.control[self.control_sent..];
            let count = ready!(Pin::new(&mut self.stream).poll_write(context, unsent))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.control_sent += count;
            self.progress = Instant::now();
            self.unflushed = true;
        }
        if self.control_sent > 0 {
            (self.control, self.control_sent) = (Vec::new(), 0);
        }
        if self.unflushed {
            let _ = self.poll_flushed(context);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_flushed(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.unflushed {
            ready!(Pin::new(&mut self.stream).poll_flush(context))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    fn is_inside_a_frame(&self) -> bool {
        self.writing.as_ref().is_some_and(|writing| writing.written > 0)
    }

    /// Gets a message ready that is not on its way yet.
    fn begin(&mut self, message: &[u8]) -> io::Result<()> {
        if let Some(writing) = &self.writing {
            if writing.len == message.len() {
                return Ok(());
            }
            if writing.written > 0 {
                return Err(io::Error::other("half of another message is written"));
            }
            self.masked.clear();
        }
        if let Some(mask) = self.mask() {
            codec::frame(Opcode::Text, message, Some(mask), &mut self.masked);
        }
        self.progress = Instant::now();
        self.writing = Some(Writing { len: message.len(), written: 0 });
        Ok(())
    }

    fn poll_message(&mut self, context: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>> {
        let Some(writing) = &mut self.writing else { return Poll::Ready(Ok(())) };
        let head = FrameHead { fin: true, opcode: Opcode::Text, len: message.len() as u64, mask: None };
        let (head, head_len) = head::write(head);
        let total = if self.masked.is_empty() { head_len + message.len() } else { self.masked.len() };
        while writing.written < total {
            let written = writing.written;
            let stream = Pin::new(&mut self.stream);
            let count = if !self.masked.is_empty() {
                ready!(stream.poll_write(context, &self.masked[written..]))?
            } else if written < head_len {
                let slices = [IoSlice::new(&head[written..head_len]), IoSlice::new(message)];
                ready!(stream.poll_write_vectored(context, &slices))?
            } else {
                ready!(stream.poll_write(context, &message[written - head_len..]))?
            };
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            writing.written += count;
            self.progress = Instant::now();
        }
        Poll::Ready(Ok(()))
    }
}
