//! One line as it is edited: a text, a cursor in it, and what was cut last.

use unicode_width::UnicodeWidthChar;

use super::keys::KeyPress;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct EditBuffer {
    text: String,
    /// The byte before which the cursor stands.
    at: usize,
    cut: String,
}

impl EditBuffer {
    pub(super) fn text(&self) -> &str {
        &self.text
    }
    pub(super) fn at(&self) -> usize {
        self.at
    }
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
    /// The cursor stands behind it.
    pub(super) fn set(&mut self, text: &str) {
        self.text = text.to_owned();
        self.at = self.text.len();
    }
    pub(super) fn take(&mut self) -> String {
        self.at = 0;
        std::mem::take(&mut self.text)
    }
    pub(super) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }
    /// Replaces what stands between `from` and the cursor.
    pub(super) fn replace(&mut self, from: usize, text: &str) {
        self.text.replace_range(from..self.at, text);
        self.at = from + text.len();
    }

    /// Whether the key means something in a line.
    pub(super) fn edit(&mut self, key: &KeyPress) -> bool {
        match key {
            KeyPress::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyPress::Paste(text) => self.insert(text),
            KeyPress::Break => self.insert("\n"),
            KeyPress::Backspace | KeyPress::Ctrl('h') => self.remove(self.left(), self.at),
            KeyPress::Delete => self.remove(self.at, self.right()),
            KeyPress::Left | KeyPress::Ctrl('b') => self.at = self.left(),
            KeyPress::Right | KeyPress::Ctrl('f') => self.at = self.right(),
            KeyPress::WordLeft => self.at = self.word_left(),
            KeyPress::WordRight => self.at = self.word_right(),
            KeyPress::Home | KeyPress::Ctrl('a') => self.at = self.row_start(),
            KeyPress::End | KeyPress::Ctrl('e') => self.at = self.row_end(),
            KeyPress::Ctrl('k') => self.cut(self.at, self.row_end().max(self.at)),
            KeyPress::Ctrl('u') => self.cut(self.row_start(), self.at),
            KeyPress::Ctrl('w') | KeyPress::WordBack => self.cut(self.word_left(), self.at),
            KeyPress::Ctrl('y') => self.insert(&self.cut.clone()),
            _ => return false,
        }
        true
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.at = from;
    }

    fn cut(&mut self, from: usize, to: usize) {
        if from < to {
            self.cut = self.text[from..to].to_owned();
            self.remove(from, to);
        }
    }

    /// One letter to the left, with the marks on it.
    fn left(&self) -> usize {
        let mut letters = self.text[..self.at].char_indices().rev();
        letters.find(|(_, c)| c.width() != Some(0)).map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        let mut letters = self.text[self.at..].char_indices().skip(1);
        letters.find(|(_, c)| c.width() != Some(0)).map_or(self.text.len(), |(at, _)| self.at + at)
    }

    fn word_left(&self) -> usize {
        let before = self.text[..self.at].trim_end_matches(|c: char| !c.is_alphanumeric());
        before.trim_end_matches(char::is_alphanumeric).len()
    }

    fn word_right(&self) -> usize {
        let after = self.text[self.at..].trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - after.trim_start_matches(char::is_alphanumeric).len()
    }

    /// To the row above, if there is one.
    pub(super) fn row_up(&mut self) -> bool {
        let start = self.row_start();
        let Some(above_end) = start.checked_sub(1) else { return false };
        let col = self.text[start..self.at].chars().count();
        let above = self.text[..above_end].rfind('\n').map_or(0, |at| at + 1);
        self.at = self.nth(above, above_end, col);
        true
    }

    /// To the row below, if there is one.
    pub(super) fn row_down(&mut self) -> bool {
        let end = self.row_end();
        if end == self.text.len() {
            return false;
        }
        let col = self.text[self.row_start()..self.at].chars().count();
        let below_end = self.text[end + 1..].find('\n').map_or(self.text.len(), |at| end + 1 + at);
        self.at = self.nth(end + 1, below_end, col);
        true
    }

    /// Where the letter of this number begins in a row, or the row's end.
    fn nth(&self, from: usize, to: usize, number: usize) -> usize {
        self.text[from..to].char_indices().nth(number).map_or(to, |(at, _)| from + at)
    }

    fn row_start(&self) -> usize {
        self.text[..self.at].rfind('\n').map_or(0, |at| at + 1)
    }

    fn row_end(&self) -> usize {
        self.text[self.at..].find('\n').map_or(self.text.len(), |at| self.at + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line after these keys, with the cursor as `|`.
    fn after(text: &str, keys: &[KeyPress]) -> String {
        let mut line = EditBuffer::default();
        line.set(text);
        keys.iter().for_each(|key| assert!(line.edit(key), "{key:?}"));
        format!("{}|{}", &line.text[..line.at], &line.text[line.at..])
    }

    #[test]
    fn keys_do_what_they_do_everywhere() {
        use KeyPress::*;
        assert_eq!(after("ab", &[Left, Char('x'), Home, Delete]), "|xb");
        assert_eq!(after("ab", &[Backspace, Backspace, Backspace]), "|");
        assert_eq!(after("one two.rs", &[WordLeft, WordLeft]), "one |two.rs");
        assert_eq!(after("one two three", &[Ctrl('w'), Home, Ctrl('y')]), "three|one two ");
        assert_eq!(after("one two", &[WordLeft, Ctrl('k'), Ctrl('u')]), "|");
        assert_eq!(after("one\ntwo", &[Home, Ctrl('u'), End, Break]), "one\ntwo\n|");
        assert_eq!(after("", &[Paste("a\nb".into()), Left]), "a\n|b");
    }

    #[test]
    fn rows_are_left_upwards_and_downwards_and_the_first_and_the_last_are_not() {
        let mut line = EditBuffer::default();
        line.set("one\nzwölf\nx");
        assert!(line.row_up());
        assert_eq!(&line.text[..line.at], "one\nz");
        line.edit(&KeyPress::End);
        assert!(line.row_up() && !line.row_up());
        assert_eq!(&line.text[..line.at], "one");
        assert!(line.row_down() && line.row_down() && !line.row_down());
        assert_eq!(line.at, line.text.len());
    }

    #[test]
    fn letters_go_with_their_marks() {
        assert_eq!(after("xe\u{301}", &[KeyPress::Backspace]), "x|");
        assert_eq!(after("e\u{301}x", &[KeyPress::Home, KeyPress::Right]), "e\u{301}|x");
    }
}
