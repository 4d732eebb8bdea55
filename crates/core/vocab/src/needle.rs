//! Looking for a text in others as people do: upper and lower case are the same.

use std::ops::Range;

/// A text that is looked for, whatever the case of its letters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Needle(String);

impl Needle {
    pub fn new(text: &str) -> Self {
        Self(text.chars().flat_map(char::to_lowercase).collect())
    }

    pub fn is_in(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// Where it stands first, in bytes of `text`. One that is empty stands everywhere.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        if self.0.is_empty() {
            return Some(0..0);
        }
        if self.0.is_ascii() {
            let needle = self.0.as_bytes();
            let at = text.as_bytes().windows(needle.len()).position(|part| part.eq_ignore_ascii_case(needle))?;
            return Some(at..at + needle.len());
        }
        // Small letters of ASCII's are ASCII's.
        if text.is_ascii() {
            return None;
        }
        text.char_indices().find_map(|(at, _)| Some(at..at + self.length_at_start_of(&text[at..])?))
    }

    fn length_at_start_of(&self, text: &str) -> Option<usize> {
        let mut wanted = self.0.chars().peekable();
        for (at, letter) in text.char_indices() {
            if wanted.peek().is_none() {
                return Some(at);
            }
            // A letter that becomes two when it is small has to be there whole.
            if !letter.to_lowercase().all(|small| wanted.next() == Some(small)) {
                return None;
            }
        }
        wanted.peek().is_none().then_some(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_whatever_its_case_and_nowhere_else() {
        let found = |needle: &str, text: &str| Needle::new(needle).find(text).map(|at| text[at].to_owned());
        assert_eq!(found("PARSER", "the parser is"), Some("parser".into()));
        assert_eq!(found("parser", "the Parser"), Some("Parser".into()));
        assert_eq!(found("größe", "Die GRÖSSE, die GRÖßE"), Some("GRÖßE".into()));
        assert_eq!(found("Ü", "über"), Some("ü".into()));
        assert_eq!(found("ber", "Über"), Some("ber".into()));
        assert_eq!(found("%", "100 %"), Some("%".into()));
        assert_eq!(found("x", ""), None);
        assert_eq!(found("überall", "über"), None);
        assert_eq!(found("ab", "a b"), None);
        assert_eq!(found("", "anything"), Some(String::new()));
        assert_eq!(found("日本", "これは日本です"), Some("日本".into()));
    }
}
