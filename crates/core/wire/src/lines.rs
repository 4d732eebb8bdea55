//! Cuts a byte stream into frames, one a line. LF alone ends a line: U+2028 and friends are legal inside JSON strings and stay
//! data. A CR before the LF is dropped. An over-long line is skipped in constant memory.

use crate::Frame;

/// The longest line taken; a longer one is reported once and skipped up to its LF.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Capacity kept between lines, so that one large line does not hold its memory for ever.
const KEEP_BYTES: usize = 64 * 1024;

/// Feeds on chunks, yields lines. Any split of the same bytes yields the same lines.
pub struct Lines {
    limit: usize,
    pending: Vec<u8>,
    skipping: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self::new(LINE_BYTES_MAX)
    }
}

impl Lines {
    pub fn new(limit: usize) -> Self {
        Self { limit, pending: Vec::new(), skipping: false }
    }

    /// Calls `each` for every line that `chunk` completes.
    pub fn feed(&mut self, mut chunk: &[u8], mut each: impl FnMut(Frame<'_>)) {
        while let Some(at) = chunk.iter().position(|&byte| byte == b'\n') {
            let (head, rest) = (&chunk[..at], &chunk[at + 1..]);
            chunk = rest;
            self.complete(head, &mut each);
        }
        self.keep(chunk, &mut each);
    }

    /// The input ended: an unterminated last line counts.
    pub fn finish(&mut self, mut each: impl FnMut(Frame<'_>)) {
        if self.skipping || !self.pending.is_empty() {
            self.complete(&[], &mut each);
        }
    }

    fn complete(&mut self, head: &[u8], each: &mut impl FnMut(Frame<'_>)) {
        if std::mem::take(&mut self.skipping) {
            return;
        }
        if self.pending.is_empty() {
            // The common case: the whole line is in the chunk, nothing is copied.
            each(self.judge(head));
            return;
        }
        self.pending.extend_from_slice(head);
        let line = std::mem::take(&mut self.pending);
        each(self.judge(&line));
        if line.capacity() <= KEEP_BYTES {
            self.pending = line;
            self.pending.clear();
        }
    }

    fn judge<'a>(&self, line: &'a [u8]) -> Frame<'a> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.limit { Frame::TooLong { limit: self.limit } } else { Frame::Whole(line) }
    }

    fn keep(&mut self, tail: &[u8], each: &mut impl FnMut(Frame<'_>)) {
        if self.skipping {
            return;
        }
        // One byte more than the limit may be the CR of a line that just fits.
        if self.pending.len() + tail.len() > self.limit + 1 {
            self.pending = Vec::new();
            self.skipping = true;
            each(Frame::TooLong { limit: self.limit });
            return;
        }
        self.pending.extend_from_slice(tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_an_endless_line_takes_constant_memory() {
        let mut lines = Lines::new(100_000);
        let chunk = [b'x'; 64 * 1024];
        let mut told = 0;
        for _ in 0..200 {
            lines.feed(&chunk, |_| told += 1);
            assert!(lines.pending.capacity() <= 2 * 100_000, "{}", lines.pending.capacity());
        }
        assert_eq!((told, lines.pending.capacity()), (1, 0));
    }

    #[test]
    fn one_large_line_does_not_hold_its_memory() {
        let mut lines = Lines::new(LINE_BYTES_MAX);
        lines.feed(&vec![b'x'; 4 * KEEP_BYTES], |_| panic!("not ended yet"));
        lines.feed(b"\n", |line| assert!(matches!(line, Frame::Whole(_))));
        assert_eq!(lines.pending.capacity(), 0);
        lines.feed(b"small", |_| panic!("not ended yet"));
        lines.feed(b"\n", |line| assert_eq!(line, Frame::Whole(b"small")));
        assert!(lines.pending.capacity() > 0, "a small buffer is kept for the next line");
    }
}
