//! One rule for JSON on every wire: strict syntax, strict UTF-8, bounded depth, no duplicate keys. A lone surrogate
//! escape is replaced by U+FFFD, because no Rust string, log or model request could carry it.
//!
//! [`check`] only judges; it builds no tree and knows no schema. It walks with a counter instead of recursion, so no
//! input can overflow the stack, and it takes time linear in the input. A byte order mark is garbage like any other.

mod keys;
mod unescape;

use std::fmt;

use keys::Keys;
pub use unescape::{is_replaced, replace_lone_surrogates};

/// Deepest nesting accepted; one level more is refused before anything is built from it. serde_json's own trees stop
/// one level earlier, so carry deep values as raw text.
pub const DEPTH_MAX: usize = 128;

/// Why a text was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonError {
    /// Offset of the first byte that does not fit, counted from 0.
    pub at: usize,
    pub what: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}
impl std::error::Error for JsonError {}

/// Accepts exactly the texts every dialect accepts.
pub fn check(bytes: &[u8]) -> Result<&str, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| bad_utf8(bytes, error.valid_up_to()))?;
    Checker { text, at: 0, depth: 0, objects: 0, keys: Keys::new() }.run()?;
    Ok(text)
}

fn bad_utf8(bytes: &[u8], at: usize) -> JsonError {
    JsonError { at, what: format!("invalid UTF-8 (0x{:02x})", bytes[at]) }
}

/// What may come next.
#[derive(Clone, Copy)]
enum Next {
    Value,
    /// Right after `[`.
    ItemOrEnd,
    Key,
    /// Right after `{`.
    KeyOrEnd,
    /// Right after a value.
    CommaOrEnd,
}

struct Checker<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// One bit per open container, the innermost lowest: 1 for an object. 128 bits are [`DEPTH_MAX`].
    objects: u128,
    keys: Keys<'a>,
}

impl<'a> Checker<'a> {
    fn run(&mut self) -> Result<(), JsonError> {
        let mut next = Next::Value;
        loop {
            self.skip_space();
            next = match next {
                Next::Value => self.value(false)?,
                Next::ItemOrEnd => self.value(true)?,
                Next::Key => self.key(false)?,
                Next::KeyOrEnd => self.key(true)?,
                Next::CommaOrEnd if self.depth == 0 => {
                    return if self.at == self.text.len() { Ok(()) } else { self.unexpected("the end") };
                }
                Next::CommaOrEnd => self.comma_or_end()?,
            };
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self, may_end: bool) -> Result<Next, JsonError> {
        match self.peek() {
            Some(b'{') => self.open(true)?,
            Some(b'[') => self.open(false)?,
            Some(b']') if may_end => self.close(),
            Some(b'"') => {
                self.string()?;
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal("true")?,
            Some(b'f') => self.literal("false")?,
            Some(b'n') => self.literal("null")?,
            _ => return self.unexpected("a value"),
        }
        Ok(match self.text.as_bytes()[self.at - 1] {
            b'{' => Next::KeyOrEnd,
            b'[' => Next::ItemOrEnd,
            _ => Next::CommaOrEnd,
        })
    }

    fn key(&mut self, may_end: bool) -> Result<Next, JsonError> {
        match self.peek() {
            Some(b'}') if may_end => {
                self.close();
                return Ok(Next::CommaOrEnd);
            }
            Some(b'"') => {}
            _ => return self.unexpected("a key in quotes"),
        }
        let at = self.at;
        let key = self.string()?;
        if !self.keys.add(key) {
            return Err(JsonError { at, what: format!("duplicate key {}", quoted(key)) });
        }
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.unexpected("':'");
        }
        self.at += 1;
        Ok(Next::Value)
    }

    fn comma_or_end(&mut self) -> Result<Next, JsonError> {
        let in_object = self.objects & 1 == 1;
        match (self.peek(), in_object) {
            (Some(b','), _) => {
                self.at += 1;
                Ok(if in_object { Next::Key } else { Next::Value })
            }
            (Some(b'}'), true) | (Some(b']'), false) => {
                self.close();
                Ok(Next::CommaOrEnd)
            }
            (_, true) => self.unexpected("',' or '}'"),
            (_, false) => self.unexpected("',' or ']'"),
        }
    }

    fn open(&mut self, object: bool) -> Result<(), JsonError> {
        if self.depth == DEPTH_MAX {
            return Err(JsonError { at: self.at, what: format!("nested deeper than {DEPTH_MAX}") });
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(object);
        if object {
            self.keys.open();
        }
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        if self.objects & 1 == 1 {
            self.keys.close();
        }
        self.depth -= 1;
        self.objects >>= 1;
        self.at += 1;
    }

    fn literal(&mut self, word: &'static str) -> Result<(), JsonError> {
        if !self.text[self.at..].starts_with(word) {
            return self.unexpected("a value");
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        // A leading zero stands alone; what follows it is judged by whoever comes next.
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return self.unexpected("a digit");
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    /// Walks over a string and returns what is between its quotes, escapes as written.
    fn string(&mut self) -> Result<&'a str, JsonError> {
        let start = self.at + 1;
        self.at = start;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(&self.text[start..self.at - 1]);
                }
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => return self.unexpected("an escape instead of a control character"),
                Some(_) => self.at += 1,
                None => return self.unexpected("'\"'"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return self.unexpected("four hex digits");
                    }
                    self.at += 1;
                }
            }
            _ => return self.unexpected("an escape character"),
        }
        Ok(())
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T, JsonError> {
        let what = match self.text[self.at..].chars().next() {
            None => format!("expected {wanted}, found the end"),
            Some(found) => format!("expected {wanted}, found {found:?}"),
        };
        Err(JsonError { at: self.at, what })
    }
}

/// Characters of a name that an error message repeats.
const SHOWN_CHARS_MAX: usize = 64;

fn quoted(name: &str) -> String {
    match name.char_indices().nth(SHOWN_CHARS_MAX) {
        None => format!("\"{name}\""),
        Some((cut, _)) => format!("\"{}...\"", &name[..cut]),
    }
}
