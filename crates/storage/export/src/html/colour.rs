//! Colours for code: strings, comments, numbers, keywords. Guesses by form, as a reader's eye does; it knows no grammar,
//! and a wrong guess costs a colour, never a character. One pass, every byte looked at a bounded number of times.

mod langs;
mod lines;

use super::escape::escape;
pub(super) use langs::{Lang, by_name, by_path};
use langs::{Quirk, Quote};

/// Longer text is shown without colours: the spans would weigh more than the text.
pub(super) const COLOUR_BYTES_MAX: usize = 256 * 1024;
/// No keyword is longer.
const KEYWORD_BYTES_MAX: usize = 20;
/// A character literal in Rust is at most this long (`'\u{10ffff}'`).
const CHAR_BYTES_MAX: usize = 12;

/// Appends `text`, coloured when its language is known.
pub(super) fn write(out: &mut String, text: &str, lang: Option<&'static Lang>) {
    match lang {
        Some(lang) if text.len() <= COLOUR_BYTES_MAX => match lang.quirk {
            Quirk::Diff => lines::diff(out, text),
            Quirk::Markup => lines::markup(out, text),
            _ => CodeScanner { out, text, lang, at: 0, plain: 0 }.run(),
        },
        _ => escape(out, text),
    }
}

/// What a piece is, by the class it gets in the page.
#[derive(Clone, Copy)]
enum Class {
    Keyword,
    Str,
    Comment,
    Number,
    /// Types, keys, tags: names that stand out.
    Name,
    Function,
}

fn span(out: &mut String, class: Class, text: &str) {
    out.push_str(match class {
        Class::Keyword => "<span class=\"k\">",
        Class::Str => "<span class=\"s\">",
        Class::Comment => "<span class=\"c\">",
        Class::Number => "<span class=\"n\">",
        Class::Name => "<span class=\"t\">",
        Class::Function => "<span class=\"f\">",
    });
    escape(out, text);
    out.push_str("</span>");
}

struct CodeScanner<'a> {
    out: &'a mut String,
    text: &'a str,
    lang: &'static Lang,
    at: usize,
    /// Where the text begins that is not coloured yet.
    plain: usize,
}

impl CodeScanner<'_> {
    fn run(mut self) {
        while self.at < self.text.len() {
            if let Some((class, end)) = self.piece() {
                self.emit(class, end);
            } else {
                self.skip();
            }
        }
        escape(self.out, &self.text[self.plain..]);
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn emit(&mut self, class: Class, end: usize) {
        escape(self.out, &self.text[self.plain..self.at]);
        span(self.out, class, &self.text[self.at..end]);
        (self.at, self.plain) = (end, end);
    }

    /// Passes over what has no colour: a word, or one character.
    fn skip(&mut self) {
        let word = self.word_bytes();
        self.at += if word > 0 { word } else { self.rest().chars().next().map_or(1, char::len_utf8) };
    }

    /// The coloured piece that begins here and where it ends.
    fn piece(&self) -> Option<(Class, usize)> {
        if let Some(end) = self.comment() {
            return Some((Class::Comment, end));
        }
        if let Some(end) = self.string() {
            return Some((if self.is_key(end) { Class::Name } else { Class::Str }, end));
        }
        let first = *self.text.as_bytes().get(self.at)?;
        if first.is_ascii_digit() {
            return Some((Class::Number, self.at + number_bytes(self.rest())));
        }
        match self.lang.quirk {
            Quirk::Rust if first == b'\'' => return self.rust_quote(),
            Quirk::Shell if first == b'$' => return self.variable(),
            _ => {}
        }
        self.word()
    }

    fn comment(&self) -> Option<usize> {
        let rest = self.rest();
        let before = self.text.as_bytes()[..self.at].last();
        let at_word_start = before.is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b';');
        if self.lang.line_comments.iter().any(|mark| rest.starts_with(mark))
            && (at_word_start || !self.lang.comment_after_blank)
        {
            return Some(self.at + rest.find('\n').unwrap_or(rest.len()));
        }
        let (open, close) = self.lang.block_comment?;
        let inside = rest.strip_prefix(open)?;
        Some(self.at + inside.find(close).map_or(rest.len(), |end| open.len() + end + close.len()))
    }

    fn string(&self) -> Option<usize> {
        if self.lang.quirk == Quirk::Rust
            && let Some(end) = self.raw_string()
        {
            return Some(end);
        }
        let rest = self.rest();
        let quote = self.lang.quotes.iter().find(|quote| rest.starts_with(quote.open))?;
        Some(self.at + quote.open.len() + quoted_bytes(&rest[quote.open.len()..], quote))
    }

    /// `r#"..."#` with any number of `#`.
    fn raw_string(&self) -> Option<usize> {
        let rest = self.rest();
        let marks = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
        let hashes = marks.bytes().take_while(|byte| *byte == b'#').count();
        let inside = marks[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let start = self.text.len() - inside.len();
        Some(inside.find(&close).map_or(self.text.len(), |end| start + end + close.len()))
    }

    /// A character or a lifetime.
    fn rust_quote(&self) -> Option<(Class, usize)> {
        let rest = &self.rest()[1..];
        let mut chars = rest.char_indices();
        let (_, first) = chars.next()?;
        let closed = |from: usize| {
            let near = &rest.as_bytes()[from..rest.len().min(CHAR_BYTES_MAX)];
            near.iter().position(|byte| *byte == b'\'').map(|at| self.at + 1 + from + at + 1)
        };
        match first {
            '\\' if rest.len() > 2 => closed(2).map(|end| (Class::Str, end)),
            _ if rest[first.len_utf8()..].starts_with('\'') => Some((Class::Str, self.at + 1 + first.len_utf8() + 1)),
            c if c.is_alphabetic() || c == '_' => {
                let name = rest.bytes().take_while(|byte| is_word(*byte, self.lang)).count();
                Some((Class::Name, self.at + 1 + name.max(1)))
            }
            _ => None,
        }
        .filter(|(_, end)| self.text.is_char_boundary(*end))
    }

    /// `$name`, `${name}`, `$1`.
    fn variable(&self) -> Option<(Class, usize)> {
        let rest = &self.rest()[1..];
        let braces = usize::from(rest.starts_with('{'));
        let name = rest[braces..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let close = braces & usize::from(rest[braces + name..].starts_with('}'));
        (name > 0).then_some((Class::Name, self.at + 1 + braces + name + close))
    }

    fn word_bytes(&self) -> usize {
        self.rest().bytes().take_while(|byte| is_word(*byte, self.lang)).count()
    }

    fn word(&self) -> Option<(Class, usize)> {
        let bytes = self.word_bytes();
        let end = self.at + bytes;
        let word = self.text.get(self.at..end).filter(|word| !word.is_empty())?;
        let class = if self.is_key(end) {
            Class::Name
        } else if self.is_keyword(word) {
            Class::Keyword
        } else if self.lang.types && word.starts_with(|c: char| c.is_ascii_uppercase()) {
            Class::Name
        } else if self.lang.functions && self.text[end..].starts_with(['(', '!']) && !self.text[end..].starts_with("!=")
        {
            Class::Function
        } else {
            return None;
        };
        Some((class, end))
    }

    fn is_keyword(&self, word: &str) -> bool {
        if word.len() > KEYWORD_BYTES_MAX {
            return false;
        }
        match self.lang.any_case {
            true => self.lang.keywords.contains(&&*word.to_ascii_lowercase()),
            false => self.lang.keywords.contains(&word),
        }
    }

    /// Whether what ends at `end` is the name of a member: `name: ...` or `name = ...`.
    fn is_key(&self, end: usize) -> bool {
        let Some(mark) = self.lang.key_mark else { return false };
        self.text[end..].trim_start_matches([' ', '\t']).starts_with(mark)
    }
}

fn is_word(byte: u8, lang: &Lang) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 || lang.word_extra.as_bytes().contains(&byte)
}

/// Digits, and what may stand among them in any language: `0xff`, `1_000`, `2.5e10`, `1u8`.
fn number_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        let more = match bytes[at] {
            b'.' => bytes.get(at + 1).is_some_and(u8::is_ascii_digit),
            byte => byte.is_ascii_alphanumeric() || byte == b'_',
        };
        if !more {
            break;
        }
        at += 1;
    }
    at
}

/// Bytes up to and with the closing quote; a quote that may not span lines ends with its line.
fn quoted_bytes(text: &str, quote: &Quote) -> usize {
    let (bytes, close) = (text.as_bytes(), quote.close.as_bytes());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\n' if !quote.lines => return at,
            b'\\' if quote.escapes => at += 1,
            _ if bytes[at..].starts_with(close) => return at + close.len(),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests;
