//! Finding session files: the newest one, one by its id. Only heads are read.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use safefile::open_regular;
use vocab::SessionId;

use crate::fields::{Fields, line_text, parse_iso};
use crate::head::{FileHead, safe};

/// A head is looked for in so many bytes; a file that begins with more is none of ours. (pi looks at 512.)
const HEAD_BYTES_MAX: u64 = 64 * 1024;
/// The last message is looked for in so many bytes at the end of a file first, then in more and more of it.
const TAIL_BYTES: u64 = 64 * 1024;
/// How much more each time.
const TAIL_GROWTH: u64 = 8;
/// A file whose last message is longer than this counts from its beginning.
const TAIL_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The head of a file, if it is a session file: the first line that can be read.
pub(crate) fn head_of(path: &Path) -> Option<FileHead> {
    let mut reader = BufReader::new(open_regular(path).ok()?.take(HEAD_BYTES_MAX));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let text = line_text(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line));
        if let Some(fields) = Fields::parse(&text) {
            return FileHead::parse(&fields);
        }
    }
}

fn session_files(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
}

/// The session file in which something was said last. When it was written to says less: opening a session, a copy or a
/// backup touches files, too. It decides only between two of the same moment.
pub fn newest(dir: &Path) -> Option<PathBuf> {
    let dated = |path: PathBuf| {
        let said = last_said(&path).unwrap_or(head_of(&path)?.at_ms);
        let written = std::fs::metadata(&path).ok()?.modified().ok()?;
        Some((said, written, path))
    };
    session_files(dir).filter_map(dated).max().map(|(.., path)| path)
}

/// When the last message of a session file was said.
fn last_said(path: &Path) -> Option<i64> {
    let mut file = open_regular(path).ok()?;
    let length = file.metadata().ok()?.len();
    let mut window = TAIL_BYTES.min(length);
    loop {
        file.seek(SeekFrom::Start(length - window)).ok()?;
        let mut tail = Vec::new();
        (&mut file).take(window).read_to_end(&mut tail).ok()?;
        if let Some(at) = tail.rsplit(|byte| *byte == b'\n').find_map(said_at) {
            return Some(at);
        }
        if window == length || window >= TAIL_BYTES_MAX {
            return None;
        }
        window = window.saturating_mul(TAIL_GROWTH).min(length).min(TAIL_BYTES_MAX);
    }
}

/// The time of a line that is a message; what the window cut is no line.
fn said_at(line: &[u8]) -> Option<i64> {
    let text = line_text(line);
    let fields = Fields::parse(&text)?;
    (fields.text("type")? == "message").then_some(())?;
    parse_iso(&fields.text("timestamp")?)
}

/// The id of the session in a file.
pub fn id_of(path: &Path) -> Option<SessionId> {
    head_of(path).map(|head| head.id)
}

/// The files of sessions whose id begins so, newest first. An id given whole finds that one only.
pub fn by_id(dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found: Vec<(SystemTime, PathBuf, bool)> = session_files(dir)
        .filter_map(|path| {
            let head = head_of(&path)?;
            let id = head.id.as_str();
            let at = std::fs::metadata(&path).ok()?.modified().ok()?;
            id.starts_with(prefix).then_some((at, path, id == prefix))
        })
        .collect();
    if found.iter().any(|(.., exact)| *exact) {
        found.retain(|(.., exact)| *exact);
    }
    found.sort();
    found.into_iter().rev().map(|(_, path, _)| path).collect()
}

/// The file of this session, by the name that we would have given it.
pub(crate) fn named_after(dir: &Path, session: &SessionId) -> Option<PathBuf> {
    session_files(dir).find(|path| is_named_after(path, session))
}

/// A name does not say everything: two ids may look alike in one.
pub(crate) fn is_named_after(path: &Path, session: &SessionId) -> bool {
    let end = format!("_{}.jsonl", safe(session));
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&end))
        && head_of(path).is_some_and(|head| head.id == *session)
}
