//! JavaScript as tokens, as far as our own modules go: enough to leave out what only people read, and to tell the name of a variable
//! from that of a property. Pure.

use crate::join::JoinFault;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind {
    /// A word: a keyword, a variable or a property.
    Word,
    /// `#name`.
    Private,
    Number,
    Text,
    Pattern,
    /// A piece of a template literal, with its quotes or braces.
    Piece,
    Mark,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'t str,
    /// It is the first one of its line.
    pub(crate) is_first: bool,
    pub(crate) line: usize,
}

impl Token<'_> {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text && matches!(self.kind, TokenKind::Mark | TokenKind::Word)
    }
}

/// The longest first.
const MARKS: &[&str] = &[
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=", "&&",
    "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "**",
];
/// Words behind which a slash begins a pattern.
const BEFORE_PATTERN: &[&str] =
    &["return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await", "yield"];

pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, JoinFault> {
    let mut reader = TokenReader { text, at: 0, line: 1, is_first: true, braces: Vec::new(), found: Vec::new() };
    while reader.skip_blank()? {
        reader.token()?;
    }
    Ok(reader.found)
}

struct TokenReader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    is_first: bool,
    /// Open braces; `true`: of a template literal.
    braces: Vec<bool>,
    found: Vec<Token<'t>>,
}

impl<'t> TokenReader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn fault(&self, why: &str) -> JoinFault {
        JoinFault(format!(":{}: {why}", self.line))
    }

    /// Blanks and comments. Whether something is left.
    fn skip_blank(&mut self) -> Result<bool, JoinFault> {
        loop {
            let rest = self.rest();
            let Some(next) = rest.chars().next() else { return Ok(false) };
            let length = if next.is_whitespace() {
                next.len_utf8()
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").ok_or_else(|| self.fault("a comment has no end"))? + 2
            } else {
                return Ok(true);
            };
            let lines = rest[..length].matches('\n').count();
            self.line += lines;
            self.is_first |= lines > 0;
            self.at += length;
        }
    }

    fn token(&mut self) -> Result<(), JoinFault> {
        let rest = self.rest();
        let next = rest.chars().next().unwrap_or_default();
        let follows_digit = rest[1..].starts_with(|it: char| it.is_ascii_digit());
        match next {
            '"' | '\'' => self.push(TokenKind::Text, self.quoted(next)?),
            '`' => self.piece(1),
            '}' if self.braces.last() == Some(&true) => {
                self.braces.pop();
                self.piece(1)
            }
            '/' if self.begins_pattern() => self.push(TokenKind::Pattern, self.pattern()?),
            '#' => self.push(TokenKind::Private, 1 + word_length(&rest[1..])),
            it if it.is_ascii_digit() || (it == '.' && follows_digit) => {
                let length = rest.find(|it: char| !(it.is_ascii_alphanumeric() || it == '.' || it == '_'));
                self.push(TokenKind::Number, length.unwrap_or(rest.len()))
            }
            it if is_word_part(it) => self.push(TokenKind::Word, word_length(rest)),
            it => {
                match it {
                    '{' => self.braces.push(false),
                    '}' => drop(self.braces.pop()),
                    _ => {}
                }
                let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
                self.push(TokenKind::Mark, mark.map_or(it.len_utf8(), |mark| mark.len()))
            }
        }
    }

    fn push(&mut self, kind: TokenKind, length: usize) -> Result<(), JoinFault> {
        let text = &self.rest()[..length];
        self.found.push(Token { kind, text, is_first: self.is_first, line: self.line });
        self.line += text.matches('\n').count();
        self.is_first = false;
        self.at += length;
        Ok(())
    }

    fn quoted(&self, quote: char) -> Result<usize, JoinFault> {
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, it)) = chars.next() {
            match it {
                '\\' => drop(chars.next()),
                '\n' => break,
                it if it == quote => return Ok(at + 1),
                _ => {}
            }
        }
        Err(self.fault("a string has no end"))
    }

    /// Up to the next expression of a template, or its end. `from`: behind what it begins with.
    fn piece(&mut self, from: usize) -> Result<(), JoinFault> {
        let rest = self.rest();
        let mut chars = rest.char_indices().skip(from).peekable();
        while let Some((at, it)) = chars.next() {
            match it {
                '\\' => drop(chars.next()),
                '`' => return self.push(TokenKind::Piece, at + 1),
                '$' if rest[at + 1..].starts_with('{') => {
                    self.braces.push(true);
                    return self.push(TokenKind::Piece, at + 2);
                }
                _ => {}
            }
        }
        Err(self.fault("a template literal has no end"))
    }

    /// Whether a slash divides nothing here.
    fn begins_pattern(&self) -> bool {
        let Some(before) = self.found.last() else { return true };
        match before.kind {
            TokenKind::Word => BEFORE_PATTERN.contains(&before.text),
            TokenKind::Mark => ![")", "]", "}"].contains(&before.text),
            TokenKind::Piece => before.text.ends_with("${"),
            TokenKind::Private | TokenKind::Number | TokenKind::Text | TokenKind::Pattern => false,
        }
    }

    fn pattern(&self) -> Result<usize, JoinFault> {
        let rest = self.rest();
        let (mut in_class, mut chars) = (false, rest.char_indices().skip(1));
        while let Some((at, it)) = chars.next() {
            match it {
                '\\' => drop(chars.next()),
                '\n' => break,
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => return Ok(at + 1 + word_length(&rest[at + 1..])),
                _ => {}
            }
        }
        Err(self.fault("a pattern has no end"))
    }
}

pub(crate) fn is_word_part(it: char) -> bool {
    it.is_alphanumeric() || it == '_' || it == '$'
}

fn word_length(text: &str) -> usize {
    text.find(|it: char| !is_word_part(it)).unwrap_or(text.len())
}
