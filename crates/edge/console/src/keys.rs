//! Bytes of a keyboard as keys. Pure; a sequence may arrive in pieces.

/// Bytes of a paste that are kept; what is pasted beyond is dropped. A prompt may have as much.
const PASTE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// An escape sequence longer than this is none that anybody knows.
const SEQUENCE_BYTES_MAX: usize = 32;
const PASTE_STARTS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum KeyPress {
    Char(char),
    /// A text that was pasted as one.
    Paste(String),
    Enter,
    /// A line break inside the text.
    Break,
    Tab,
    Esc,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    Ctrl(char),
    /// Back over a word.
    WordBack,
}

#[derive(Default)]
pub(super) struct KeyDecoder {
    bytes: Vec<u8>,
}

impl KeyDecoder {
    /// The keys that are whole by now.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<KeyPress> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, used)) = next(&self.bytes) {
            self.bytes.drain(..used);
            keys.extend(key);
        }
        keys
    }

    /// An escape byte has come, and whether it is a key or begins one is not known yet.
    pub(super) fn is_torn(&self) -> bool {
        self.bytes == b"\x1b"
    }

    /// Nothing followed: it was the key.
    pub(super) fn settle(&mut self) -> Option<KeyPress> {
        self.is_torn().then(|| {
            self.bytes.clear();
            KeyPress::Esc
        })
    }
}

/// The first key, if it has a meaning, and how many bytes it takes. `None`: more bytes are needed.
fn next(bytes: &[u8]) -> Option<(Option<KeyPress>, usize)> {
    let (&first, rest) = bytes.split_first()?;
    let one = |key: KeyPress| Some((Some(key), 1));
    match first {
        b'\r' | b'\n' => one(KeyPress::Enter),
        b'\t' => one(KeyPress::Tab),
        0x7f | 0x08 => one(KeyPress::Backspace),
        0x1b => escape(bytes, rest),
        0x01..=0x1a => one(KeyPress::Ctrl(char::from(first - 1 + b'a'))),
        0x00 | 0x1c..=0x1f => Some((None, 1)),
        _ => letter(bytes),
    }
}

fn letter(bytes: &[u8]) -> Option<(Option<KeyPress>, usize)> {
    let len = match bytes[0] {
        0x00..0x80 => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((None, 1)),
    };
    let text = bytes.get(..len)?;
    match std::str::from_utf8(text).ok().and_then(|text| text.chars().next()) {
        // What does not show is not typed.
        Some(c) if c.is_control() => Some((None, len)),
        Some(c) => Some((Some(KeyPress::Char(c)), len)),
        None => Some((None, 1)),
    }
}

fn escape(bytes: &[u8], rest: &[u8]) -> Option<(Option<KeyPress>, usize)> {
    if bytes.starts_with(PASTE_STARTS) {
        return paste(bytes);
    }
    match rest.first()? {
        b'[' => csi(bytes),
        b'O' => Some((arrow(*rest.get(1)?, false), 3)),
        b'\r' | b'\n' => Some((Some(KeyPress::Break), 2)),
        b'b' => Some((Some(KeyPress::WordLeft), 2)),
        b'f' => Some((Some(KeyPress::WordRight), 2)),
        0x7f | 0x08 => Some((Some(KeyPress::WordBack), 2)),
        // Twice: the first is a key, the second may begin something.
        0x1b => Some((Some(KeyPress::Esc), 1)),
        _ => Some((None, 2)),
    }
}

/// `ESC [ parameters letter`.
fn csi(bytes: &[u8]) -> Option<(Option<KeyPress>, usize)> {
    let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte));
    let Some(end) = end.map(|at| at + 2) else {
        return (bytes.len() > SEQUENCE_BYTES_MAX).then_some((None, bytes.len()));
    };
    let parameters = String::from_utf8_lossy(&bytes[2..end]);
    let mut numbers = parameters.split(';');
    let (number, modifier) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let key = match (bytes[end], number) {
        (b'~', "1" | "7") => Some(KeyPress::Home),
        (b'~', "4" | "8") => Some(KeyPress::End),
        (b'~', "3") => Some(KeyPress::Delete),
        // Shift-Enter and Alt-Enter of terminals that tell them apart.
        (b'u', "13") if !modifier.is_empty() => Some(KeyPress::Break),
        (b'u', "27") => Some(KeyPress::Esc),
        (letter, _) => arrow(letter, matches!(modifier, "3" | "5")),
    };
    Some((key, end + 1))
}

fn arrow(letter: u8, by_word: bool) -> Option<KeyPress> {
    match letter {
        b'A' => Some(KeyPress::Up),
        b'B' => Some(KeyPress::Down),
        b'C' if by_word => Some(KeyPress::WordRight),
        b'D' if by_word => Some(KeyPress::WordLeft),
        b'C' => Some(KeyPress::Right),
        b'D' => Some(KeyPress::Left),
        b'H' => Some(KeyPress::Home),
        b'F' => Some(KeyPress::End),
        _ => None,
    }
}

fn paste(bytes: &[u8]) -> Option<(Option<KeyPress>, usize)> {
    let body = &bytes[PASTE_STARTS.len()..];
    let end = body.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS)?;
    let text = String::from_utf8_lossy(&body[..end.min(PASTE_BYTES_MAX)]);
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
    let text = text.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    Some((Some(KeyPress::Paste(text)), PASTE_STARTS.len() + end + PASTE_ENDS.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &str) -> Vec<KeyPress> {
        KeyDecoder::default().feed(bytes.as_bytes())
    }

    #[test]
    fn letters_and_control_keys_are_told_apart() {
        assert_eq!(
            keys("aé日\r\x17"),
            [KeyPress::Char('a'), KeyPress::Char('é'), KeyPress::Char('日'), KeyPress::Enter, KeyPress::Ctrl('w')]
        );
        assert_eq!(
            keys("\x1b[A\x1bOB\x1b[1;5D\x1b[3~\x1b[H\x1b[4~"),
            [KeyPress::Up, KeyPress::Down, KeyPress::WordLeft, KeyPress::Delete, KeyPress::Home, KeyPress::End]
        );
        assert_eq!(keys("\x1b\r\x1b[13;2u"), [KeyPress::Break, KeyPress::Break]);
        assert_eq!(keys("\x1b[99z\x1b[1;2;3R\u{85}x"), [KeyPress::Char('x')], "what nobody knows is nothing");
    }

    #[test]
    fn a_sequence_in_pieces_is_the_same_key() {
        let whole = "é\x1b[1;5C\x1b[200~a\rb\x1b[201~";
        let mut decoder = KeyDecoder::default();
        let keys: Vec<KeyPress> = whole.bytes().flat_map(|byte| decoder.feed(&[byte])).collect();
        assert_eq!(keys, [KeyPress::Char('é'), KeyPress::WordRight, KeyPress::Paste("a\nb".into())]);
    }

    #[test]
    fn an_escape_that_nothing_follows_is_a_key() {
        let mut decoder = KeyDecoder::default();
        assert_eq!(decoder.feed(b"x\x1b"), [KeyPress::Char('x')]);
        assert!(decoder.is_torn());
        assert_eq!(decoder.settle(), Some(KeyPress::Esc));
        assert!(!decoder.is_torn() && decoder.settle().is_none());
    }
}
