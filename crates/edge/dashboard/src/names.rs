//! Which words of a module are names of variables, and which of those belong to the whole module. Everything of our modules is
//! joined in one scope, so a variable's name is exchanged by its module and its spelling alone; properties keep theirs. Pure.

use std::collections::BTreeSet;

use crate::join::JoinFault;
use crate::short::is_shared;
use crate::tokens::{Token, TokenKind};

const KEYWORDS: &[&str] = &[
    "arguments",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "from",
    "function",
    "get",
    "if",
    "import",
    "in",
    "instanceof",
    "let",
    "new",
    "null",
    "of",
    "return",
    "set",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];
/// What a browser brings. A name that is neither here nor declared is a mistake, and an error of the build.
const BROWSER: &[&str] = &[
    "AbortController",
    "Array",
    "Blob",
    "Boolean",
    "CSS",
    "CustomEvent",
    "DOMParser",
    "Date",
    "Error",
    "Event",
    "File",
    "FileReader",
    "Float64Array",
    "FormData",
    "Infinity",
    "Intl",
    "JSON",
    "Map",
    "Math",
    "MutationObserver",
    "NaN",
    "Notification",
    "Number",
    "Object",
    "Promise",
    "RegExp",
    "ResizeObserver",
    "IntersectionObserver",
    "Response",
    "Set",
    "String",
    "Symbol",
    "TextDecoder",
    "TextEncoder",
    "TypeError",
    "URL",
    "URLSearchParams",
    "Uint32Array",
    "Uint8Array",
    "WeakMap",
    "WeakSet",
    "WebSocket",
    "XMLSerializer",
    "addEventListener",
    "atob",
    "btoa",
    "cancelAnimationFrame",
    "clearInterval",
    "clearTimeout",
    "console",
    "crypto",
    "decodeURIComponent",
    "document",
    "encodeURIComponent",
    "fetch",
    "getComputedStyle",
    "getSelection",
    "globalThis",
    "history",
    "innerHeight",
    "innerWidth",
    "isFinite",
    "isNaN",
    "localStorage",
    "location",
    "matchMedia",
    "navigator",
    "parseFloat",
    "parseInt",
    "performance",
    "queueMicrotask",
    "removeEventListener",
    "requestAnimationFrame",
    "sessionStorage",
    "setInterval",
    "setTimeout",
    "structuredClone",
    "window",
];

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Written as it is: a property behind a dot, a string, a mark.
    Plain,
    /// The name of a property where it is made. Written as it is, too.
    Key,
    Keyword,
    /// `#name`: of a class, and of nobody outside it.
    Private,
    Variable,
    /// `{ name }`: a property and the variable of the same name.
    Both,
    /// A variable that the browser brings.
    Given,
    /// The brace behind which a statement is over.
    BlockEnd,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inside {
    Block,
    Object,
    Class,
    Other,
}

struct Nesting {
    inside: Inside,
    /// It is a statement, or ends one.
    is_statement: bool,
    /// A property's name may stand here: behind the brace, behind a comma, behind a member.
    is_key: bool,
}

/// The role of each token.
pub(crate) fn roles(tokens: &[Token<'_>]) -> Vec<Role> {
    let mut walk = Walk {
        frames: vec![Nesting { inside: Inside::Block, is_statement: true, is_key: false }],
        is_class: false,
        is_case: false,
        case_colon: false,
    };
    (0..tokens.len()).map(|at| walk.role(tokens, at)).collect()
}

struct Walk {
    frames: Vec<Nesting>,
    /// The next brace is that of a class.
    is_class: bool,
    /// The next colon is that of a `case`.
    is_case: bool,
    /// The last colon was.
    case_colon: bool,
}

impl Walk {
    fn role(&mut self, tokens: &[Token<'_>], at: usize) -> Role {
        let (token, next) = (&tokens[at], tokens.get(at + 1));
        let before = at.checked_sub(1).map(|at| &tokens[at]);
        match token.kind {
            TokenKind::Mark => self.mark(token, before),
            TokenKind::Piece => {
                self.piece(token);
                Role::Plain
            }
            TokenKind::Word => self.word(token, before, next),
            TokenKind::Private => {
                self.no_key();
                Role::Private
            }
            TokenKind::Number | TokenKind::Text | TokenKind::Pattern => {
                self.no_key();
                Role::Plain
            }
        }
    }

    fn no_key(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.is_key = false;
        }
    }

    /// A template's expression is a frame of its own.
    fn piece(&mut self, token: &Token<'_>) {
        if token.text.starts_with('}') {
            self.frames.pop();
        }
        self.no_key();
        if token.text.ends_with("${") {
            self.frames.push(Nesting { inside: Inside::Other, is_statement: false, is_key: false });
        }
    }

    fn mark(&mut self, token: &Token<'_>, before: Option<&Token<'_>>) -> Role {
        match token.text {
            "{" => {
                let inside = self.brace(before);
                let is_statement = inside != Inside::Object && !before.is_some_and(|it| it.is("=>"));
                self.frames.push(Nesting { inside, is_statement, is_key: inside != Inside::Block });
            }
            "(" | "[" => {
                self.no_key();
                self.frames.push(Nesting { inside: Inside::Other, is_statement: false, is_key: false });
            }
            ")" | "]" | "}" => {
                let ended = self.frames.pop();
                if let Some(frame) = self.frames.last_mut() {
                    // Behind the body of a method comes the next member.
                    frame.is_key = token.text == "}" && frame.inside == Inside::Class;
                }
                if ended.is_some_and(|frame| frame.is_statement) {
                    return Role::BlockEnd;
                }
            }
            "," => self.key_where(Inside::Object),
            ";" => self.key_where(Inside::Class),
            ":" => {
                self.case_colon = std::mem::take(&mut self.is_case);
                self.no_key();
            }
            "*" | "..." => {}
            _ => self.no_key(),
        }
        Role::Plain
    }

    fn key_where(&mut self, inside: Inside) {
        if let Some(frame) = self.frames.last_mut() {
            frame.is_key = frame.inside == inside;
        }
    }

    fn brace(&mut self, before: Option<&Token<'_>>) -> Inside {
        if std::mem::take(&mut self.is_class) {
            return Inside::Class;
        }
        let Some(before) = before else { return Inside::Block };
        let is_block = match (before.kind, before.text) {
            (TokenKind::Mark, ")" | ";" | "{" | "}" | "=>") => true,
            (TokenKind::Mark, ":") => self.case_colon,
            (TokenKind::Word, "else" | "try" | "catch" | "finally" | "do" | "static") => true,
            _ => false,
        };
        if is_block { Inside::Block } else { Inside::Object }
    }

    fn word(&mut self, token: &Token<'_>, before: Option<&Token<'_>>, next: Option<&Token<'_>>) -> Role {
        let is_before = |text: &str| before.is_some_and(|it| it.is(text));
        let is_next = |texts: &[&str]| next.is_some_and(|it| texts.iter().any(|text| it.is(text)));
        if is_before(".") || is_before("?.") {
            self.no_key();
            return Role::Plain;
        }
        let (inside, is_key) = self.frames.last().map_or((Inside::Block, false), |frame| (frame.inside, frame.is_key));
        let is_spread = is_before("...");
        if is_key && !is_spread {
            // `async name() {}`: the name is still to come.
            let is_modifier =
                ["async", "get", "set", "static"].contains(&token.text) && !is_next(&["(", ",", "}", ":", "=", ";"]);
            if is_modifier {
                return Role::Plain;
            }
            self.no_key();
            let is_shorthand = inside == Inside::Object && is_next(&[",", "}", "="]);
            let is_both = is_variable(token.text) || is_shared(token.text);
            return if is_shorthand && is_both { Role::Both } else { Role::Key };
        }
        self.no_key();
        match token.text {
            "class" => self.is_class = true,
            "case" | "default" => self.is_case = true,
            _ => {}
        }
        match token.text {
            word if KEYWORDS.contains(&word) => Role::Keyword,
            word if BROWSER.contains(&word) => Role::Given,
            _ => Role::Variable,
        }
    }
}

impl Role {
    fn is_variable(self) -> bool {
        matches!(self, Role::Variable | Role::Both)
    }
}

fn is_variable(word: &str) -> bool {
    !KEYWORDS.contains(&word) && !BROWSER.contains(&word)
}

/// Names that are declared: those of the module, and those of anything in it.
#[derive(Debug, Default)]
pub(crate) struct Declared<'t> {
    pub(crate) module: BTreeSet<&'t str>,
    inner: BTreeSet<&'t str>,
}

impl<'t> Declared<'t> {
    pub(crate) fn of(tokens: &[Token<'t>], roles: &[Role]) -> Self {
        let mut declared = Self::default();
        let (mut depth, mut at) = (0_usize, 0);
        while at < tokens.len() {
            let token = &tokens[at];
            match token.text {
                "(" | "[" | "{" if token.kind == TokenKind::Mark => depth += 1,
                ")" | "]" | "}" if token.kind == TokenKind::Mark => depth = depth.saturating_sub(1),
                "function" | "class" if token.kind == TokenKind::Word => {
                    declared.behind(tokens, roles, at + 1, depth == 0);
                }
                "const" | "let" | "var" if token.kind == TokenKind::Word => {
                    for start in declarators(tokens, at + 1) {
                        declared.behind(tokens, roles, start, depth == 0);
                    }
                }
                "=>" => declared.parameters(tokens, roles, at),
                _ => {}
            }
            at += 1;
        }
        declared.lists(tokens, roles);
        declared
    }

    /// What a declaration names: a word, or everything in a pattern.
    fn behind(&mut self, tokens: &[Token<'t>], roles: &[Role], from: usize, is_module: bool) {
        let end = match tokens.get(from) {
            Some(token) if token.is("{") || token.is("[") => closing(tokens, from),
            Some(token) if token.is("*") => from + 1,
            _ => from,
        };
        for at in from..=end.min(tokens.len().saturating_sub(1)) {
            if roles[at].is_variable() {
                if is_module { &mut self.module } else { &mut self.inner }.insert(tokens[at].text);
            }
        }
    }

    /// What stands before an arrow.
    fn parameters(&mut self, tokens: &[Token<'t>], roles: &[Role], arrow: usize) {
        let Some(before) = arrow.checked_sub(1) else { return };
        let first = if tokens[before].is(")") { opening(tokens, before) } else { before };
        for at in first..=before {
            if roles[at].is_variable() {
                self.inner.insert(tokens[at].text);
            }
        }
    }

    /// What stands in brackets before a body.
    fn lists(&mut self, tokens: &[Token<'t>], roles: &[Role]) {
        for at in 1..tokens.len() {
            if !(tokens[at].is("{") && tokens[at - 1].is(")")) {
                continue;
            }
            let first = opening(tokens, at - 1);
            let before = first.checked_sub(1).map_or("", |before| tokens[before].text);
            if ["if", "for", "while", "switch"].contains(&before) {
                continue;
            }
            for inner in first..at {
                if roles[inner].is_variable() {
                    self.inner.insert(tokens[inner].text);
                }
            }
        }
    }

    /// A variable that nobody has declared and no browser brings.
    pub(crate) fn check(&self, tokens: &[Token<'t>], roles: &[Role]) -> Result<(), JoinFault> {
        let declares = |token: &Token<'_>| ["const", "let", "function", "class"].iter().any(|it| token.is(it));
        for pair in tokens.windows(2) {
            // It would keep its name, which another module may have, too.
            if declares(&pair[0]) && BROWSER.contains(&pair[1].text) {
                return Err(JoinFault(format!(":{}: `{}` is the browser's", pair[1].line, pair[1].text)));
            }
        }
        for (at, (token, role)) in tokens.iter().zip(roles).enumerate() {
            // A block that was taken for an object: its first word would keep the name it has here, which nobody has there.
            if *role == Role::Key && !is_key(tokens, at) {
                return Err(JoinFault(format!(":{}: `{}` is no name of a property", token.line, token.text)));
            }
            let is_ours = role.is_variable() && is_variable(token.text);
            if is_ours && !self.module.contains(token.text) && !self.inner.contains(token.text) {
                return Err(JoinFault(format!(":{}: nobody has declared `{}`", token.line, token.text)));
            }
        }
        Ok(())
    }
}

/// Whether what follows a name makes a property of it: a value, the next one, or the body of a method.
fn is_key(tokens: &[Token<'_>], at: usize) -> bool {
    let is = |at: usize, texts: &[&str]| tokens.get(at).is_some_and(|it| texts.iter().any(|text| it.is(text)));
    let is_method = || is(at + 1, &["("]) && is(closing(tokens, at + 1) + 1, &["{"]);
    is(at + 1, &[":", ",", "}", "=", ";"]) || is_method()
}

/// Where each declaration of a statement begins: `a = 1, b` has two.
fn declarators(tokens: &[Token<'_>], from: usize) -> Vec<usize> {
    let (mut starts, mut at) = (vec![from], from);
    while let Some(token) = tokens.get(at) {
        match token.text {
            "(" | "[" | "{" if token.kind == TokenKind::Mark => at = closing(tokens, at),
            ";" | ")" | "]" | "}" if token.kind == TokenKind::Mark => break,
            // `let of = 1, more`: it is a name, too.
            "of" | "in" if token.kind == TokenKind::Word && starts.last() != Some(&at) => break,
            "," if token.kind == TokenKind::Mark => starts.push(at + 1),
            _ => {}
        }
        at += 1;
    }
    starts
}

fn closing(tokens: &[Token<'_>], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        if token.kind == TokenKind::Mark {
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len().saturating_sub(1)
}

/// Where the bracket begins that ends here.
pub(crate) fn opening(tokens: &[Token<'_>], from: usize) -> usize {
    let mut depth = 0_usize;
    for at in (0..=from).rev() {
        let token = &tokens[at];
        if token.kind == TokenKind::Mark {
            match token.text {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 {
            return at;
        }
    }
    0
}
