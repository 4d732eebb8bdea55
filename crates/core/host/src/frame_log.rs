//! `--log-frames FILE`: both directions, timed. Debugger, bug report and next golden test in one.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use vocab::Keyring;

use crate::pump::Tap;

/// Frames longer than this are cut in the log; the wire is not.
const LOGGED_BYTES_MAX: usize = 1024 * 1024;

pub struct FrameLog {
    file: BufWriter<File>,
    since: Instant,
    keyring: Keyring,
}

impl FrameLog {
    /// Appends to `path`, which only its owner may read: frames hold whatever was said.
    /// Keys in them show as `***`.
    pub fn open(path: &Path, keyring: Keyring) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(Self { file: BufWriter::new(file), since: Instant::now(), keyring })
    }

    fn line(&mut self, direction: u8, line: &[u8]) {
        let ms = self.since.elapsed().as_secs_f64() * 1000.0;
        // First the keys, then the cut: half a key is one too many.
        let clean = self.keyring.is_in(line).then(|| self.keyring.scrub(&String::from_utf8_lossy(line)).into_owned());
        let line = clean.as_ref().map_or(line, |clean| clean.as_bytes());
        let shown = &line[..line.len().min(LOGGED_BYTES_MAX)];
        // A log that cannot be written must not disturb the conversation.
        let _ = write!(self.file, "{ms:12.3} {} ", char::from(direction));
        let _ = self.file.write_all(shown);
        let _ = self.file.write_all(b"\n");
        let _ = self.file.flush();
    }
}

impl Tap for FrameLog {
    fn inbound(&mut self, frame: &[u8]) {
        self.line(b'>', frame);
    }

    fn outbound(&mut self, frame: &[u8]) {
        // A piece of a terminal's text may hold lines; a frame of a protocol is one.
        for line in frame.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            self.line(b'<', line);
        }
    }
}
