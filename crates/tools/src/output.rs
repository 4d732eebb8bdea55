//! Turning file contents into what people and models see: cuts on character borders, unified diffs, snapshots,
//! counts of lines. Pure.

use std::sync::Arc;

use similar::{ChangeTag, TextDiff};
use vocab::{FileDiff, FileEdit, SNAPSHOT_BYTES_MAX, Snapshot};

/// A longer preview is cut at a line and says so.
pub(crate) const PREVIEW_BYTES_MAX: usize = 16 * 1024;
/// Larger texts get no preview and no count of changed lines: a diff of them would cost more than it tells.
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
    pub(crate) preview: Arc<str>,
}

pub(crate) fn change(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<Change> {
    let diff = unified(path, before, after)?;
    Some(Change { counts: format!("(+{} -{})", diff.added, diff.removed), preview: preview(&diff.patch) })
}

/// A unified diff of one file. `None` when it is too large to be worth it, or binary.
pub(crate) fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<FileDiff> {
    let text = |side: Option<&[u8]>| match side {
        None => Some(String::new()),
        Some(bytes) if bytes.len() > DIFF_BYTES_MAX || bytes.contains(&0) => None,
        Some(bytes) => String::from_utf8(bytes.to_vec()).ok(),
    };
    let (old, new) = (text(before)?, text(after)?);
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

/// Cuts a preview at a line.
pub(crate) fn preview(text: &str) -> Arc<str> {
    if text.len() <= PREVIEW_BYTES_MAX {
        return text.into();
    }
    let head = cut(text, PREVIEW_BYTES_MAX);
    let head = head.rfind('\n').map_or(head, |at| &head[..=at]);
    format!("{head}[preview cut: {} of {} bytes]\n", head.len(), text.len()).into()
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
    fn a_long_preview_is_cut_at_a_line() {
        let text = "line\n".repeat(PREVIEW_BYTES_MAX);
        let cut = preview(&text);
        assert!(cut.len() < PREVIEW_BYTES_MAX + 100 && cut.contains("\n[preview cut"), "{}", cut.len());
    }
}
