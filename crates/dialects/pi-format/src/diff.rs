//! What a call changed in files, as pi's hosts show it: numbered lines with `+`, `-` or a blank before them.

use std::fmt::Write as _;

use similar::{Algorithm, ChangeTag, DiffTag, capture_diff_slices};
use vocab::{FileEdit, Snapshot};

/// Unchanged lines that are shown around a change.
const CONTEXT_LINES: usize = 4;
/// Lines that are compared one by one. Where more differ, the old ones are shown as gone and the new ones as come: a
/// comparison takes time with the square of them, and every look at the log makes it anew.
const COMPARED_LINES_MAX: usize = 1000;
/// Bytes of a diff; the rest is left out with a word.
const DIFF_BYTES_MAX: usize = 64 * 1024;

/// `details` of a call that changed files.
#[derive(Debug, PartialEq)]
pub(crate) struct EditDiff {
    pub(crate) diff: String,
    /// In the new text of the first file.
    pub(crate) first_changed_line: Option<usize>,
}

impl EditDiff {
    /// `None` where nothing can be shown: no text is known from before or after.
    pub(crate) fn of(edits: &[FileEdit]) -> Option<Self> {
        let shown: Vec<(&str, EditDiff)> = edits.iter().filter_map(|edit| Some((&*edit.path, of_one(edit)?))).collect();
        let first_changed_line = shown.first()?.1.first_changed_line;
        let mut diff = match &shown[..] {
            [(_, only)] => only.diff.clone(),
            // Of several files each has its name above it.
            several => several.iter().map(|(path, it)| format!("{path}\n{}", it.diff)).collect::<Vec<_>>().join("\n"),
        };
        shorten(&mut diff);
        Some(Self { diff, first_changed_line })
    }
}

fn shorten(diff: &mut String) {
    if diff.len() > DIFF_BYTES_MAX {
        let cut = diff[..diff.floor_char_boundary(DIFF_BYTES_MAX)].rfind('\n').unwrap_or(0);
        let left_out = diff[cut..].lines().count().saturating_sub(1);
        diff.truncate(cut);
        let _ = write!(diff, "\n ... {left_out} more lines");
    }
}

fn of_one(edit: &FileEdit) -> Option<EditDiff> {
    let text = |side: &'_ Snapshot| match side {
        Snapshot::Absent => Some(String::new()),
        // As pi compares: what ends a line is no difference.
        Snapshot::Text(text) => Some(text.replace("\r\n", "\n")),
        Snapshot::NotKept => None,
    };
    let (before, after) = (text(&edit.before)?, text(&edit.after)?);
    let changes = compare(&before, &after);
    let width = before.split('\n').count().max(after.split('\n').count()).to_string().len();
    let mut page = DiffText { width, old: 1, new: 1, lines: Vec::new(), first: None };
    let mut rest = &changes[..];
    while let Some((tag, _)) = rest.first() {
        let length =
            rest.iter().take_while(|(other, _)| (*other == ChangeTag::Equal) == (*tag == ChangeTag::Equal)).count();
        let (block, behind) = rest.split_at(length);
        if *tag == ChangeTag::Equal {
            page.same(block, block.len() < changes.len() - behind.len(), !behind.is_empty());
        } else {
            block.iter().for_each(|(tag, line)| page.changed(*tag, line));
        }
        rest = behind;
    }
    Some(EditDiff { diff: page.lines.join("\n"), first_changed_line: page.first })
}

/// Every line with what became of it. What both begin and end with is not compared.
fn compare<'a>(before: &'a str, after: &'a str) -> Vec<(ChangeTag, &'a str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_mid, new_mid) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let equal = |lines: &[&'a str]| lines.iter().map(|line| (ChangeTag::Equal, *line)).collect::<Vec<_>>();
    let mut all = equal(&old[..head]);
    if old_mid.len() + new_mid.len() > COMPARED_LINES_MAX {
        all.extend(old_mid.iter().map(|line| (ChangeTag::Delete, *line)));
        all.extend(new_mid.iter().map(|line| (ChangeTag::Insert, *line)));
    } else {
        for op in capture_diff_slices(Algorithm::Myers, old_mid, new_mid) {
            let (tag, gone, come) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                all.extend(equal(&old_mid[gone]));
            } else {
                all.extend(old_mid[gone].iter().map(|line| (ChangeTag::Delete, *line)));
                all.extend(new_mid[come].iter().map(|line| (ChangeTag::Insert, *line)));
            }
        }
    }
    all.extend(equal(&old_rest[old_rest.len() - tail..]));
    all
}

struct DiffText {
    width: usize,
    old: usize,
    new: usize,
    lines: Vec<String>,
    first: Option<usize>,
}

impl DiffText {
    fn changed(&mut self, tag: ChangeTag, line: &str) {
        self.first.get_or_insert(self.new);
        let width = self.width;
        if tag == ChangeTag::Insert {
            self.lines.push(format!("+{:>width$} {line}", self.new));
            self.new += 1;
        } else {
            self.lines.push(format!("-{:>width$} {line}", self.old));
            self.old += 1;
        }
    }

    /// Lines between changes: a few on each side that has one.
    fn same(&mut self, block: &[(ChangeTag, &str)], follows_change: bool, precedes_change: bool) {
        let after = if follows_change { CONTEXT_LINES } else { 0 };
        let before = if precedes_change { CONTEXT_LINES } else { 0 };
        if block.len() <= after + before {
            return self.plain(block);
        }
        self.plain(&block[..after]);
        if after + before > 0 {
            self.lines.push(format!(" {:width$} ...", "", width = self.width));
        }
        let skipped = block.len() - after - before;
        self.old += skipped;
        self.new += skipped;
        self.plain(&block[block.len() - before..]);
    }

    fn plain(&mut self, block: &[(ChangeTag, &str)]) {
        for (_, line) in block {
            self.lines.push(format!(" {:>width$} {line}", self.old, width = self.width));
            self.old += 1;
            self.new += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &str, before: Option<&str>, after: Option<&str>) -> FileEdit {
        let side = |text: Option<&str>| text.map_or(Snapshot::Absent, |text| Snapshot::Text(text.into()));
        FileEdit { path: path.into(), before: side(before), after: side(after) }
    }

    fn shown(before: Option<&str>, after: Option<&str>) -> (String, Option<usize>) {
        let changed = EditDiff::of(&[edit("a.txt", before, after)]).unwrap();
        (changed.diff, changed.first_changed_line)
    }

    #[test]
    fn a_change_is_shown_with_its_numbers_and_four_lines_around_it() {
        let before: String = (1..=20).map(|line| format!("l{line}\n")).collect();
        let after = before.replace("l9\n", "L9\nL9b\n");
        let want = "    ...\n  5 l5\n  6 l6\n  7 l7\n  8 l8\n- 9 l9\n+ 9 L9\n+10 L9b\n 10 l10\n 11 l11\n 12 l12\n 13 l13\n    ...";
        assert_eq!(shown(Some(&before), Some(&after)), (want.to_owned(), Some(9)));
    }

    #[test]
    fn changes_far_apart_have_a_gap_between_them() {
        let before: String = (1..=12).map(|line| format!("l{line}\n")).collect();
        let after = before.replace("l1\n", "A\n").replace("l12\n", "Z\n");
        let want =
            "- 1 l1\n+ 1 A\n  2 l2\n  3 l3\n  4 l4\n  5 l5\n    ...\n  8 l8\n  9 l9\n 10 l10\n 11 l11\n-12 l12\n+12 Z";
        assert_eq!(shown(Some(&before), Some(&after)), (want.to_owned(), Some(1)));
    }

    #[test]
    fn a_new_file_has_come_and_a_deleted_one_is_gone() {
        assert_eq!(shown(None, Some("a\nb\n")), ("+1 a\n+2 b".into(), Some(1)));
        assert_eq!(shown(Some("a\n"), None), ("-1 a".into(), Some(1)));
        assert_eq!(shown(Some("a\r\n"), Some("a\n")), (String::new(), None));
    }

    #[test]
    fn several_files_have_their_names_above_them() {
        let two = [edit("a", Some("x\n"), Some("y\n")), edit("b", None, Some("z\n"))];
        assert_eq!(EditDiff::of(&two).unwrap().diff, "a\n-1 x\n+1 y\nb\n+1 z");
        let binary = FileEdit { before: Snapshot::NotKept, ..edit("c", None, None) };
        assert_eq!(EditDiff::of(&[binary]), None);
        assert_eq!(EditDiff::of(&[]), None);
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let (old, new): (String, String) =
            ((0..600).map(|n| format!("a{n}\n")).collect(), (0..600).map(|n| format!("a{}\n", n + 1000)).collect());
        let (diff, first) = shown(Some(&old), Some(&new));
        assert_eq!((diff.lines().count(), first), (1200, Some(1)));
        let long = format!("{}\n", "x".repeat(1000)).repeat(200);
        let (diff, _) = shown(None, Some(&long));
        assert!(diff.len() <= DIFF_BYTES_MAX + 100 && diff.ends_with("more lines"), "{}", diff.len());
        let told: usize = diff.rsplit("... ").next().unwrap().split(' ').next().unwrap().parse().unwrap();
        assert_eq!(diff.lines().count() - 1 + told, 200);
    }
}
