//! Keeps the beginning and the end of a command's output, counts the rest, and spills everything to a file once it
//! is more than a model should read at once. Knows nothing of processes.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What is kept of the beginning; later bytes push through the tail.
pub(super) const HEAD_BYTES: usize = 16 * 1024;
/// What is kept of the end; the oldest of it is forgotten first.
pub(super) const TAIL_BYTES: usize = 16 * 1024;
/// Longest spill file; what comes after is counted only.
pub(super) const SPILL_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes collected before they are written to the spill file.
const SPILL_BATCH_BYTES: usize = 256 * 1024;

pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    line_feeds: u64,
    spill_dir: PathBuf,
    spill: Spill,
}

enum Spill {
    /// Everything still fits into head and tail.
    NotNeeded,
    Open {
        path: PathBuf,
        file: File,
        pending: Vec<u8>,
        /// Written or pending.
        bytes: u64,
    },
    Failed(io::ErrorKind),
}

/// What a finished capture shows.
pub(super) struct CapturedOutput {
    pub(super) text: String,
    pub(super) truncated: bool,
    pub(super) total: u64,
    /// Lines of everything; what follows the last line feed counts, even when it is empty.
    pub(super) lines: u64,
    pub(super) spill: Option<PathBuf>,
}

impl Capture {
    pub(super) fn new(spill_dir: PathBuf) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), total: 0, line_feeds: 0, spill_dir, spill: Spill::NotNeeded }
    }

    /// Takes the next bytes; writes a batch to the spill file off this thread when there is one to write.
    pub(super) async fn push(&mut self, bytes: &[u8]) {
        let fitted = self.total as usize <= HEAD_BYTES + TAIL_BYTES;
        if fitted && self.total as usize + bytes.len() > HEAD_BYTES + TAIL_BYTES {
            self.open_spill();
        }
        self.keep(bytes);
        if let Spill::Open { pending, bytes: spilled, .. } = &mut self.spill {
            let room = (SPILL_BYTES_MAX - *spilled).min(bytes.len() as u64) as usize;
            pending.extend_from_slice(&bytes[..room]);
            *spilled += room as u64;
            if pending.len() >= SPILL_BATCH_BYTES {
                self.flush().await;
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.line_feeds += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let room = (HEAD_BYTES - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        let rest = &rest[rest.len().saturating_sub(TAIL_BYTES)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    /// Starts the file with everything so far; only called while head and tail still hold all of it.
    fn open_spill(&mut self) {
        self.spill = match create(&self.spill_dir) {
            Ok((path, file)) => {
                let mut pending = Vec::with_capacity(SPILL_BATCH_BYTES);
                pending.extend_from_slice(&self.head);
                pending.extend(&self.tail);
                Spill::Open { path, file, bytes: pending.len() as u64, pending }
            }
            Err(error) => Spill::Failed(error.kind()),
        };
    }

    /// Writes what is pending. A full disk ends the spilling, never the command.
    async fn flush(&mut self) {
        let Spill::Open { path, mut file, mut pending, bytes } = std::mem::replace(&mut self.spill, Spill::NotNeeded)
        else {
            return;
        };
        let write = tokio::task::spawn_blocking(move || {
            let done = file.write_all(&pending);
            pending.clear();
            done.map(|()| (file, pending))
        });
        self.spill = match write.await {
            Ok(Ok((file, pending))) => Spill::Open { path, file, pending, bytes },
            Ok(Err(error)) => {
                let _ = std::fs::remove_file(&path);
                Spill::Failed(error.kind())
            }
            Err(_) => Spill::Failed(io::ErrorKind::Interrupted),
        };
    }

    /// The output for progress: all of it while all of it is kept, then its end. A character that is not whole yet comes
    /// with the rest of it.
    pub(super) fn newest(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.total as usize > HEAD_BYTES + TAIL_BYTES {
            return readable(skip_partial(cut_partial(&tail)));
        }
        readable(cut_partial(&[self.head.as_slice(), &tail].concat()))
    }

    /// As [`Capture::finish`], and no more than the first and the last of `lines_max` lines.
    pub(super) async fn finish_within(mut self, lines_max: usize) -> CapturedOutput {
        let too_many = self.line_feeds >= lines_max as u64;
        if too_many && matches!(self.spill, Spill::NotNeeded) {
            self.open_spill();
        }
        let mut shown = self.finish().await;
        if too_many {
            cut_lines(&mut shown, lines_max);
        }
        shown
    }

    /// Ends the capture: what the model gets to read.
    pub(super) async fn finish(mut self) -> CapturedOutput {
        self.flush_if_open().await;
        let lines = self.line_feeds + 1;
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.total as usize <= HEAD_BYTES + TAIL_BYTES {
            let mut bytes = self.head;
            bytes.extend_from_slice(&tail);
            let spill = match self.spill {
                Spill::Open { path, .. } => Some(path),
                Spill::NotNeeded | Spill::Failed(_) => None,
            };
            return CapturedOutput { text: readable(&bytes), truncated: false, total: self.total, lines, spill };
        }
        let (head, tail) = (cut_partial(&self.head), skip_partial(&tail));
        let omitted = self.total - (head.len() + tail.len()) as u64;
        let (place, spill) = match self.spill {
            Spill::Open { path, bytes, .. } => {
                let what = match bytes == self.total {
                    true => "full output".to_owned(),
                    false => format!("the first {bytes} bytes"),
                };
                (format!("{what} in {}; read it with read_file", path.display()), Some(path))
            }
            Spill::Failed(kind) => (format!("the full output could not be kept: {kind}"), None),
            Spill::NotNeeded => unreachable!("a capture longer than head and tail has tried to spill"),
        };
        let text = format!("{}\n[... {omitted} bytes omitted; {place}]\n{}", readable(head), readable(tail));
        CapturedOutput { text, truncated: true, total: self.total, lines, spill }
    }

    async fn flush_if_open(&mut self) {
        if matches!(&self.spill, Spill::Open { pending, .. } if !pending.is_empty()) {
            self.flush().await;
        }
    }
}

/// Takes lines out of the middle, and says where they are.
fn cut_lines(shown: &mut CapturedOutput, lines_max: usize) {
    let lines: Vec<&str> = shown.text.split_inclusive('\n').collect();
    let (head, rest) = lines.split_at((lines_max / 2).min(lines.len()));
    let (cut, tail) = rest.split_at(rest.len().saturating_sub(lines_max / 2));
    if cut.is_empty() {
        return;
    }
    let place = match &shown.spill {
        Some(path) => format!("full output in {}; read it with read_file", path.display()),
        None => "the full output could not be kept".to_owned(),
    };
    shown.text = format!("{}[... {} lines omitted; {place}]\n{}", head.concat(), cut.len(), tail.concat());
    shown.truncated = true;
}

/// A new file only we can read, under a name nobody can guess.
fn create(dir: &Path) -> io::Result<(PathBuf, File)> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let random = || RandomState::new().build_hasher().finish();
    let path = dir.join(format!("output-{:016x}{:016x}.txt", random(), random()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    Ok((path, file))
}

/// Lossy text. Control characters that no terminal output needs become U+FFFD: a NUL breaks some stores, and every
/// one of them costs six bytes on a JSON wire.
pub(super) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let odd = |c: char| c < ' ' && !matches!(c, '\n' | '\r' | '\t' | '\x1b');
    if text.contains(odd) { text.replace(odd, "\u{fffd}") } else { text.into_owned() }
}

/// Without an unfinished character at the end.
pub(super) fn cut_partial(bytes: &[u8]) -> &[u8] {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let needs = match bytes[at] {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            0x80..=0xBF => continue,
            _ => return bytes,
        };
        return if needs > back { &bytes[..at] } else { bytes };
    }
    bytes
}

/// Without the rest of a character at the beginning.
fn skip_partial(bytes: &[u8]) -> &[u8] {
    let skip = bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xBF)).count();
    &bytes[skip..]
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shown(chunks: &[&[u8]], dir: &Path) -> CapturedOutput {
        let mut capture = Capture::new(dir.into());
        for chunk in chunks {
            capture.push(chunk).await;
        }
        capture.finish().await
    }

    #[tokio::test]
    async fn short_output_is_kept_whole_and_touches_no_disk() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("spill");
        let exact = vec![b'a'; HEAD_BYTES + TAIL_BYTES];
        let all = shown(&[&exact[..100], &exact[100..]], &inner).await;
        assert_eq!((all.text.len(), all.truncated, all.spill), (HEAD_BYTES + TAIL_BYTES, false, None));
        assert_eq!(all.lines, 1);
        assert!(!inner.exists());
    }

    #[tokio::test]
    async fn long_output_keeps_both_ends_and_spills_every_byte() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let all: Vec<u8> = (0..1_000_000u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        let chunks: Vec<&[u8]> = all.chunks(7777).collect();
        let shown = shown(&chunks, dir.path()).await;
        assert!(shown.truncated && shown.text.len() < HEAD_BYTES + TAIL_BYTES + 300);
        assert_eq!((shown.total, shown.lines), (all.len() as u64, 1_000_001), "of everything, not of what is shown");
        assert!(shown.text.starts_with("0\n1\n2\n") && shown.text.ends_with("999998\n999999\n"));
        let path = shown.spill.unwrap();
        assert!(shown.text.contains(&format!("full output in {}; read it with read_file", path.display())));
        assert_eq!(std::fs::read(&path).unwrap(), all);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn too_many_lines_are_cut_in_the_middle_and_kept_in_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let all: String = (1..=11).map(|n| format!("{n}\n")).collect();
        let within = async |text: &str, lines_max| {
            let mut capture = Capture::new(dir.path().into());
            capture.push(text.as_bytes()).await;
            capture.finish_within(lines_max).await
        };
        let cut = within(&all, 4).await;
        let path = cut.spill.unwrap();
        let note = format!("[... 7 lines omitted; full output in {}; read it with read_file]", path.display());
        assert_eq!((cut.text, cut.truncated), (format!("1\n2\n{note}\n10\n11\n"), true));
        assert_eq!((std::fs::read_to_string(path).unwrap(), cut.lines, cut.total), (all.clone(), 12, 24));
        let whole = within(&all, 12).await;
        assert_eq!((whole.text, whole.truncated, whole.spill), (all, false, None));
        let long = within(&"x\n".repeat(100_000), 10).await;
        assert!(long.truncated && long.text.lines().count() == 11 && long.text.len() < 400, "{}", long.text);
    }

    #[tokio::test]
    async fn cuts_fall_between_characters() {
        let dir = tempfile::tempdir().unwrap();
        for shift in 0..4 {
            let all = format!("{}{}", "x".repeat(shift), "🦀".repeat(20_000));
            let shown = shown(&[all.as_bytes()], dir.path()).await;
            assert!(shown.truncated && !shown.text.contains('\u{fffd}'), "shift {shift}");
        }
    }

    #[tokio::test]
    async fn progress_grows_by_whole_characters_as_long_as_everything_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(dir.path().into());
        let all = "a€🦀\n".repeat((HEAD_BYTES + TAIL_BYTES) / 9);
        let mut before = String::new();
        for chunk in all.as_bytes().chunks(701) {
            capture.push(chunk).await;
            let newest = capture.newest();
            assert!(newest.starts_with(&before) && all.starts_with(&newest), "{} bytes", newest.len());
            before = newest;
        }
        assert_eq!(before, all);
        capture.push("€".repeat(HEAD_BYTES).as_bytes()).await;
        assert!(capture.newest().chars().all(|c| c == '€'), "then the end of it");
    }

    #[tokio::test]
    async fn a_directory_that_cannot_be_made_is_reported_and_nothing_else_fails() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let shown = shown(&[&[b'a'; 100_000]], &file.join("below")).await;
        assert!(shown.text.contains("could not be kept") && shown.spill.is_none());
        assert_eq!(shown.total, 100_000);
    }

    #[test]
    fn binary_becomes_harmless_text() {
        assert_eq!(readable(b"a\0b\xff\x1b[1mc\r\n"), "a\u{fffd}b\u{fffd}\x1b[1mc\r\n");
    }
}
