//! Text on its way to a screen: broken at words, as it comes, and never behind the screen's back. What was printed of a
//! word that turns out not to fit is taken back and printed again in the next row.

use unicode_width::UnicodeWidthChar;

/// Columns between two tab stops of a terminal.
const TAB_COLS: usize = 8;
/// A row goes on below the first letter of its line, but not further right than this part of the screen.
const INDENT_PART: usize = 3;
/// Ends the parameters of an escape sequence of ours.
const ESCAPE_ENDS: std::ops::RangeInclusive<char> = '@'..='~';

#[derive(Debug)]
pub(super) struct WordWrap {
    /// Where the cursor is.
    col: usize,
    /// The word that is being written, with the colours in it, and where it begins.
    word: String,
    word_at: usize,
    /// Blanks in front of the line, repeated in front of its further rows.
    indent: usize,
    /// Only blanks were in this line so far.
    leading: bool,
    /// In the middle of an escape sequence.
    escape: bool,
}

impl Default for WordWrap {
    fn default() -> Self {
        Self { col: 0, word: String::new(), word_at: 0, indent: 0, leading: true, escape: false }
    }
}

impl WordWrap {
    pub(super) fn col(&self) -> usize {
        self.col
    }

    /// The screen has another width; a row that was longer goes on in further ones, as terminals do it.
    pub(super) fn resized(&mut self, cols: usize) {
        if self.col > cols {
            self.col %= cols.max(1);
            // The word may be spread over rows, and cannot be moved any more.
            self.word.clear();
            self.word_at = self.col;
            self.indent = self.indent.min(self.col);
        }
    }

    /// The line was ended by other means.
    pub(super) fn ended(&mut self) {
        *self = Self::default();
    }

    /// What has to be written for `text` on a screen of this width.
    pub(super) fn push(&mut self, text: &str, cols: usize, out: &mut String) {
        for c in text.chars() {
            match c {
                _ if self.escape => {
                    self.word.push(c);
                    out.push(c);
                    self.escape = c == '[' || !ESCAPE_ENDS.contains(&c);
                }
                '\x1b' => {
                    self.word.push(c);
                    out.push(c);
                    self.escape = true;
                }
                '\n' => {
                    out.push('\n');
                    self.ended();
                }
                ' ' => self.blank(cols, out),
                '\t' => (0..TAB_COLS - self.col % TAB_COLS).for_each(|_| self.blank(cols, out)),
                c => self.letter(c, cols, out),
            }
        }
    }

    fn blank(&mut self, cols: usize, out: &mut String) {
        self.word.clear();
        if self.col < cols {
            out.push(' ');
            self.col += 1;
            if self.leading && self.indent < cols / INDENT_PART {
                self.indent += 1;
            }
        }
        self.word_at = self.col;
    }

    fn letter(&mut self, c: char, cols: usize, out: &mut String) {
        let width = c.width().unwrap_or(0);
        if self.col + width > cols {
            self.next_row(out);
        }
        self.leading = false;
        self.word.push(c);
        out.push(c);
        self.col += width;
    }

    /// The word goes to the next row, whole if it did not begin this one.
    fn next_row(&mut self, out: &mut String) {
        let moves = self.word_at > self.indent;
        let word = std::mem::take(&mut self.word);
        if moves && self.word_at < self.col {
            out.push_str(&format!("\x1b[{}G\x1b[K", self.word_at + 1));
        }
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', self.indent));
        let letters = self.col - self.word_at;
        (self.word_at, self.col) = (self.indent, self.indent);
        if moves {
            out.push_str(&word);
            self.col += letters;
            self.word = word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_screen::TestScreen;

    /// What a screen of this width shows of these pieces.
    fn shown(cols: usize, pieces: &[&str]) -> String {
        let (mut wrap, mut screen) = (WordWrap::default(), TestScreen::new(cols));
        for piece in pieces {
            let mut out = String::new();
            wrap.push(piece, cols, &mut out);
            screen.write(&out);
            assert_eq!(wrap.col(), screen.col(), "after {piece:?} in {pieces:?}");
        }
        screen.text()
    }

    #[test]
    fn rows_break_at_words_however_the_text_arrives() {
        let text = "the quick brown fox jumps over the lazy dog";
        let rows = "the quick\nbrown fox\njumps over\nthe lazy\ndog";
        assert_eq!(shown(10, &[text]), rows);
        let letters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(shown(10, &letters.iter().map(String::as_str).collect::<Vec<_>>()), rows);
    }

    #[test]
    fn a_word_that_no_row_holds_is_broken_and_the_rest_goes_on_behind_it() {
        assert_eq!(shown(10, &["a abcdefghijklmno xy"]), "a\nabcdefghij\nklmno xy");
        assert_eq!(shown(10, &["abcdefghij", "klm"]), "abcdefghij\nklm");
    }

    #[test]
    fn further_rows_stand_below_the_first_letter() {
        assert_eq!(shown(12, &["  one two three four\nfive six seven"]), "  one two\n  three four\nfive six\nseven");
    }

    #[test]
    fn colours_and_wide_letters_take_the_room_they_take() {
        assert_eq!(shown(10, &["\x1b[2mone two \x1b[1mthree\x1b[0m four"]), "one two\nthree four");
        assert_eq!(shown(10, &["日本語 日本語"]), "日本語\n日本語");
        assert_eq!(shown(10, &["e\u{301}galite\u{301} bon"]), "e\u{301}galite\u{301}\nbon");
    }

    #[test]
    fn a_row_that_is_exactly_full_ends_where_its_line_does() {
        assert_eq!(shown(10, &["0123456789\nnext"]), "0123456789\nnext");
        assert_eq!(shown(10, &["012345 789 next"]), "012345 789\nnext");
    }
}
