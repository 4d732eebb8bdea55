//! A session file cut into rows: which lines there are, what they are called and what they hang on. Lenient: a line that
//! cannot be read is counted and left out. Versions 1 and 2 come out as version 3. What a row says is not looked at here.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use pi_format::transcript::{LineName, name_of_bytes};

use crate::fields::{Fields, line_text};
use crate::head::FileHead;

/// Larger files are refused: they are held in memory while they are read.
pub const FILE_BYTES_MAX: u64 = 512 << 20;
/// Longer names than any program writes are taken for damage.
const NAME_BYTES_MAX: usize = 128;

/// Begins a name that stands in no file: of a row that has none of its own, or the same as another.
pub(crate) const NAMELESS: char = '~';

/// One line behind the head.
#[derive(Clone, PartialEq, Debug)]
pub struct FileRow {
    pub name: LineName,
    /// As written; what it means when nothing of that name came before is the importer's to decide.
    pub parent: Option<LineName>,
    pub kind: String,
    pub bytes: Range<usize>,
    /// Version 1 counts lines instead of naming them.
    pub first_kept: Option<LineName>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ScannedFile {
    pub head: FileHead,
    pub head_bytes: Range<usize>,
    pub rows: Vec<FileRow>,
    /// Lines that could not be read.
    pub bad: u64,
}

/// Why a file is no session file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScanError {
    Empty,
    /// The first line that can be read is no head.
    NoHead,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScanError::Empty => "the file is empty",
            ScanError::NoHead => "it does not begin with the head of a session",
        })
    }
}

/// Cuts a file into rows.
pub fn scan(bytes: &[u8]) -> Result<ScannedFile, ScanError> {
    let mut found: Option<ScannedFile> = None;
    let (mut names, mut bad) = (HashSet::new(), 0);
    // By line that could be read, the head first: what version 1 counts.
    let mut counted: Vec<Option<LineName>> = Vec::new();
    for range in lines(bytes) {
        let text = line_text(&bytes[range.clone()]);
        let Some(fields) = Fields::parse(&text) else {
            bad += 1;
            continue;
        };
        let Some(scan) = &mut found else {
            let head = FileHead::parse(&fields).ok_or(ScanError::NoHead)?;
            found = Some(ScannedFile { head, head_bytes: range, rows: Vec::new(), bad: 0 });
            counted.push(None);
            continue;
        };
        let kind = fields.text("type").unwrap_or_default();
        if kind == "session" {
            counted.push(None);
            continue;
        }
        let row = match scan.head.version {
            0 | 1 => first_version(scan, &fields, kind, range, bytes, &mut names, &counted),
            _ => named(scan, &fields, kind, range, bytes, &mut names),
        };
        counted.push(Some(row.name.clone()));
        scan.rows.push(row);
    }
    match found {
        Some(scan) => Ok(ScannedFile { bad, ..scan }),
        None if bad == 0 => Err(ScanError::Empty),
        None => Err(ScanError::NoHead),
    }
}

/// Lines without their ends, without blank ones and without a byte order mark.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    const BOM: &[u8] = b"\xef\xbb\xbf";
    let mut at = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |step| at + step);
            let line = &bytes[at..end];
            let start = at + line.len() - line.trim_ascii_start().len();
            let range = start..start + line.trim_ascii().len();
            at = end + 1;
            if !range.is_empty() {
                return Some(range);
            }
        }
        None
    })
}

/// A row of version 1 has no name: it gets one from its place and its bytes, the same each time it is read.
fn first_version(
    scan: &ScannedFile,
    fields: &Fields<'_>,
    kind: String,
    range: Range<usize>,
    bytes: &[u8],
    names: &mut HashSet<LineName>,
    counted: &[Option<LineName>],
) -> FileRow {
    let name = name_of_bytes(scan.rows.len() as u64, &bytes[range.clone()], names);
    let kept = fields.natural("firstKeptEntryIndex").and_then(|at| counted.get(at as usize)?.clone());
    FileRow { name, parent: scan.rows.last().map(|row| row.name.clone()), kind, bytes: range, first_kept: kept }
}

fn named(
    scan: &ScannedFile,
    fields: &Fields<'_>,
    kind: String,
    range: Range<usize>,
    bytes: &[u8],
    names: &mut HashSet<LineName>,
) -> FileRow {
    let previous = || scan.rows.last().map(|row| row.name.clone());
    let own = fields.text("id").filter(|id| (1..=NAME_BYTES_MAX).contains(&id.len()) && !id.starts_with(NAMELESS));
    let name: LineName = match own.map(Arc::from) {
        Some(id) if names.insert(Arc::clone(&id)) => id,
        _ => format!("{NAMELESS}{}", name_of_bytes(range.start as u64, &bytes[range.clone()], names)).into(),
    };
    let parent = match fields.text("parentId") {
        Some(parent) => Some(parent.into()),
        None if fields.is_null("parentId") => None,
        // Damaged: the line before is the likeliest.
        None => previous(),
    };
    let first_kept = fields.text("firstKeptEntryId").map(Arc::from);
    FileRow { name, parent, kind, bytes: range, first_kept }
}
