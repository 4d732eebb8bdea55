//! Tokens as a script again, in as few bytes as they need. What is changed means the same: shorter words for constants, one
//! declaration for several that follow each other, no brackets around a single parameter. Pure.

use crate::names::{Role, opening};
use crate::tokens::{Token, TokenKind, is_word_part};

/// `name`: what a variable is called now, where it is called otherwise.
pub(crate) fn written<'n>(tokens: &[Token<'_>], roles: &[Role], name: &dyn Fn(&str) -> Option<&'n str>) -> String {
    let mut writer = ScriptWriter {
        tokens,
        roles,
        out: String::new(),
        last: None,
        frames: vec![OpenBracket { is_brace: true, in_let: false }],
    };
    let mut at = 0;
    while at < tokens.len() {
        at += writer.token(at, name);
    }
    writer.out.push('\n');
    writer.out
}

struct OpenBracket {
    /// Statements stand in it.
    is_brace: bool,
    /// The statement under way declares.
    in_let: bool,
}

struct ScriptWriter<'t, 's> {
    tokens: &'s [Token<'t>],
    roles: &'s [Role],
    out: String,
    /// The token that was written last.
    last: Option<usize>,
    frames: Vec<OpenBracket>,
}

impl ScriptWriter<'_, '_> {
    /// Writes what begins with this token. How many it took.
    fn token<'n>(&mut self, at: usize, name: &dyn Fn(&str) -> Option<&'n str>) -> usize {
        let (token, role) = (self.tokens[at], self.roles[at]);
        let is_end = token.is(";") && self.tokens.get(at + 1).is_some_and(|next| next.is("}"));
        if is_end && !self.is_empty_statement(at) {
            return 1;
        }
        let in_let = self.frames.last().is_some_and(|frame| frame.is_brace && frame.in_let);
        if token.is(";") && in_let && self.declares(at + 1) {
            self.put(",", at);
            return 2;
        }
        if self.is_last_comma(at) {
            return 1;
        }
        if self.is_bracketed_parameter(at) {
            let inner = self.tokens[at + 1].text;
            self.put(name(inner).unwrap_or(inner), at + 1);
            return 3;
        }
        let shown = match role {
            Role::Keyword => name(token.text).unwrap_or(shorter(token.text)).to_owned(),
            Role::Plain | Role::BlockEnd if token.kind == TokenKind::Number => number(token.text),
            Role::Plain | Role::Key | Role::BlockEnd => token.text.to_owned(),
            Role::Private => format!("#{}", name(token.text).unwrap_or(&token.text[1..])),
            Role::Variable | Role::Given => name(token.text).unwrap_or(token.text).to_owned(),
            Role::Both => match name(token.text) {
                Some(short) if short != token.text => format!("{}:{short}", token.text),
                _ => token.text.to_owned(),
            },
        };
        self.follow(at);
        self.put(&shown, at);
        1
    }

    /// Which statement we are in.
    fn follow(&mut self, at: usize) {
        let token = self.tokens[at];
        let is_start =
            at.checked_sub(1).is_none_or(|before| [";", "{", "}"].iter().any(|it| self.tokens[before].is(it)));
        if is_start && self.declares(at) {
            self.set_let(true);
        }
        if token.kind == TokenKind::Piece {
            if token.text.starts_with('}') {
                self.frames.pop();
            }
            if token.text.ends_with("${") {
                self.frames.push(OpenBracket { is_brace: false, in_let: false });
            }
            return;
        }
        match token.text {
            _ if token.kind != TokenKind::Mark => {}
            "{" => self.frames.push(OpenBracket { is_brace: true, in_let: false }),
            "(" | "[" => self.frames.push(OpenBracket { is_brace: false, in_let: false }),
            ")" | "]" | "}" => drop(self.frames.pop()),
            ";" => self.set_let(false),
            _ => {}
        }
    }

    fn set_let(&mut self, is_let: bool) {
        if let Some(frame) = self.frames.last_mut() {
            frame.in_let = is_let;
        }
    }

    fn declares(&self, at: usize) -> bool {
        let is_keyword = self.roles.get(at) == Some(&Role::Keyword);
        is_keyword && self.tokens.get(at).is_some_and(|token| token.is("const") || token.is("let"))
    }

    /// `while (more());` has nothing else to do.
    fn is_empty_statement(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).filter(|before| self.tokens[*before].is(")")) else { return false };
        let head = opening(self.tokens, before).checked_sub(1).map_or("", |head| self.tokens[head].text);
        ["for", "while", "if"].contains(&head)
    }

    /// `(one, two,)`: it means nothing, but for a place of a list that is left empty.
    fn is_last_comma(&self, at: usize) -> bool {
        let is = |at: usize, texts: &[&str]| texts.iter().any(|text| self.tokens.get(at).is_some_and(|it| it.is(text)));
        is(at, &[","]) && is(at + 1, &[")", "]", "}"]) && !is(at.wrapping_sub(1), &[",", "["])
    }

    /// `(x) =>`
    fn is_bracketed_parameter(&self, at: usize) -> bool {
        let is = |nth: usize, text: &str| self.tokens.get(at + nth).is_some_and(|token| token.is(text));
        is(0, "(") && self.roles.get(at + 1) == Some(&Role::Variable) && is(2, ")") && is(3, "=>")
    }

    /// Writes `shown` for the token at `at`, with what has to stand before it.
    fn put(&mut self, shown: &str, at: usize) {
        let token = &self.tokens[at];
        if let Some(last) = self.last.map(|last| &self.tokens[last]) {
            let is_over = self.last.is_some_and(|last| self.roles[last] == Role::BlockEnd);
            let needs_end = !is_over || token.kind == TokenKind::Mark;
            if token.is_first && ends_statement(last) && begins_statement(token) && needs_end {
                self.set_let(false);
                self.out.push('\n');
            } else if self.runs_together(last, shown, token) {
                self.out.push(' ');
            }
        }
        self.out.push_str(shown);
        self.last = Some(at);
    }

    /// Whether two tokens would be read as another one.
    fn runs_together(&self, last: &Token<'_>, shown: &str, token: &Token<'_>) -> bool {
        let (end, start) = (self.out.chars().next_back().unwrap_or(' '), shown.chars().next().unwrap_or(' '));
        let is_wordy = |it: char| is_word_part(it) || it == '#';
        (is_wordy(end) && is_wordy(start) && last.kind != TokenKind::Piece)
            || (end == start && matches!(end, '+' | '-' | '/'))
            || (last.kind == TokenKind::Number && start == '.')
            || (end == '/' && last.kind == TokenKind::Mark && token.kind == TokenKind::Pattern)
    }
}

/// Whether a line that ends so may be a whole one, which the end of the line ends.
fn ends_statement(token: &Token<'_>) -> bool {
    token.kind != TokenKind::Mark || [")", "]", "}", "++", "--"].contains(&token.text)
}

fn begins_statement(token: &Token<'_>) -> bool {
    token.kind != TokenKind::Mark || ["(", "[", "{", "++", "--", "!", "*", "+", "-", "/"].contains(&token.text)
}

fn shorter(keyword: &str) -> &str {
    match keyword {
        // Whoever writes to a constant is told so by the browser while it is worked on.
        "const" => "let",
        "true" => "!0",
        "false" => "!1",
        "undefined" => "void 0",
        other => other,
    }
}

/// `10_000` is `1e4`, `0.5` is `.5`.
fn number(text: &str) -> String {
    let plain = text.replace('_', "");
    if plain.bytes().all(|it| it.is_ascii_digit()) {
        let head = plain.trim_end_matches('0');
        let zeros = plain.len() - head.len();
        return if zeros > 2 && !head.is_empty() { format!("{head}e{zeros}") } else { plain };
    }
    match plain.strip_prefix("0.") {
        Some(rest) if !rest.is_empty() => format!(".{rest}"),
        _ => plain,
    }
}
