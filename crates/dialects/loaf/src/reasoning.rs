//! The reasoning of a running model call: the snapshot that every chunk repeats, and a title for the status line.

use wire::escape_plain_into;

/// The longest snapshot. Each chunk carries it whole, so without a bound the cost of a thought would grow with the thoughts
/// before it; of a longer one the end is kept.
const SNAPSHOT_BYTES_MAX: usize = 32 * 1024;
/// The longest title in a status line; the rest is cut.
const TITLE_CHARS_MAX: usize = 80;

#[derive(Default)]
pub(crate) struct Thought {
    /// Without the blanks that it began with.
    raw: String,
    escaped: Vec<u8>,
    /// Escaped bytes of the blanks at its end, which a snapshot does not show.
    trailing: usize,
    /// The newest heading, as some models write them.
    bold: Option<String>,
}

impl Thought {
    pub(crate) fn push(&mut self, delta: &str) {
        let delta = if self.raw.is_empty() { delta.trim_start() } else { delta };
        self.raw.push_str(delta);
        if delta.contains('*') {
            self.bold = last_bold(&self.raw).or(self.bold.take());
        }
        if self.raw.len() > SNAPSHOT_BYTES_MAX {
            self.shorten();
        } else {
            let word = delta.trim_end();
            escape_plain_into(word, &mut self.escaped);
            let before = self.escaped.len();
            escape_plain_into(&delta[word.len()..], &mut self.escaped);
            let blanks = self.escaped.len() - before;
            self.trailing = if word.is_empty() { self.trailing + blanks } else { blanks };
        }
    }

    /// Half of it goes, so that this is rare.
    fn shorten(&mut self) {
        let mut from = self.raw.len() - SNAPSHOT_BYTES_MAX / 2;
        while !self.raw.is_char_boundary(from) {
            from += 1;
        }
        self.raw = format!("…{}", self.raw[from..].trim_start());
        self.escaped.clear();
        let word = self.raw.trim_end();
        escape_plain_into(word, &mut self.escaped);
        let before = self.escaped.len();
        escape_plain_into(&self.raw[word.len()..], &mut self.escaped);
        self.trailing = self.escaped.len() - before;
    }

    /// Escaped, without the blanks around it.
    pub(crate) fn snapshot(&self) -> &[u8] {
        &self.escaped[..self.escaped.len() - self.trailing]
    }

    /// The newest heading, or else the first line of what was just said.
    pub(crate) fn title(&self, delta: &str) -> Option<String> {
        let line = || delta.lines().map(str::trim).find(|line| !line.is_empty());
        let title = self.bold.as_deref().or_else(line)?;
        Some(title.to_lowercase().chars().take(TITLE_CHARS_MAX).collect())
    }
}

/// The text of the last `**heading**` on one line.
fn last_bold(text: &str) -> Option<String> {
    let mut marks = text.rmatch_indices("**").map(|(at, _)| at);
    let mut end = marks.next()?;
    for start in marks {
        let inner = text.get(start + 2..end)?.trim();
        if !inner.is_empty() && !inner.contains('\n') {
            return Some(inner.to_owned());
        }
        end = start;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(deltas: &[&str]) -> (String, Vec<Option<String>>) {
        let mut thought = Thought::default();
        let titles = deltas
            .iter()
            .map(|delta| {
                thought.push(delta);
                thought.title(delta)
            })
            .collect();
        (String::from_utf8(thought.snapshot().to_vec()).unwrap(), titles)
    }

    #[test]
    fn a_snapshot_is_trimmed_and_grows() {
        assert_eq!(say(&["t1 ", "t2"]), ("t1 t2".into(), vec![Some("t1".into()), Some("t2".into())]));
        assert_eq!(say(&[" \n", "a", " ", "\n ", "b\" "]).0, r#"a \n b\""#);
        assert_eq!(say(&["a", "  ", " "]).0, "a");
        assert_eq!(say(&[" ", ""]), (String::new(), vec![None, None]));
    }

    #[test]
    fn a_heading_is_the_title_until_the_next_one() {
        let (_, titles) = say(&["**Look", "ing At** it", "\nmore", " **Next**"]);
        let titles: Vec<_> = titles.into_iter().map(Option::unwrap).collect();
        assert_eq!(titles, ["**look", "looking at", "looking at", "next"]);
    }

    #[test]
    fn a_long_thought_keeps_its_end() {
        let mut thought = Thought::default();
        for number in 0..20_000 {
            thought.push(&format!("w\u{e9}{number} "));
            assert!(thought.snapshot().len() <= SNAPSHOT_BYTES_MAX + 16);
        }
        let text = String::from_utf8(thought.snapshot().to_vec()).unwrap();
        assert!(text.starts_with('…') && text.ends_with("w\u{e9}19998 w\u{e9}19999"), "{}", text.len());
    }
}
