//! Room in the write-ahead log before it is needed. A sync of what is written over costs a good third less than one of what
//! makes the file longer, since the file system has nothing to write down about it. SQLite writes over its log only when
//! that was folded in once; until then, and with every process anew, the log grows. So it is given room while nobody waits:
//! zeros behind its end, which is no frame to anybody who reads it.
//!
//! * **Only behind the end of the file**, and with SQLite's write lock held: whoever would append meanwhile waits. What is
//!   there is never written over.
//! * **Nothing depends on it.** Where it fails, the log grows as it did. A commit is on the disk when the sync behind it says
//!   so, whether there are zeros behind it or not.
//! * **Through a handle of its own**: an error of the disk that a sync of zeros meets is told to the handle of `sync`, too.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::database::{self, WAL_PAGES_MAX};
use super::writer::Writer;
use super::{Failure, immediate};

/// A log that is shorter than this gets no room: most processes that write little write no more.
const ROOM_FROM: u64 = 128 * 1024;
/// Once that is there it gets as much more as it has, and at most this much at once.
const ROOM_BYTES_MAX: u64 = 512 * 1024;
/// It gets more when so much or less is left: a few commits.
const ROOM_BYTES_MIN: u64 = 64 * 1024;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// Frames looked at in one go; the rest in the next.
const FRAMES_PER_LOOK: u32 = 256;

/// Where the frames of the log end, as far as it was looked at.
#[derive(Default)]
pub(super) struct LogRoom {
    header: [u8; HEADER_BYTES],
    end: u64,
}

impl LogRoom {
    /// Follows the log to the end of its frames. `None`: it is not to be made longer.
    fn wanted(&mut self, log: &File) -> io::Result<Option<(u64, u64)>> {
        let mut header = [0; HEADER_BYTES];
        log.read_exact_at(&mut header, 0)?;
        if header != self.header {
            // It was begun anew.
            (self.header, self.end) = (header, HEADER_BYTES as u64);
        }
        let page_bytes = u64::from(u32::from_be_bytes([header[8], header[9], header[10], header[11]]));
        let length = log.metadata()?.len();
        let frame_bytes = FRAME_HEADER_BYTES as u64 + page_bytes;
        for _ in 0..FRAMES_PER_LOOK {
            let mut frame = [0; FRAME_HEADER_BYTES];
            // Each frame repeats the salt of the header that it belongs to.
            if self.end + frame_bytes > length || log.read_exact_at(&mut frame, self.end).is_err() {
                break;
            }
            if frame[8..16] != header[16..24] {
                break;
            }
            self.end += frame_bytes;
        }
        let longest = u64::from(WAL_PAGES_MAX) * frame_bytes;
        let to = (self.end + self.end.min(ROOM_BYTES_MAX)).min(longest);
        let has_little = length.saturating_sub(self.end) <= ROOM_BYTES_MIN;
        Ok((self.end >= ROOM_FROM && has_little && to > length).then_some((length, to)))
    }
}

impl Writer {
    /// Behind appends that were synced, when nobody waits for anything. Those that are not gain nothing by it.
    pub(super) fn make_room(&mut self, connection: &Connection) {
        self.take_waiting();
        if self.is_dirty || self.has_taken() || self.syncs.is_busy() {
            return;
        }
        // Whatever is wrong is found by whoever writes.
        let _ = self.try_to_make_room(connection);
    }

    fn try_to_make_room(&mut self, connection: &Connection) -> Result<(), Failure> {
        let Some(log) = self.syncs.log() else { return Ok(()) };
        let Ok(Some(_)) = self.room.wanted(log.file()) else { return Ok(()) };
        let path = self.wal();
        self.patience.set(Duration::ZERO);
        let room = &mut self.room;
        // Looked at again with the lock: another process may have been quicker. The lock is on what we have open, whatever the
        // name leads to by now.
        let wanted = |named: &File| if log.is(named)? { room.wanted(named) } else { Ok(None) };
        let made = immediate(connection, || Ok(extend(&path, wanted).unwrap_or(None)));
        self.patience.set(database::BUSY_WAIT);
        if let Some(extended) = made? {
            // Without the lock: what others commit meanwhile is theirs to sync.
            let _ = extended.sync_data();
        }
        Ok(())
    }
}

/// Gives back the log that was made longer.
fn extend(path: &Path, wanted: impl FnOnce(&File) -> io::Result<Option<(u64, u64)>>) -> io::Result<Option<File>> {
    let log = OpenOptions::new().read(true).write(true).open(path)?;
    let Some((from, to)) = wanted(&log)? else { return Ok(None) };
    let zeros = vec![0; usize::try_from(to - from).unwrap_or_default()];
    if let Err(error) = log.write_all_at(&zeros, from) {
        // A disk that is full is not filled with nothing.
        log.set_len(from)?;
        return Err(error);
    }
    Ok(Some(log))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4096;
    const FRAME: usize = FRAME_HEADER_BYTES + PAGE;

    /// A log of so many frames.
    fn log(salt: u8, frames: usize) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[8..12].copy_from_slice(&(PAGE as u32).to_be_bytes());
        bytes[16..24].fill(salt);
        for _ in 0..frames {
            let mut frame = vec![7; FRAME];
            frame[8..16].fill(salt);
            bytes.extend(frame);
        }
        bytes
    }

    fn made(room: &mut LogRoom, path: &Path) -> Option<u64> {
        extend(path, |log| room.wanted(log)).unwrap().map(|log| log.metadata().unwrap().len())
    }

    #[test]
    fn a_log_gets_room_when_it_has_little_and_keeps_what_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut room = LogRoom::default();
        std::fs::write(&path, log(1, 8)).unwrap();
        assert_eq!(made(&mut room, &path), None, "little is written");
        let long = log(1, 40);
        std::fs::write(&path, &long).unwrap();
        assert_eq!(made(&mut room, &path), Some(2 * long.len() as u64));
        let now = std::fs::read(&path).unwrap();
        assert!(now.starts_with(&long) && now[long.len()..].iter().all(|byte| *byte == 0));
        assert_eq!(made(&mut room, &path), None, "it has enough");
        // Written over, up to the last frame that has room.
        let mut full = log(1, 79);
        full.resize(now.len(), 0);
        std::fs::write(&path, &full).unwrap();
        assert_eq!(made(&mut room, &path), Some((HEADER_BYTES + 79 * FRAME) as u64 * 2));
        // Begun anew in the same file: all of it is room.
        let mut anew = std::fs::read(&path).unwrap();
        anew[..HEADER_BYTES + FRAME].copy_from_slice(&log(2, 1));
        std::fs::write(&path, &anew).unwrap();
        assert_eq!(made(&mut room, &path), None);
        assert_eq!(room.end, (HEADER_BYTES + FRAME) as u64);
    }
}
