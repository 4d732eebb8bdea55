//! The output of a user's command as it grows. The engine tells the end of it, again and again; hosts add up what is new.

use std::collections::HashMap;

use vocab::{Shell, Tag};

/// What each running command was last seen to have said.
#[derive(Default)]
pub(crate) struct Outputs {
    seen: HashMap<Tag, String>,
}

impl Outputs {
    /// What is new in this look at the output.
    pub(crate) fn grown(&mut self, tag: Tag, text: &str) -> String {
        let before = self.seen.entry(tag).or_default();
        let new = text[overlap(before, text)..].to_owned();
        text.clone_into(before);
        new
    }

    /// What nobody was told when the command had come out.
    pub(crate) fn ended(&mut self, tag: Tag, shell: &Shell) -> String {
        let before = self.seen.remove(&tag).unwrap_or_default();
        let known = overlap(&before, &shell.output);
        // Of an output that was cut, another part may be shown here than was told last.
        if known == 0 && !before.is_empty() { String::new() } else { shell.output[known..].to_owned() }
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
    fn a_window_that_moves_on_repeats_nothing() {
        let mut outputs = Outputs::default();
        assert_eq!(outputs.grown(Tag(1), "aab"), "aab");
        assert_eq!(outputs.grown(Tag(1), "abcd"), "cd");
        assert_eq!(outputs.grown(Tag(1), "xyz"), "xyz", "nothing of it is known");
        assert_eq!(outputs.grown(Tag(1), "zzä"), "zä");
        assert_eq!(outputs.ended(Tag(1), &shell("head ... tail")), "", "the parts do not meet");
    }
}
