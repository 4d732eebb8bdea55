//! Rust sources as far as the tests of the house read them: code without comments and texts, and the words of a name.

/// What a line goes on with from the line before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    /// So many are open.
    Comment(usize),
    Text,
    /// A raw text, which so many `#` close.
    Raw(usize),
}

/// The lines without comments, and without what stands in texts. As many as before.
pub(crate) fn code_alone(lines: &[String]) -> Vec<String> {
    let mut inside = Inside::Code;
    lines.iter().map(|line| line_alone(line, &mut inside)).collect()
}

fn line_alone(line: &str, inside: &mut Inside) -> String {
    let (mut code, mut rest) = (String::new(), line);
    while let Some(next) = rest.chars().next() {
        let mut taken = next.len_utf8();
        match *inside {
            Inside::Code if rest.starts_with("//") => break,
            Inside::Code => match opens(rest, code.chars().last()) {
                Some((opened, length)) => (*inside, taken) = (opened, length),
                None => {
                    taken = character(rest).unwrap_or(taken);
                    code.push(if taken == next.len_utf8() { next } else { ' ' });
                }
            },
            Inside::Comment(depth) if rest.starts_with("/*") => (*inside, taken) = (Inside::Comment(depth + 1), 2),
            Inside::Comment(depth) if rest.starts_with("*/") => {
                *inside = if depth > 1 { Inside::Comment(depth - 1) } else { Inside::Code };
                taken = 2;
            }
            Inside::Text if next == '\\' => taken += rest[taken..].chars().next().map_or(0, char::len_utf8),
            Inside::Text if next == '"' => *inside = Inside::Code,
            Inside::Raw(hashes) if next == '"' && rest[1..].starts_with(&"#".repeat(hashes)) => {
                (*inside, taken) = (Inside::Code, 1 + hashes);
            }
            Inside::Comment(_) | Inside::Text | Inside::Raw(_) => {}
        }
        rest = &rest[taken..];
    }
    code
}

/// What begins here and is no code, and how long its beginning is.
fn opens(rest: &str, before: Option<char>) -> Option<(Inside, usize)> {
    if rest.starts_with("/*") {
        return Some((Inside::Comment(1), 2));
    }
    if rest.starts_with('"') {
        return Some((Inside::Text, 1));
    }
    let raw = rest.strip_prefix('r').filter(|_| !before.is_some_and(|it| it.is_alphanumeric() || it == '_'))?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    raw[hashes..].starts_with('"').then_some((Inside::Raw(hashes), hashes + 2))
}

/// The length of a character between quotes; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let length = match inner.strip_prefix('\\') {
        Some(escaped) => 2 + escaped[1..].find('\'')?,
        None => inner.chars().next()?.len_utf8(),
    };
    inner[length..].starts_with('\'').then_some(length + 2)
}

/// The names in a line, whole.
pub(crate) fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|it: char| !it.is_alphanumeric() && it != '_').filter(|name| !name.is_empty())
}

/// The words of a name, in small letters: `OpenLimits`, `open_limits` and `OPEN_LIMITS2` have `open` and `limits`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = '_';
    let mut letters = name.chars().peekable();
    while let Some(it) = letters.next() {
        let ends_capitals = before.is_uppercase() && letters.peek().is_some_and(|next| next.is_lowercase());
        if !it.is_alphabetic() || (it.is_uppercase() && (!before.is_uppercase() || ends_capitals)) {
            words.push(String::new());
        }
        if it.is_alphabetic() {
            words.last_mut().expect("there is one").extend(it.to_lowercase());
        }
        before = it;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a name has this word in it, also where its letters are counted as two: `OpenAiLimits` has `openai`.
pub(crate) fn has_word(name: &str, wanted: &str) -> bool {
    let words = words(name);
    (0..words.len()).any(|from| (from..words.len()).any(|to| words[from..=to].concat() == wanted))
}

#[test]
fn comments_and_texts_are_no_code() {
    let lines = [
        r#"let a = "one // two"; // three"#,
        "/// four",
        "five /* six /* seven */ eight",
        r#"nine */ ten("eleven \" twelve","#,
        "    'x', '\\'', r#\"thirteen \" fourteen",
        "fifteen\"#, &'a sixteen)",
    ];
    let code = code_alone(&lines.map(str::to_owned)).join("\n");
    let found: Vec<&str> = code.split_whitespace().flat_map(names).collect();
    assert_eq!(found, ["let", "a", "five", "ten", "a", "sixteen"], "{code}");
}

#[test]
fn a_name_is_taken_apart_into_its_words() {
    for name in ["OpenAiLimits", "openai_url", "OPENAI_KEY", "has_open_ai", "OpenAI2", "openai"] {
        assert!(has_word(name, "openai"), "{name}");
    }
    assert!(has_word("Gemini3", "gemini") && has_word("HTTPServe", "serve") && has_word("x_pi", "pi"));
    for name in ["reopenaid", "opened", "Observer", "api", "example"] {
        assert!(!["openai", "serve", "pi", "exa"].iter().any(|word| has_word(name, word)), "{name}");
    }
}
