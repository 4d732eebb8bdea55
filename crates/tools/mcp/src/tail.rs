//! The last lines of what a server wrote beside the protocol, to be shown when it fails.

use std::collections::VecDeque;

use vocab::Secret;

/// Older lines go.
pub const TAIL_LINES: usize = 50;
/// A longer line is cut.
const TAIL_LINE_CHARS: usize = 500;

#[derive(Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    /// A line that has not ended, as far as it is kept.
    partial: Vec<u8>,
    /// Masked wherever the server prints them.
    secrets: Vec<Secret>,
}

impl Tail {
    pub(crate) fn new(secrets: Vec<Secret>) -> Self {
        Self { secrets, ..Self::default() }
    }

    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..at]);
            self.end_line();
            bytes = &bytes[at + 1..];
        }
        self.keep(bytes);
    }

    /// A line of its own, between those of stderr.
    pub(crate) fn line(&mut self, line: &[u8]) {
        let partial = std::mem::take(&mut self.partial);
        self.keep(line);
        self.end_line();
        self.partial = partial;
    }

    /// What there is, behind a line break; empty where there is nothing.
    pub(crate) fn text(&mut self) -> String {
        if !self.partial.is_empty() {
            self.end_line();
        }
        self.lines.iter().flat_map(|line| ["\n", line]).collect()
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = (4 * TAIL_LINE_CHARS).saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.partial);
        if self.lines.len() >= TAIL_LINES {
            self.lines.pop_front();
        }
        // Masked before it is cut, or half a secret would stay.
        let text = masked(&self.secrets, String::from_utf8_lossy(&line).trim_end());
        self.lines.push_back(text.chars().take(TAIL_LINE_CHARS).collect());
    }
}

/// Shorter values are no secrets (`1`, `debug`), and masking them would mask ordinary words.
const MASKED_BYTES_MIN: usize = 8;

pub(crate) fn masked(secrets: &[Secret], text: &str) -> String {
    let long = secrets.iter().filter(|secret| secret.expose().len() >= MASKED_BYTES_MIN);
    long.fold(text.to_owned(), |text, secret| secret.mask(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_in_lines_and_in_line_length() {
        let mut tail = Tail::default();
        for n in 0..1000 {
            tail.push(format!("line {n}\n").as_bytes());
        }
        tail.push(&vec![b'x'; 1_000_000]);
        assert!(tail.partial.len() <= 4 * TAIL_LINE_CHARS);
        let text = tail.text();
        assert!(text.starts_with("\nline 951\n") && text.lines().count() == TAIL_LINES + 1, "{text}");
    }

    #[test]
    fn secrets_are_masked_and_short_values_are_not() {
        let mut tail = Tail::new(["canary-1234567", "info"].iter().filter_map(|it| Secret::new(it)).collect());
        tail.push(b"info: key canary-1234567 refu");
        tail.line(b"from stdout");
        tail.push(b"sed\n");
        assert_eq!(tail.text(), "\nfrom stdout\ninfo: key *** refused");
    }
}
