//! The last lines of what a program wrote to stderr, in bounded memory.

use std::collections::VecDeque;

/// Lines kept; older ones go.
pub const TAIL_LINES: usize = 50;
/// Bytes of a line kept; the rest of it is cut.
pub const TAIL_LINE_BYTES: usize = 4 * 1024;

#[derive(Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    /// A line that has not ended, as far as it is kept.
    partial: Vec<u8>,
}

impl Tail {
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..at]);
            let line = std::mem::take(&mut self.partial);
            self.add(&line);
            bytes = &bytes[at + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = TAIL_LINE_BYTES - self.partial.len();
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn add(&mut self, line: &[u8]) {
        if self.lines.len() >= TAIL_LINES {
            self.lines.pop_front();
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.lines.push_back(String::from_utf8_lossy(line).into_owned());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let last = (!self.partial.is_empty()).then(|| String::from_utf8_lossy(&self.partial).into_owned());
        let all: Vec<String> = self.lines.iter().cloned().chain(last).collect();
        let surplus = all.len().saturating_sub(TAIL_LINES);
        all[surplus..].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_in_lines_and_in_line_length() {
        let mut tail = Tail::default();
        for n in 0..1000 {
            tail.push(format!("line {n}\r\n").as_bytes());
        }
        tail.push(&vec![b'x'; 1_000_000]);
        let lines = tail.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (TAIL_LINES, "line 951"));
        assert_eq!(lines.last().map(String::len), Some(TAIL_LINE_BYTES));
    }
}
