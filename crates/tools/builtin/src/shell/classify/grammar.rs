//! How one command reads its words: a closed grammar. What is not in it is not recognised.
//!
//! One promise carries the rest: a word that begins with `-` is an option that the grammar names, in a spelling that it
//! names, and nothing else. So it does not matter where a program looks for its options (behind operands, behind `--`,
//! among the letters of another option): there are no others.

use super::lexer::Word;

/// Options and operands of one command.
#[derive(Clone, Copy)]
pub(super) struct Grammar {
    /// Letters without a value; they may be joined (`-la`).
    pub(super) flags: &'static str,
    /// Letters with a value, which stands behind the letter or in the next word.
    pub(super) values: &'static str,
    /// Letters whose value, if there is one, stands behind the letter.
    pub(super) glued: &'static str,
    /// Long options without a value. All long options are spelled out; abbreviations are not recognised.
    pub(super) long: &'static [&'static str],
    /// Long options with a value, behind `=` or in the next word.
    pub(super) long_values: &'static [&'static str],
    /// Long options whose value, if there is one, stands behind `=`.
    pub(super) long_glued: &'static [&'static str],
    /// Long options that take the next two words.
    pub(super) pairs: &'static [&'static str],
    /// `-5` is a count.
    pub(super) count: bool,
    /// Each letter is a word of its own.
    pub(super) unjoined: bool,
    /// The value of a letter is always the next word, wherever the letter stands in its word: letters with values
    /// stand alone.
    pub(super) values_apart: bool,
    /// More operands than this are not recognised. Where there is a limit, options come first: not every program finds
    /// them behind operands.
    pub(super) operands_max: usize,
}

/// A command without options.
pub(super) const PLAIN: Grammar = Grammar {
    flags: "",
    values: "",
    glued: "",
    long: &[],
    long_values: &[],
    long_glued: &[],
    pairs: &[],
    count: false,
    unjoined: false,
    values_apart: false,
    operands_max: usize::MAX,
};

impl Grammar {
    pub(super) fn fits(&self, words: &[Word]) -> bool {
        self.operands(words).is_some()
    }

    /// The operands, if every word is understood.
    pub(super) fn operands<'w>(&self, words: &'w [Word]) -> Option<Vec<&'w Word>> {
        let limited = self.operands_max < usize::MAX;
        let mut operands = Vec::new();
        let mut rest = words.iter();
        let mut only_operands = false;
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            if !text.starts_with('-') || text == "-" {
                // A pattern is as many operands as there are files.
                if limited && (word.glob || operands.len() == self.operands_max) {
                    return None;
                }
                operands.push(word);
            } else if only_operands || (limited && !operands.is_empty()) {
                return None;
            } else if text == "--" {
                only_operands = true;
            } else {
                for _ in 0..self.option(word)? {
                    rest.next().filter(|value| is_value(value))?;
                }
            }
        }
        Some(operands)
    }

    /// How many of the next words belong to this option; `None` if it is not known.
    fn option(&self, word: &Word) -> Option<usize> {
        if let Some(long) = word.text.strip_prefix("--") {
            return self.long_option(long, word.glob);
        }
        // A pattern may stand for a file whose name continues the option.
        let letters = word.text.get(1..).filter(|_| !word.glob)?;
        if self.count && letters.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(0);
        }
        if self.unjoined && letters.chars().count() > 1 && !letters.starts_with(|c| self.takes_value(c)) {
            return None;
        }
        for (at, letter) in letters.char_indices() {
            let behind = &letters[at + letter.len_utf8()..];
            if self.values.contains(letter) {
                let alone = at == 0 && behind.is_empty();
                return (alone || !self.values_apart).then_some(usize::from(behind.is_empty()));
            }
            if self.glued.contains(letter) {
                return Some(0);
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(0)
    }

    fn takes_value(&self, letter: char) -> bool {
        self.values.contains(letter) || self.glued.contains(letter)
    }

    fn long_option(&self, text: &str, glob: bool) -> Option<usize> {
        match text.split_once('=') {
            // A pattern here stands for files whose names begin with the same option.
            Some((name, _)) => (self.long_values.contains(&name) || self.long_glued.contains(&name)).then_some(0),
            None if glob => None,
            None if self.long.contains(&text) || self.long_glued.contains(&text) => Some(0),
            None if self.long_values.contains(&text) => Some(1),
            None => self.pairs.contains(&text).then_some(2),
        }
    }
}

/// Whether a word can be the value of an option in front of it: it is one word, and no program takes it for an option.
pub(super) fn is_value(word: &Word) -> bool {
    let number = |text: &str| {
        let digits = text.trim_end_matches(['c', 'k', 'K', 'M', 'G']);
        text.len() - digits.len() <= 1 && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    !word.glob && word.text.strip_prefix('-').is_none_or(number)
}
