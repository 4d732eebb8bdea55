//! A lexer for the plain part of the shell language: words, quotes, `|`, `&&`, `||`, `;` and redirections to nowhere.
//! Whatever else it meets (expansions, substitutions, groups, background, comments, line breaks) it gives up on.

/// One word after quote removal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::shell) struct Word {
    pub(in crate::shell) text: String,
    /// Starts with an unquoted glob character: what it expands to may look like an option.
    pub(super) glob_first: bool,
    /// Has an unquoted glob character anywhere.
    pub(in crate::shell) glob: bool,
    /// A part like `.*` or `.?`, which matches `..` in many shells.
    pub(super) may_glob_upwards: bool,
}

impl Word {
    /// A word without patterns.
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// The words of each simple command of a chain; `None` for anything not fully understood.
pub(super) fn split(command: &str) -> Option<Vec<Vec<Word>>> {
    let mut lexer = Lexer { rest: command.trim_matches([' ', '\t', '\n']), ..Lexer::default() };
    while !lexer.rest.is_empty() {
        lexer.step()?;
    }
    lexer.end_word();
    // `a;` is a whole command line, `a &&` and `a |` are not.
    if lexer.words.is_empty() && (lexer.joined || lexer.commands.is_empty()) {
        return None;
    }
    if !lexer.words.is_empty() {
        lexer.commands.push(lexer.words);
    }
    Some(lexer.commands)
}

#[derive(Default)]
struct Lexer<'a> {
    rest: &'a str,
    commands: Vec<Vec<Word>>,
    words: Vec<Word>,
    word: Option<Word>,
    /// The text of the current word came without any quoting: `2` in `2>` counts only then.
    quoted: bool,
    /// The last separator needs a command behind it.
    joined: bool,
}

impl Lexer<'_> {
    fn step(&mut self) -> Option<()> {
        let next = self.rest.chars().next()?;
        let at_start = self.word.is_none();
        match next {
            ' ' | '\t' => {
                self.advance(1);
                self.end_word();
            }
            '\'' => self.single_quotes()?,
            '"' => self.double_quotes()?,
            '\\' => self.backslash()?,
            '|' | '&' | ';' => self.separator()?,
            '>' => self.redirection()?,
            '#' if at_start => return None,
            // Expanded at the start of a word and, in words that look like assignments, behind `=` and `:`.
            '~' if !self.follows_name_character() => return None,
            '$' | '`' | '<' | '(' | ')' | '{' | '}' => return None,
            '*' | '?' | '[' => self.glob(next),
            ' '..='~' => self.push(next),
            // Control characters, line breaks and, outside quotes, whatever a locale may take for a blank.
            _ => return None,
        }
        Some(())
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().text.push(character);
        self.advance(character.len_utf8());
    }

    fn follows_name_character(&self) -> bool {
        let last = self.word.as_ref().and_then(|word| word.text.chars().last());
        last.is_some_and(|last| last.is_ascii_alphanumeric() || last == '^')
    }

    fn glob(&mut self, character: char) {
        let word = self.word.get_or_insert_default();
        word.glob = true;
        word.glob_first |= word.text.is_empty();
        let piece = word.text.rsplit(['/', '=', ':', ',']).next().unwrap_or_default();
        // `.*`, `..*`, and `-f.*` as well: an option letter may stand before the path.
        let dots_only = piece.bytes().all(|byte| byte == b'.');
        word.may_glob_upwards |= piece.ends_with('.') && (dots_only || piece.starts_with('-'));
        self.push(character);
    }

    /// Everything up to the next quote is literal.
    fn single_quotes(&mut self) -> Option<()> {
        self.quoted = true;
        let inside = &self.rest[1..];
        let end = inside.find('\'')?;
        let text = &inside[..end];
        self.literal(text)?;
        self.advance(end + 2);
        Some(())
    }

    fn double_quotes(&mut self) -> Option<()> {
        self.quoted = true;
        self.advance(1);
        self.word.get_or_insert_default();
        loop {
            let next = self.rest.chars().next()?;
            match next {
                '"' => {
                    self.advance(1);
                    return Some(());
                }
                '$' | '`' => return None,
                '\\' => {
                    let escaped = self.rest[1..].chars().next()?;
                    // Only these are escapes inside double quotes; before others the backslash is itself.
                    if matches!(escaped, '"' | '\\' | '$' | '`') {
                        self.advance(1);
                        self.push(escaped);
                    } else {
                        self.push('\\');
                    }
                }
                _ => {
                    let mut buffer = [0; 4];
                    let text = next.encode_utf8(&mut buffer).to_owned();
                    self.literal(&text)?;
                    self.advance(text.len());
                }
            }
        }
    }

    fn backslash(&mut self) -> Option<()> {
        self.quoted = true;
        let escaped = self.rest[1..].chars().next()?;
        if !matches!(escaped, ' '..='~') {
            return None;
        }
        self.advance(1);
        self.push(escaped);
        Some(())
    }

    /// Quoted text. Control characters are refused even here: nothing that only reads needs them.
    fn literal(&mut self, text: &str) -> Option<()> {
        if text.chars().any(|character| character.is_control() && character != '\t') {
            return None;
        }
        self.word.get_or_insert_default().text.push_str(text);
        Some(())
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
        self.quoted = false;
    }

    fn separator(&mut self) -> Option<()> {
        self.end_word();
        let (length, joins) = match self.rest.as_bytes() {
            [b'&', b'&', ..] | [b'|', b'|', ..] => (2, true),
            [b'|', b'&', ..] | [b';', b';' | b'&', ..] => return None,
            [b'|', ..] => (1, true),
            [b';', ..] => (1, false),
            // A lone `&` starts something in the background.
            _ => return None,
        };
        if self.words.is_empty() {
            return None;
        }
        self.commands.push(std::mem::take(&mut self.words));
        self.joined = joins;
        self.advance(length);
        Some(())
    }

    /// `>/dev/null`, `2>/dev/null`, `2>&1`, `>&2`: output to nowhere or to each other.
    fn redirection(&mut self) -> Option<()> {
        let digit = match &self.word {
            Some(word) if !self.quoted && matches!(word.text.as_str(), "1" | "2") => true,
            // Any other number is another descriptor.
            Some(word) if !self.quoted && word.text.bytes().all(|byte| byte.is_ascii_digit()) => return None,
            _ => false,
        };
        if digit {
            self.word = None;
        }
        self.end_word();
        self.advance(1);
        let target = match self.rest.strip_prefix('&') {
            Some(rest) => rest.strip_prefix('1').or_else(|| rest.strip_prefix('2'))?,
            None => self.rest.trim_start_matches([' ', '\t']).strip_prefix("/dev/null")?,
        };
        if !(target.is_empty() || target.starts_with([' ', '\t', '|', ';', '&'])) {
            return None;
        }
        self.rest = target;
        // A redirection alone is a command of its own kind; there must be a word before it.
        (!self.words.is_empty()).then_some(())
    }
}
