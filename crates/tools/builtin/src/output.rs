//! Turning file contents into what people and models see: cuts on character borders, unified diffs, snapshots,
//! counts of lines. Pure.

use similar::{ChangeTag, TextDiff};
use vocab::{Fact, FileDiff, FileEdit, SNAPSHOT_BYTES_MAX, Snapshot};

/// A side of a change that is longer, from its first line that differs to its last, gets no diff and no count of lines: it
/// would cost more than it tells. How long the file around it is does not matter.
pub(crate) const DIFF_BYTES_MAX: usize = 128 * 1024;
/// A larger file is not read before a call is allowed.
pub(crate) const PREVIEW_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Why somebody who is asked sees no diff.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoDiff {
    Binary,
    TooMuch,
    TooLarge,
    /// It is outside, or cannot be read.
    Unread,
}

impl NoDiff {
    pub(crate) fn why(self) -> String {
        match self {
            Self::Binary => "it is not text".to_owned(),
            Self::TooMuch => format!("more than {DIFF_BYTES_MAX} bytes would change"),
            Self::TooLarge => format!("the file is larger than {PREVIEW_BYTES_MAX} bytes"),
            Self::Unread => "the file is not read before you allow it".to_owned(),
        }
    }
}

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
pub(crate) struct ChangePreview {
    /// `(+3 -1)`
    pub(crate) counts: String,
    pub(crate) diff: Fact,
}

pub(crate) fn change(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<ChangePreview, NoDiff> {
    let (old, new) = diffable(before, after)?;
    let Hunks { text, added, removed } = hunks(old, new);
    let diff = match (text.is_empty(), before, after) {
        (false, ..) => Fact::diff(path, &text),
        (true, None, _) => Fact::line(path, "a new, empty file"),
        (true, Some(_), None) => Fact::line(path, "an empty file, deleted"),
        (true, Some(_), Some(_)) => Fact::line(path, "nothing would change"),
    };
    Ok(ChangePreview { counts: format!("(+{added} -{removed})"), diff })
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
    // A lone CR ends no line: an editor may show it as one, the next program does not.
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let diff = TextDiff::from_slices(&old, &new);
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
            let line = change.value();
            text.push(sign);
            text.push_str(line.strip_suffix('\n').unwrap_or(line));
            text.push('\n');
            if !line.ends_with('\n') {
                text.push_str("\\ No newline at end of file\n");
            }
        }
    }
    Hunks { text, added, removed }
}

/// Both sides of a diff.
fn diffable<'a>(before: Option<&'a [u8]>, after: Option<&'a [u8]>) -> Result<(&'a str, &'a str), NoDiff> {
    let text = |side: Option<&'a [u8]>| match side {
        None => Ok(""),
        Some(bytes) if bytes.contains(&0) => Err(NoDiff::Binary),
        Some(bytes) => std::str::from_utf8(bytes).map_err(|_| NoDiff::Binary),
    };
    let (old, new) = (text(before)?, text(after)?);
    let longest = old.len().max(new.len());
    // Looking for what is the same costs nothing beside the comparison, and most large files change in one place.
    match longest <= DIFF_BYTES_MAX || longest - same_around(old, new) <= DIFF_BYTES_MAX {
        true => Ok((old, new)),
        false => Err(NoDiff::TooMuch),
    }
}

/// Bytes of the lines that both texts begin and end with.
fn same_around(old: &str, new: &str) -> usize {
    let same = |(old, new): &(&str, &str)| old == new;
    let bytes = |pairs: &mut dyn Iterator<Item = (&str, &str)>| pairs.map(|(line, _)| line.len()).sum::<usize>();
    let head = bytes(&mut old.split_inclusive('\n').zip(new.split_inclusive('\n')).take_while(same));
    let (old, new) = (old[head..].split_inclusive('\n').rev(), new[head..].split_inclusive('\n').rev());
    head + bytes(&mut old.zip(new).take_while(same))
}

/// A unified diff of one file.
pub(crate) fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<FileDiff> {
    let (old, new) = diffable(before, after).ok()?;
    let Hunks { text, added, removed } = hunks(old, new);
    let name = |side: Option<&[u8]>, prefix| match side {
        None => "/dev/null".to_owned(),
        Some(_) if path.starts_with('/') => path.to_owned(),
        Some(_) => format!("{prefix}/{path}"),
    };
    let patch = match text.is_empty() {
        true => text,
        false => format!("--- {}\n+++ {}\n{text}", name(before, "a"), name(after, "b")),
    };
    Some(FileDiff { path: path.into(), added: added as u64, removed: removed as u64, patch })
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
        let change = change("a.py", Some(b"x = 1\nend"), Some(format!("{far}y\rz\nend").as_bytes())).ok().unwrap();
        assert_eq!(change.counts, "(+2 -1)");
        let hunks = format!("@@ -1,2 +1,3 @@\n-x = 1\n+{far}+y\rz\n end\n\\ No newline at end of file\n");
        assert_eq!(change.diff, Fact::diff("a.py", &hunks));
        let of = |before: Option<&[u8]>| super::change("a", before, Some(b"")).ok().map(|it| it.diff.text.to_string());
        assert_eq!(of(None).as_deref(), Some("a new, empty file"));
        assert_eq!(of(Some(b"")).as_deref(), Some("nothing would change"));
        let cr = super::change("a", None, Some(b"a\r")).ok().map(|it| it.diff.text.to_string());
        assert_eq!(cr.as_deref(), Some("@@ -0,0 +1 @@\n+a\r\n\\ No newline at end of file\n"));
    }

    #[test]
    fn how_much_changes_decides_about_a_diff_not_how_long_the_file_is() {
        let long = "a line of many\n".repeat(DIFF_BYTES_MAX);
        let (old, new) = (format!("{long}x\n{long}"), format!("{long}y\n{long}"));
        let told = change("a", Some(old.as_bytes()), Some(new.as_bytes())).ok().unwrap();
        assert_eq!(told.counts, "(+1 -1)");
        assert!(told.diff.text.contains("\n-x\n+y\n") && told.diff.text.lines().count() == 9, "{}", told.diff.text);
        let refused = |before: &[u8], after: &[u8]| change("a", Some(before), Some(after)).err();
        assert_eq!(refused(old.as_bytes(), b"short"), Some(NoDiff::TooMuch));
        assert_eq!(refused(b"short", new.as_bytes()), Some(NoDiff::TooMuch));
        assert_eq!(refused(b"a\0", b"b"), Some(NoDiff::Binary));
        assert_eq!(same_around("a\na\n", "a\na\na\n"), 4, "no line counts twice");
    }
}
