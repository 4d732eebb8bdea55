//! Colours, and the rule that only we may send escape sequences to a terminal.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use vocab::visible::{is_ignorable, is_of_writing, push_picture};

/// Colours when the terminal wants them, nothing otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paint {
    pub on: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    pub fn red(self, text: &str) -> String {
        self.with("31", text)
    }
    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }
    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }
    pub fn loud(self, text: &str) -> String {
        self.with("1;31", text)
    }
    pub fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }
}

fn is_obeyed(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// Characters of an escape sequence; what goes on for longer is text.
const SEQUENCE_CHARS_MAX: usize = 32;

/// Behind an escape character: colours and cursor movements are no text, `[31m` neither. What is none is left as it is.
fn skip_sequence(chars: Peekable<Chars<'_>>) -> Peekable<Chars<'_>> {
    let mut ahead = chars.clone();
    if ahead.next() != Some('[') {
        return chars;
    }
    for _ in 0..SEQUENCE_CHARS_MAX {
        match ahead.next() {
            Some('@'..='~') => return ahead,
            Some(' '..='?') => {}
            _ => return chars,
        }
    }
    chars
}

/// Prose of a model, a tool or a file without anything a terminal would obey, and with nothing that does not show. Clean
/// text is borrowed. What a person is asked about goes through [`vocab::visible`] instead, which keeps everything.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| is_obeyed(c) || is_ignorable(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            chars = skip_sequence(chars);
            continue;
        }
        let after = chars.peek().copied();
        match c {
            c if is_obeyed(c) => {}
            c if is_ignorable(c) && !is_of_writing(before, c, after) => push_picture(&mut out, c),
            c => out.push(c),
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// Cuts a line to `max` characters and shows that it did.
pub(crate) fn cut(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let end = text.char_indices().nth(max.saturating_sub(1)).map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", &text[..end]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_obeys_nothing_and_hides_nothing() {
        assert_eq!(clean("a\u{1b}[2Kb\rc\r\nd\te"), "abc\nd\te");
        assert_eq!(clean("\u{1b}[1;31mred\u{1b}[0m \u{1b}[é \u{1b}7 \u{1b}["), "red [é 7 [");
        assert_eq!(clean("l\u{200b}s \u{202e}x\u{200f}\u{e0041}"), "l<U+200B>s <U+202E>x<U+200F><U+E0041>");
        for plain in ["naïve 👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}", "می\u{200c}خواهم", "日本語"] {
            assert_eq!(clean(plain), plain);
        }
        assert!(matches!(clean("plain\n"), Cow::Borrowed(_)));
    }
}
