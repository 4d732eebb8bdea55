//! Colours, and the rule that only we may send escape sequences to a terminal.

use std::borrow::Cow;

/// Colours when the terminal wants them, nothing otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Paint {
    pub(crate) on: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    pub(crate) fn red(self, text: &str) -> String {
        self.with("31", text)
    }
    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }
    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }
    pub(crate) fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }
}

fn harmful(c: char) -> bool {
    // Bidirectional overrides can make a line read differently from what it says.
    let bidi = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || bidi
}

/// Text from a model, a tool or a file without anything a terminal would obey. Clean text is borrowed.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains(harmful) {
        Cow::Owned(text.replace("\r\n", "\n").chars().filter(|c| !harmful(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
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
