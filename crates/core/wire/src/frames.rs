//! Frames: one that came in, and one reused buffer of those that go out.

use std::fmt;

/// One inbound frame, as a transport hands it over: a line without its end, or a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    Whole(&'a [u8]),
    /// Longer than the limit; the bytes are gone.
    TooLong {
        limit: usize,
    },
}

/// What stands for a message that was no text: one byte with which no JSON begins, and no text has.
pub const NO_TEXT: &[u8] = &[0xff];

/// Outgoing frames, appended in place, each ended by LF. The bytes are what a byte pipe is given; a message pipe is given
/// the frames one by one, without their LF.
#[derive(Default)]
pub struct FrameBuf {
    bytes: Vec<u8>,
    /// Where each frame ends, behind its LF.
    ends: Vec<usize>,
}

impl FrameBuf {
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// Appends a frame written by `write`, and its LF.
    pub fn line(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.bytes.push(b'\n');
        self.ends.push(self.bytes.len());
    }
    /// Appends bytes that are one frame as they are: a line with its LF already, or a piece of a terminal's text.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
    /// Each frame without its LF.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| without_lf(&self.bytes[start..*end]))
    }
    /// Where each frame ends, behind its LF.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }
    /// Keeps of the frames behind the first `from` bytes those that `keep` wants.
    pub fn retain_frames(&mut self, from: usize, keep: impl Fn(&[u8]) -> bool) {
        let first = self.ends.partition_point(|end| *end <= from);
        let ends = self.ends.split_off(first);
        let tail = self.bytes.split_off(from);
        let mut start = 0;
        for end in ends {
            let frame = &tail[start..end - from];
            if keep(without_lf(frame)) {
                self.raw(frame);
            }
            start = end - from;
        }
    }
    /// Writes the frames behind the first `from` bytes again: `write` gets each without its LF, and says what takes its place.
    pub fn rewrite(&mut self, from: usize, mut write: impl FnMut(&[u8], &mut Self)) {
        let first = self.ends.partition_point(|end| *end <= from);
        let ends = self.ends.split_off(first);
        let tail = self.bytes.split_off(from);
        let mut start = 0;
        for end in ends {
            write(without_lf(&tail[start..end - from]), self);
            start = end - from;
        }
    }
    /// Moves all bytes to the end of `into`.
    pub fn drain_into(&mut self, into: &mut Vec<u8>) {
        self.ends.clear();
        if into.is_empty() {
            std::mem::swap(&mut self.bytes, into);
        } else {
            into.append(&mut self.bytes);
        }
    }
}

/// A frame as a message: without the LF that ends it on a byte pipe.
pub fn without_lf(frame: &[u8]) -> &[u8] {
    frame.strip_suffix(b"\n").unwrap_or(frame)
}

impl fmt::Debug for FrameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes))
    }
}

/// Appends `text` as a JSON string with its quotes. The delta path writes frames by hand; this is the one place that
/// knows how to escape.
pub fn escape_into(text: &str, into: &mut Vec<u8>) {
    into.push(b'"');
    escape_plain_into(text, into);
    into.push(b'"');
}

/// As [`escape_into`] without the quotes, for a string that grows. Clean runs are copied whole.
pub fn escape_plain_into(text: &str, into: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut clean_from = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        into.extend_from_slice(&bytes[clean_from..at]);
        clean_from = at + 1;
        match byte {
            b'"' => into.extend_from_slice(b"\\\""),
            b'\\' => into.extend_from_slice(b"\\\\"),
            b'\n' => into.extend_from_slice(b"\\n"),
            b'\r' => into.extend_from_slice(b"\\r"),
            b'\t' => into.extend_from_slice(b"\\t"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                into.extend_from_slice(b"\\u00");
                into.push(HEX[usize::from(byte >> 4)]);
                into.push(HEX[usize::from(byte & 15)]);
            }
        }
    }
    into.extend_from_slice(&bytes[clean_from..]);
}
