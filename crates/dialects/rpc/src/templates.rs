//! Prompts that a user keeps as files and calls by name: `/review src/main.rs`. Pure: the text comes from outside, and the
//! words behind the name go where it has `$1`, `$2`, ... or `$@` (also `$ARGUMENTS`).

use std::sync::Arc;

/// One prompt of the user's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    /// What it is called by, without the slash.
    pub name: Arc<str>,
    pub description: Option<Arc<str>>,
    /// The file it comes from, for people.
    pub source: Arc<str>,
    pub body: Arc<str>,
}

/// Bytes of a prompt made from a template; one that would be longer is cut, because words can be used many times.
const EXPANDED_BYTES_MAX: usize = 4 * 1024 * 1024;

impl Template {
    /// Reads a file: an optional head between `---` lines with `description: ...`, then the text.
    pub fn parse(name: &str, source: &str, text: &str) -> Template {
        let (head, body) = split_head(text);
        let described = head.lines().find_map(|line| line.strip_prefix("description:"));
        let first = || body.lines().map(str::trim).find(|line| !line.is_empty());
        let description = described.map(|it| it.trim().trim_matches(['"', '\''])).or_else(first);
        Template {
            name: name.into(),
            description: description.filter(|it| !it.is_empty()).map(shorten).map(Into::into),
            source: source.into(),
            body: body.trim().into(),
        }
    }

    /// The prompt with the words in their places.
    pub fn expand(&self, args: &str) -> String {
        let words = words(args);
        let all = words.join(" ");
        let mut out = String::new();
        let mut rest = &*self.body;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits > 0 {
                let nth: Option<usize> = rest[..digits].parse().ok();
                let word = nth.and_then(|nth| nth.checked_sub(1)).and_then(|at| words.get(at));
                out.push_str(word.map_or("", String::as_str));
                rest = &rest[digits..];
            } else if let Some(after) = rest.strip_prefix('@').or_else(|| rest.strip_prefix("ARGUMENTS")) {
                out.push_str(&all);
                rest = after;
            } else {
                out.push('$');
            }
            if out.len() > EXPANDED_BYTES_MAX {
                break;
            }
        }
        out.push_str(rest);
        let cut = (0..=EXPANDED_BYTES_MAX.min(out.len())).rev().find(|at| out.is_char_boundary(*at));
        out.truncate(cut.unwrap_or(0));
        out
    }
}

fn split_head(text: &str) -> (&str, &str) {
    let inside = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    match inside.and_then(|inside| inside.split_once("\n---")) {
        Some((head, after)) => (head, after.split_once('\n').map_or("", |(_, body)| body)),
        None => ("", text),
    }
}

fn shorten(text: &str) -> &str {
    const SHOWN_CHARS_MAX: usize = 100;
    text.char_indices().nth(SHOWN_CHARS_MAX).map_or(text, |(cut, _)| &text[..cut])
}

/// Splits as a shell would: quotes keep words together and are dropped.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut open) = (String::new(), None, false);
    for letter in text.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            Some(_) => word.push(letter),
            None if matches!(letter, '"' | '\'') => {
                quote = Some(letter);
                open = true;
            }
            None if letter.is_whitespace() => {
                if open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            None => word.push(letter),
        }
    }
    if open || !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_where_the_text_wants_them() {
        let template = Template::parse(
            "greet",
            "greet.md",
            "---\ndescription: Say hi\n---\nHello $1, and $2. All: $@ / $ARGUMENTS $x $",
        );
        assert_eq!(template.description.as_deref(), Some("Say hi"));
        assert_eq!(
            template.expand("you 'all of them'"),
            "Hello you, and all of them. All: you all of them / you all of them $x $"
        );
        assert_eq!(template.expand(""), "Hello , and . All:  /  $x $");
    }

    #[test]
    fn a_file_without_a_head_is_described_by_its_first_line() {
        let template = Template::parse("x", "x.md", "\nReview this.\nCarefully.\n");
        assert_eq!(template.description.as_deref(), Some("Review this."));
        assert_eq!(template.expand("ignored"), "Review this.\nCarefully.");
    }

    #[test]
    fn words_used_many_times_do_not_fill_the_memory() {
        let template = Template::parse("x", "x.md", &"$@".repeat(100_000));
        assert!(template.expand(&"y".repeat(10_000)).len() <= EXPANDED_BYTES_MAX);
    }
}
