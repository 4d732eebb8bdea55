//! What a call did to a file, as a unified diff that can be read and copied.

use std::ops::Range;

use similar::{ChangeTag, DiffOp, TextDiff};
use vocab::{FileEdit, Snapshot};

use super::blocks;
use super::escape::escape;
use super::figures::{count, plural};

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;
/// The work grows with the square of the lines that differ. With more of them between the first and the last difference
/// no lines are matched: the old ones go, the new ones come.
const MATCHED_LINES_MAX: usize = 4000;
/// A longer diff is folded away.
pub(super) const OPEN_LINES_MAX: usize = 80;

/// One file's change, ready to be shown.
pub(super) struct FileChange<'a> {
    path: &'a str,
    word: &'static str,
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) lines: usize,
    /// `None` when the contents were not kept.
    body: Option<String>,
}

impl<'a> FileChange<'a> {
    pub(super) fn of(edit: &'a FileEdit) -> Self {
        let word = match (&edit.before, &edit.after) {
            (Snapshot::Absent, _) => "created",
            (_, Snapshot::Absent) => "deleted",
            _ => "changed",
        };
        let mut change = FileChange { path: &edit.path, word, added: 0, removed: 0, lines: 0, body: None };
        if let (Some(before), Some(after)) = (text(&edit.before), text(&edit.after)) {
            change.compare(before, after);
        }
        change
    }

    fn compare(&mut self, before: &str, after: &str) {
        let mut out = String::new();
        self.name(&mut out, "--- ", "a/", self.word == "created");
        self.name(&mut out, "+++ ", "b/", self.word == "deleted");
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new: Vec<&str> = after.split_inclusive('\n').collect();
        let groups = groups(&old, &new);
        for group in &groups {
            self.hunk(&mut out, group, &old, &new);
        }
        self.body = Some(out);
    }

    fn name(&self, out: &mut String, mark: &str, prefix: &str, absent: bool) {
        out.push_str("<span class=\"dh\">");
        out.push_str(mark);
        match (absent, self.path.starts_with('/')) {
            (true, _) => out.push_str("/dev/null"),
            (false, absolute) => {
                out.push_str(if absolute { "" } else { prefix });
                escape(out, self.path);
            }
        }
        out.push_str("\n</span>");
    }

    fn hunk(&mut self, out: &mut String, group: &[DiffOp], old: &[&str], new: &[&str]) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        out.push_str(&format!("<span class=\"dm\">@@ -{} +{} @@\n</span>", place(&old_range), place(&new_range)));
        for op in group {
            let tag = op.tag();
            if tag == similar::DiffTag::Equal {
                self.take(out, ChangeTag::Equal, &new[op.new_range()]);
                continue;
            }
            self.take(out, ChangeTag::Delete, &old[op.old_range()]);
            self.take(out, ChangeTag::Insert, &new[op.new_range()]);
        }
    }

    fn take(&mut self, out: &mut String, tag: ChangeTag, lines: &[&str]) {
        self.lines += lines.len();
        let (open, close) = match tag {
            ChangeTag::Equal => (" ", ""),
            ChangeTag::Delete => ("<span class=\"dr\">-", "</span>"),
            ChangeTag::Insert => ("<span class=\"da\">+", "</span>"),
        };
        match tag {
            ChangeTag::Equal => {}
            ChangeTag::Delete => self.removed += lines.len(),
            ChangeTag::Insert => self.added += lines.len(),
        }
        for line in lines {
            out.push_str(open);
            escape(out, line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
            out.push_str(close);
        }
    }

    /// `+3 −1`
    pub(super) fn counts(&self) -> String {
        format!("+{} \u{2212}{}", count(self.added as u64), count(self.removed as u64))
    }

    pub(super) fn write(&self, out: &mut String) {
        out.push_str("<div class=\"file\"><code>");
        escape(out, self.path);
        out.push_str("</code> ");
        out.push_str(self.word);
        let Some(body) = &self.body else {
            out.push_str("; too large or not text: no diff</div>\n");
            return;
        };
        out.push_str(&format!(
            " <span class=\"plus\">+{}</span> <span class=\"minus\">\u{2212}{}</span></div>\n",
            count(self.added as u64),
            count(self.removed as u64)
        ));
        let pre = |out: &mut String| {
            out.push_str("<pre class=\"diff\"><code>");
            out.push_str(body);
            out.push_str("</code></pre>\n");
        };
        match self.lines <= OPEN_LINES_MAX {
            true => pre(out),
            false => blocks::fold(out, &format!("diff: {}", plural(self.lines as u64, "line")), pre),
        }
    }
}

fn text(side: &Snapshot) -> Option<&str> {
    match side {
        Snapshot::Absent => Some(""),
        Snapshot::Text(text) => Some(text),
        Snapshot::NotKept => None,
    }
}

/// Changes with the lines around them.
fn groups(old: &[&str], new: &[&str]) -> Vec<Vec<DiffOp>> {
    let before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = (&old[before..], &new[before..]);
    let after = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(old, new)| old == new).count();
    let (gone, come) = (rest.0.len() - after, rest.1.len() - after);
    if gone > 0 && come > 0 && gone + come > MATCHED_LINES_MAX {
        return vec![vec![
            DiffOp::Delete { old_index: before, old_len: gone, new_index: before },
            DiffOp::Insert { old_index: before + gone, new_index: before, new_len: come },
        ]];
    }
    TextDiff::from_slices(old, new).grouped_ops(CONTEXT_LINES)
}

/// Where a hunk stands, as `patch` wants it: counted from 1, or the line before when it is empty.
fn place(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        more => format!("{},{more}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn edit(before: Snapshot, after: Snapshot) -> FileEdit {
        FileEdit { path: "src/a.rs".into(), before, after }
    }

    fn kept(text: impl Into<String>) -> Snapshot {
        Snapshot::Text(text.into().into())
    }

    /// The diff as text, as the copy button takes it.
    fn patch(edit: &FileEdit) -> String {
        let mut body = FileChange::of(edit).body.unwrap();
        while let Some(at) = body.find('<') {
            let end = at + body[at..].find('>').unwrap() + 1;
            body.replace_range(at..end, "");
        }
        body.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    }

    #[test]
    fn a_change_reads_like_a_patch() {
        let old: String = (1..=9).map(|n| format!("{n}\n")).collect();
        let new = old.replace("5\n", "<five>\n");
        let wanted = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+<five>\n 6\n 7\n 8\n";
        assert_eq!(patch(&edit(kept(old), kept(new))), wanted);
    }

    #[test]
    fn coming_and_going_are_said() {
        let created = edit(Snapshot::Absent, kept("a\nb"));
        let wanted = "--- /dev/null\n+++ b/src/a.rs\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n";
        assert_eq!(patch(&created), wanted);
        assert_eq!(FileChange::of(&created).counts(), "+2 \u{2212}0");
        assert_eq!(FileChange::of(&edit(kept("a\n"), Snapshot::Absent)).word, "deleted");
        let mut out = String::new();
        FileChange::of(&edit(kept("a\n"), Snapshot::NotKept)).write(&mut out);
        assert!(out.contains("no diff"), "{out}");
    }

    #[test]
    fn two_strangers_are_not_matched_line_by_line() {
        let lines = |from: usize| (from..from + 40_000).map(|n| format!("{n}\n")).collect::<String>();
        let edit = edit(kept(lines(0)), kept(lines(100_000)));
        let start = Instant::now();
        let change = FileChange::of(&edit);
        assert_eq!((change.added, change.removed), (40_000, 40_000));
        // Matching them would take minutes.
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    }
}
