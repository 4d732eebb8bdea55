//! Turning file contents into what people and models see: cuts on character borders, unified diffs, snapshots,
//! counts of lines. Pure.

use similar::{ChangeTag, TextDiff};
use vocab::{Fact, FileDiff, FileEdit, SNAPSHOT_BYTES_MAX, Snapshot};

/// Larger texts get no diff and no count of changed lines: it would cost more than it tells.
pub(crate) const DIFF_BYTES_MAX: usize = 128 * 1024;

/// The start of `text`, at most `max` bytes, never half a character.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The start of `text`, at most `max` characters; `None` when it is not longer than that.
pub(crate) fn cut_chars(text: &str, max: usize) -> Option<&str> {
    text.char_indices().nth(max).map(|(at, _)| &text[..at])
}

/// `3 lines`, `1 line`.
pub(crate) fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

pub(crate) fn line_count(text: &str) -> usize {
    text.lines().count()
}

/// What would change, for the one who is asked.
pub(crate) struct Change {
    /// `(+3 -1)`
    pub(crate) counts: String,
    pub(crate) diff: Fact,
}

pub(crate) fn change(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<Change> {
    let Hunks { text, added, removed } = hunks(&diffable(before)?, &diffable(after)?);
    let diff = match (text.is_empty(), before, after) {
        (false, ..) => Fact::diff(path, &text),
        (true, None, _) => Fact::line(path, "a new, empty file"),
        (true, Some(_), None) => Fact::line(path, "an empty file, deleted"),
        (true, Some(_), Some(_)) => Fact::line(path, "nothing would change"),
    };
    Some(Change { counts: format!("(+{added} -{removed})"), diff })
}

/// What changes between two texts.
pub struct Hunks {
    /// As of a unified diff, without the lines that name the file.
    pub text: String,
    pub added: usize,
    pub removed: usize,
}

/// The changes from one text to another, whole lines, however long.
pub fn hunks(old: &str, new: &str) -> Hunks {
    let diff = TextDiff::from_lines(old, new);
    let (mut added, mut removed, mut text) = (0, 0, String::new());
    for hunk in diff.unified_diff().iter_hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Insert => '+',
                ChangeTag::Delete => '-',
            };
            added += usize::from(sign == '+');
            removed += usize::from(sign == '-');
            // One line each, also where a lone CR ends it.
            let line = change.value();
            text.push(sign);
            text.push_str(line.strip_suffix('\n').unwrap_or(line));
            text.push('\n');
            if !line.ends_with(['\n', '\r']) {
                text.push_str("\\ No newline at end of file\n");
            }
        }
    }
    Hunks { text, added, removed }
}

/// One side of a diff; `None` when it is too large to be worth it, or binary.
fn diffable(side: Option<&[u8]>) -> Option<String> {
    match side {
        None => Some(String::new()),
        Some(bytes) if bytes.len() > DIFF_BYTES_MAX || bytes.contains(&0) => None,
        Some(bytes) => String::from_utf8(bytes.to_vec()).ok(),
    }
}

/// A unified diff of one file.
pub(crate) fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<FileDiff> {
    let (old, new) = (diffable(before)?, diffable(after)?);
    let diff = TextDiff::from_lines(&old, &new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
    let name = |side: Option<&[u8]>, prefix| match side {
        None => "/dev/null".to_owned(),
        Some(_) if path.starts_with('/') => path.to_owned(),
        Some(_) => format!("{prefix}/{path}"),
    };
    Some(FileDiff {
        path: path.into(),
        added: count(ChangeTag::Insert),
        removed: count(ChangeTag::Delete),
        patch: diff.unified_diff().header(&name(before, "a"), &name(after, "b")).to_string(),
    })
}

/// One file before and after, as far as it is kept for undo.
pub(crate) fn file_edit(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> FileEdit {
    FileEdit { path: path.into(), before: snapshot(before), after: snapshot(after) }
}

fn snapshot(bytes: Option<&[u8]>) -> Snapshot {
    let Some(bytes) = bytes else { return Snapshot::Absent };
    if bytes.len() > SNAPSHOT_BYTES_MAX || bytes.contains(&0) {
        return Snapshot::NotKept;
    }
    std::str::from_utf8(bytes).map_or(Snapshot::NotKept, |text| Snapshot::Text(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_on_character_borders() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut_chars("aéb", 2), Some("aé"));
        assert_eq!(cut_chars("aé", 2), None);
    }

    #[test]
    fn a_large_or_binary_file_is_not_kept() {
        assert_eq!(snapshot(None), Snapshot::Absent);
        assert_eq!(snapshot(Some(b"a\0b")), Snapshot::NotKept);
        assert_eq!(snapshot(Some(b"\xff")), Snapshot::NotKept);
        assert_eq!(snapshot(Some(&vec![b'a'; SNAPSHOT_BYTES_MAX + 1])), Snapshot::NotKept);
        assert_eq!(snapshot(Some(b"a")), Snapshot::Text("a".into()));
    }

    #[test]
    fn a_change_is_told_whole_line_by_line() {
        let far = format!("x = 1{}; evil()\n", " ".repeat(500));
        let change = change("a.py", Some(b"x = 1\nend"), Some(format!("{far}y\rz\nend").as_bytes())).unwrap();
        assert_eq!(change.counts, "(+3 -1)");
        let hunks = format!("@@ -1,2 +1,4 @@\n-x = 1\n+{far}+y\r\n+z\n end\n\\ No newline at end of file\n");
        assert_eq!(change.diff, Fact::diff("a.py", &hunks));
        let of = |before: Option<&[u8]>| super::change("a", before, Some(b"")).map(|it| it.diff.text.to_string());
        assert_eq!(of(None).as_deref(), Some("a new, empty file"));
        assert_eq!(of(Some(b"")).as_deref(), Some("nothing would change"));
    }
}
