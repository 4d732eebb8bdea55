//! The last lines of what a child process wrote beside its protocol, to be shown when it fails: in bounded memory, and
//! without keys.

use std::collections::VecDeque;

use vocab::Keyring;

/// Older lines go.
pub const TAIL_LINES: usize = 50;

pub struct OutputTail {
    lines: VecDeque<String>,
    /// A line that has not ended, as far as it is kept.
    partial: Vec<u8>,
    /// A longer line is cut.
    line_chars_max: usize,
    /// Masked wherever the process prints them.
    secrets: Keyring,
}

impl OutputTail {
    pub fn new(secrets: Keyring, line_chars_max: usize) -> Self {
        Self { lines: VecDeque::new(), partial: Vec::new(), line_chars_max, secrets }
    }

    /// The next bytes of its stderr.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..at]);
            self.end_line();
            bytes = &bytes[at + 1..];
        }
        self.keep(bytes);
    }

    /// A line of its own, between those of stderr.
    pub fn line(&mut self, line: &[u8]) {
        let partial = std::mem::take(&mut self.partial);
        self.keep(line);
        self.end_line();
        self.partial = partial;
    }

    /// What there is; a line that has not ended counts.
    pub fn lines(&self) -> Vec<String> {
        let last = (!self.partial.is_empty()).then(|| self.shown(&self.partial));
        let surplus = (self.lines.len() + usize::from(last.is_some())).saturating_sub(TAIL_LINES);
        self.lines.iter().skip(surplus).cloned().chain(last).collect()
    }

    /// The same behind a line break; empty where there is nothing.
    pub fn text(&self) -> String {
        self.lines().iter().flat_map(|line| ["\n", line]).collect()
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = (4 * self.line_chars_max).saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.partial);
        if self.lines.len() >= TAIL_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(self.shown(&line));
    }

    fn shown(&self, line: &[u8]) -> String {
        // Masked before it is cut, or half a secret would stay.
        self.secrets.scrub(String::from_utf8_lossy(line).trim_end()).chars().take(self.line_chars_max).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHARS: usize = 500;

    #[test]
    fn the_tail_is_bounded_in_lines_and_in_line_length() {
        let mut tail = OutputTail::new(Keyring::default(), CHARS);
        for n in 0..1000 {
            tail.push(format!("line {n}\r\n").as_bytes());
        }
        tail.push(&vec![b'x'; 1_000_000]);
        assert!(tail.partial.len() <= 4 * CHARS);
        let text = tail.text();
        assert!(text.starts_with("\nline 951\n") && text.lines().count() == TAIL_LINES + 1, "{text}");
        assert_eq!(tail.lines().last().map(String::len), Some(CHARS));
    }

    #[test]
    fn secrets_are_masked_and_short_values_are_not() {
        let mut tail = OutputTail::new(["canary-1234567", "info"].into_iter().collect(), CHARS);
        tail.push(b"info: key canary-1234567 refu");
        tail.line(b"from stdout");
        tail.push(b"sed\n");
        assert_eq!(tail.text(), "\nfrom stdout\ninfo: key *** refused");
    }

    #[test]
    fn a_secret_is_masked_before_the_line_is_cut() {
        let mut tail = OutputTail::new(["canary-1234567"].into_iter().collect(), 10);
        tail.push(b"key: canary-1234567");
        assert_eq!(tail.lines(), ["key: ***"]);
    }
}
