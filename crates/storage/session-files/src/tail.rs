//! The end of a file that a crash may have torn. What is no whole line is cut off and kept beside the file, so that
//! nothing is ever appended behind a fragment and nothing is lost either.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde_json::value::RawValue;

/// How a file ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileTail {
    /// Bytes up to the end of the last whole line.
    pub whole: usize,
    /// The last whole line lacks its line end.
    pub open: bool,
}

impl FileTail {
    pub fn of(bytes: &[u8]) -> FileTail {
        let mut end = bytes.len();
        loop {
            let content = bytes[..end].trim_ascii_end().len();
            if content == 0 {
                return FileTail { whole: 0, open: false };
            }
            let start = bytes[..content].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            if is_whole(&bytes[start..content]) {
                // Up to and with its line end; blank space behind it is no line, but harmless.
                let behind = bytes[content..end].iter().rposition(|byte| *byte == b'\n');
                return match behind {
                    Some(at) => FileTail { whole: content + at + 1, open: false },
                    None => FileTail { whole: content, open: true },
                };
            }
            end = start;
        }
    }
}

/// A JSON object in UTF-8 from its first byte to its last. The first line may begin with a byte order mark.
fn is_whole(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    line.starts_with(b"{") && serde_json::from_slice::<&RawValue>(line).is_ok()
}

/// Where cut bytes are kept.
pub fn side_file(path: &Path) -> PathBuf {
    beside(path, "torn")
}

pub(crate) fn beside(path: &Path, word: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(word);
    name.into()
}

/// Adds bytes to the side file; they are on the disk before the cut is made. What stands there under that name may have
/// come with the session file, and lead to any other file: only a plain one with no second name is added to.
pub(crate) fn keep(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let place = side_file(path);
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(flags.bits() as i32);
    let foreign = || io::Error::other(format!("{} is no plain file; take it away", place.display()));
    let mut side = options.open(&place).map_err(|error| match std::fs::symlink_metadata(&place) {
        Ok(there) if !there.is_file() => foreign(),
        _ => error,
    })?;
    let facts = side.metadata()?;
    if !facts.is_file() || facts.nlink() != 1 {
        return Err(foreign());
    }
    side.write_all(bytes)?;
    side.sync_all()
}

/// Cuts the file behind its last whole line and ends that line. Returns how many bytes were cut.
pub(crate) fn mend(path: &Path, file: &mut File, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let tail = FileTail::of(bytes);
    let cut = bytes.len() - tail.whole;
    if bytes[tail.whole..].iter().any(|byte| !byte.is_ascii_whitespace()) {
        keep(path, &bytes[tail.whole..])?;
    }
    if cut > 0 {
        file.set_len(tail.whole as u64)?;
        bytes.truncate(tail.whole);
    }
    if tail.open {
        file.write_all(b"\n")?;
        bytes.push(b'\n');
    }
    if cut > 0 || tail.open {
        file.sync_all()?;
    }
    Ok(cut)
}
