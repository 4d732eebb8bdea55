//! The output of a user's command as it grows. The engine tells the end of it, again and again; hosts add up what is new.

use std::collections::HashMap;

use vocab::{Shell, Tag};

/// Bytes that two looks at a long output have in common at least; fewer are alike by chance.
const COMMON_BYTES_MIN: usize = 32;
/// Stands in the deltas where output came faster than it was told.
const LEFT_OUT: &str = "\n[... output left out here]\n";

/// What each running command was last seen to have said.
#[derive(Default)]
pub(crate) struct Outputs {
    seen: HashMap<Tag, String>,
}

impl Outputs {
    /// What is new in this look at the output.
    pub(crate) fn grown(&mut self, tag: Tag, text: &str) -> String {
        let before = self.seen.entry(tag).or_default();
        let known = overlap(before, text);
        let new = match known < before.len().min(COMMON_BYTES_MIN) {
            true => format!("{LEFT_OUT}{text}"),
            false => text[known..].to_owned(),
        };
        text.clone_into(before);
        new
    }

    /// What nobody was told when the command had come out.
    pub(crate) fn ended(&mut self, tag: Tag, shell: &Shell) -> String {
        let before = self.seen.remove(&tag).unwrap_or_default();
        if let Some(rest) = shell.output.strip_prefix(&*before) {
            return rest.to_owned();
        }
        // Of an output that was cut its end is shown here, and what was told last may stand in it.
        let last = &before[before.ceil_char_boundary(before.len().saturating_sub(COMMON_BYTES_MIN))..];
        match shell.output.rfind(last) {
            Some(at) => shell.output[at + last.len()..].to_owned(),
            None => LEFT_OUT.to_owned(),
        }
    }

    pub(crate) fn forget(&mut self, tag: Tag) {
        self.seen.remove(&tag);
    }
}

/// How many bytes at the start of `now` are the end of `before`: the window on a long output moves on. The longest such
/// piece, found in one pass (Knuth, Morris and Pratt).
fn overlap(before: &str, now: &str) -> usize {
    if now.starts_with(before) {
        return before.len();
    }
    let (pattern, text) = (now.as_bytes(), before.as_bytes());
    let mut borders = vec![0_usize; pattern.len()];
    let mut length = 0;
    for at in 1..pattern.len() {
        while length > 0 && pattern[at] != pattern[length] {
            length = borders[length - 1];
        }
        length += usize::from(pattern[at] == pattern[length]);
        borders[at] = length;
    }
    let mut matched = 0;
    for byte in text {
        while matched > 0 && (matched == pattern.len() || *byte != pattern[matched]) {
            matched = borders[matched - 1];
        }
        matched += usize::from(pattern.get(matched) == Some(byte));
    }
    now.floor_char_boundary(matched)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(output: &str) -> Shell {
        Shell {
            command: "x".into(),
            output: output.into(),
            exit_code: Some(0),
            cancelled: false,
            truncated: false,
            total_lines: 1,
            total_bytes: output.len() as u64,
            spilled: None,
            aside: false,
        }
    }

    #[test]
    fn all_deltas_together_are_the_output() {
        let mut outputs = Outputs::default();
        let told: String =
            ["one\n", "one\ntwo\n", "one\ntwo\n"].iter().map(|text| outputs.grown(Tag(1), text)).collect();
        assert_eq!(told, "one\ntwo\n");
        assert_eq!(outputs.ended(Tag(1), &shell("one\ntwo\nthree\n")), "three\n");
        assert_eq!(outputs.ended(Tag(2), &shell("at once\n")), "at once\n", "nothing was told before");
    }

    #[test]
    fn a_window_that_moves_on_repeats_nothing_and_says_what_it_jumped_over() {
        let mut outputs = Outputs::default();
        let lines = |from: u32, to: u32| (from..to).map(|n| format!("line {n} ä\n")).collect::<String>();
        assert_eq!(outputs.grown(Tag(1), &lines(0, 40)), lines(0, 40));
        assert_eq!(outputs.grown(Tag(1), &lines(30, 50)), lines(40, 50));
        assert_eq!(outputs.grown(Tag(1), &lines(90, 99)), format!("{LEFT_OUT}{}", lines(90, 99)));
        let cut = |last: u32| format!("{}[... cut]\n{}", lines(0, 9), lines(last - 20, last));
        assert_eq!(outputs.ended(Tag(1), &shell(&cut(105))), lines(99, 105), "they meet in the end of it");
        outputs.grown(Tag(2), &lines(30, 50));
        assert_eq!(outputs.ended(Tag(2), &shell(&cut(500))), LEFT_OUT, "the parts do not meet");
    }

    #[test]
    fn what_looks_alike_by_chance_is_no_overlap() {
        let mut outputs = Outputs::default();
        outputs.grown(Tag(1), &format!("{}12\n", "a".repeat(40)));
        assert_eq!(outputs.grown(Tag(1), "\n34"), format!("{LEFT_OUT}\n34"));
    }
}
