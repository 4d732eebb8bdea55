//! Escapes inside JSON strings: what a string means, and what to do about half a surrogate pair.

use std::borrow::Cow;

/// What `\ud800` and its like become.
const REPLACEMENT: &str = "\\ufffd";

/// Replaces escapes of lone surrogates by U+FFFD; borrows when there is none. Expects JSON text; other text comes
/// back unharmed in length and order but makes no sense.
pub fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    // Hardly any text has an escape, and looking for the first one is quick.
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut fixed: Option<String> = None;
    let mut copied_to = 0;
    let mut at = 0;
    while let Some(step) = bytes[at..].iter().position(|&byte| byte == b'\\') {
        at += step;
        let Some(unit) = unit_at(bytes, at) else {
            // Any other escape: two bytes, so that `\\ud800` is a backslash and five letters.
            at = (at + 2).min(bytes.len());
            continue;
        };
        let length = match surrogate(unit) {
            Half::No => 6,
            Half::High if unit_at(bytes, at + 6).is_some_and(|low| surrogate(low) == Half::Low) => 12,
            Half::High | Half::Low => {
                let fixed = fixed.get_or_insert_with(|| String::with_capacity(text.len()));
                fixed.push_str(&text[copied_to..at]);
                fixed.push_str(REPLACEMENT);
                copied_to = at + 6;
                6
            }
        };
        at += length;
    }
    match fixed {
        None => Cow::Borrowed(text),
        Some(mut fixed) => {
            fixed.push_str(&text[copied_to..]);
            Cow::Owned(fixed)
        }
    }
}

/// Whether an id of a text that went through [`replace_lone_surrogates`] is not as its sender wrote it, so that it cannot be
/// echoed byte for byte. One that spells U+FFFD itself, beside half a pair elsewhere, is refused with it.
#[expect(clippy::ptr_arg, reason = "whether the text is owned tells whether it was changed")]
pub fn is_replaced(text: &Cow<'_, str>, id: &str) -> bool {
    matches!(text, Cow::Owned(_)) && id.contains(REPLACEMENT)
}

/// Whether two checked strings mean the same text.
pub(super) fn same(left: &str, right: &str) -> bool {
    if left.contains('\\') || right.contains('\\') {
        Chars { rest: left }.eq(Chars { rest: right })
    } else {
        left == right
    }
}

/// What a checked string means.
pub(super) fn unescaped(raw: &str) -> Cow<'_, str> {
    if raw.contains('\\') { Cow::Owned(Chars { rest: raw }.collect()) } else { Cow::Borrowed(raw) }
}

#[derive(Clone, Copy, PartialEq)]
enum Half {
    No,
    High,
    Low,
}

fn surrogate(unit: u16) -> Half {
    match unit {
        0xd800..0xdc00 => Half::High,
        0xdc00..0xe000 => Half::Low,
        _ => Half::No,
    }
}

/// The UTF-16 unit of a `\uXXXX` that starts at `at`.
fn unit_at(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit: u16, &digit| Some(unit << 4 | char::from(digit).to_digit(16)? as u16))
}

/// The characters a checked string means; lone surrogates are U+FFFD.
struct Chars<'a> {
    rest: &'a str,
}

impl Chars<'_> {
    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let bytes = self.rest.as_bytes();
        let first = self.rest.chars().next()?;
        if first != '\\' {
            self.skip(first.len_utf8());
            return Some(first);
        }
        if let Some(unit) = unit_at(bytes, 0) {
            let low = unit_at(bytes, 6).filter(|low| surrogate(unit) == Half::High && surrogate(*low) == Half::Low);
            self.skip(if low.is_some() { 12 } else { 6 });
            let units = [unit, low.unwrap_or(0)];
            let meant = char::decode_utf16(units).next().and_then(Result::ok);
            return Some(meant.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let meant = match bytes.get(1).copied() {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(other) => char::from(other),
            None => first,
        };
        self.skip(bytes.len().min(2));
        Some(meant)
    }
}
