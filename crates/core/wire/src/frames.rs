//! One reused buffer of outgoing bytes; frames are appended in place.

use std::fmt;

/// Outgoing frames, each ended by LF.
#[derive(Default)]
pub struct FrameBuf {
    bytes: Vec<u8>,
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
    }
    /// Appends raw bytes, for dialects that are not made of lines (a terminal).
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
    /// Keeps of the lines behind the first `from` bytes those that `keep` wants.
    pub fn retain_lines(&mut self, from: usize, keep: impl Fn(&[u8]) -> bool) {
        let tail = self.bytes.split_off(from);
        for line in tail.split_inclusive(|byte| *byte == b'\n') {
            if keep(line) {
                self.bytes.extend_from_slice(line);
            }
        }
    }
    /// Moves everything to the end of `into`.
    pub fn drain_into(&mut self, into: &mut Vec<u8>) {
        if into.is_empty() {
            std::mem::swap(&mut self.bytes, into);
        } else {
            into.append(&mut self.bytes);
        }
    }
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
