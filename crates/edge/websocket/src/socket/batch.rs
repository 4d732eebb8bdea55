//! Messages that go out in one write. The thread has the room for it, a socket none.

use std::cell::RefCell;

use crate::head::{self, FrameHead, Opcode};

/// Bytes that are put together; a message that is longer goes alone, from where it lies.
const BATCH_BYTES: usize = 32 * 1024;

thread_local! {
    static BATCH: RefCell<FrameBatch> = const { RefCell::new(FrameBatch { bytes: Vec::new(), ends: Vec::new() }) };
}

/// Frames of a server, one behind the other.
pub(super) struct FrameBatch {
    bytes: Vec<u8>,
    /// Where each ends, and how long its message is.
    ends: Vec<(usize, usize)>,
}

/// What a write has made of a batch.
pub(super) struct TakenFrames {
    pub(super) whole: usize,
    /// Of the one behind them: the length of its message, and how much of its frame is written.
    pub(super) begun: Option<(usize, usize)>,
}

impl FrameBatch {
    /// `first`, and those behind it that fit.
    pub(super) fn with<R>(
        first: &[u8],
        more: &mut dyn Iterator<Item = &[u8]>,
        write: impl FnOnce(&FrameBatch) -> R,
    ) -> R {
        BATCH.with_borrow_mut(|batch| {
            batch.bytes.clear();
            batch.ends.clear();
            batch.push(first);
            while batch.bytes.len() < BATCH_BYTES
                && let Some(message) = more.next()
            {
                // What does not fit is asked for again.
                if batch.bytes.len() + message.len() > BATCH_BYTES {
                    break;
                }
                batch.push(message);
            }
            write(batch)
        })
    }

    pub(super) fn fits(message: &[u8]) -> bool {
        message.len() < BATCH_BYTES
    }

    fn push(&mut self, message: &[u8]) {
        let head = FrameHead { fin: true, opcode: Opcode::Text, len: message.len() as u64, mask: None };
        let (head, head_len) = head::write(head);
        self.bytes.extend_from_slice(&head[..head_len]);
        self.bytes.extend_from_slice(message);
        self.ends.push((self.bytes.len(), message.len()));
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// So many bytes are written.
    pub(super) fn taken(&self, written: usize) -> TakenFrames {
        let whole = self.ends.partition_point(|(end, _)| *end <= written);
        let start = whole.checked_sub(1).map_or(0, |last| self.ends[last].0);
        let begun = self.ends.get(whole).filter(|_| written > start).map(|(_, len)| (*len, written - start));
        TakenFrames { whole, begun }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_takes_whole_frames_and_remembers_the_half_one() {
        let messages: [&[u8]; 3] = [b"abc", b"", &[b'x'; 200]];
        let mut more = messages.into_iter();
        let first = more.next().unwrap_or_default();
        FrameBatch::with(first, &mut more, |batch| {
            assert_eq!(batch.bytes().len(), 5 + 2 + 204);
            for (written, whole, begun) in [
                (1, 0, Some((3, 1))),
                (5, 1, None),
                (6, 1, Some((0, 1))),
                (7, 2, None),
                (100, 2, Some((200, 93))),
                (211, 3, None),
            ] {
                let taken = batch.taken(written);
                assert_eq!((taken.whole, taken.begun), (whole, begun), "{written} bytes");
            }
        });
    }

    #[test]
    fn a_batch_has_an_end() {
        let long = vec![b'x'; 10_000];
        let mut more = std::iter::repeat(&long[..]);
        FrameBatch::with(b"first", &mut more, |batch| assert_eq!(batch.ends.len(), 4));
        assert!(!FrameBatch::fits(&vec![0; BATCH_BYTES]));
    }
}
