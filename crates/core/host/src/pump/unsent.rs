//! Bytes that were said and are not written yet. One buffer; where messages are sent, it knows where each frame ends.

use std::collections::VecDeque;

use wire::FrameBuf;

/// Capacity kept when everything is written. A process has one stream.
const KEEP_BYTES: usize = 128 * 1024;
/// The same where messages are sent: there may be thousands of such pipes, most of which wait.
const KEEP_BYTES_OF_MESSAGES: usize = 4 * 1024;

/// How the transport wants frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    /// As one stream; the LF of each frame is its end.
    Stream,
    /// One by one.
    Messages,
}

pub(crate) struct Unsent {
    framing: Framing,
    bytes: Vec<u8>,
    sent: usize,
    /// Where frames end, counted from the start of `bytes`; kept for messages alone.
    ends: VecDeque<usize>,
}

impl Unsent {
    pub(crate) fn new(framing: Framing) -> Self {
        Self { framing, bytes: Vec::new(), sent: 0, ends: VecDeque::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// The frames in their order, each with its LF.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.iter().scan(self.sent, |start, end| {
            let frame = &self.bytes[*start..*end];
            *start = *end;
            Some(frame)
        })
    }

    pub(crate) fn take(&mut self, frames: &mut FrameBuf) {
        // What was sent goes before more is added, or the buffer would grow as long as a flow never pauses. At most as
        // much is moved as was sent.
        if self.sent >= self.len() && !frames.is_empty() {
            self.bytes.drain(..self.sent);
            self.ends.iter_mut().for_each(|end| *end -= self.sent);
            self.sent = 0;
        }
        if self.framing == Framing::Messages {
            let start = self.bytes.len();
            self.ends.extend(frames.ends().iter().map(|end| start + end));
        }
        frames.drain_into(&mut self.bytes);
    }

    /// So many bytes are written. Says whether that was all.
    pub(crate) fn wrote(&mut self, count: usize) -> bool {
        self.sent += count;
        while self.ends.front().is_some_and(|end| *end <= self.sent) {
            self.ends.pop_front();
        }
        let all = self.sent == self.bytes.len();
        if all {
            self.bytes.clear();
            match self.framing {
                Framing::Stream => self.bytes.shrink_to(KEEP_BYTES),
                Framing::Messages => {
                    self.bytes.shrink_to(KEEP_BYTES_OF_MESSAGES);
                    self.ends = VecDeque::new();
                }
            }
            self.sent = 0;
        }
        all
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::new(self.framing);
    }
}
