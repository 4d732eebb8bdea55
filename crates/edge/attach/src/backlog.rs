//! What the gateway has said and nobody has read yet. A gateway waits for no reader, so what one does not take is kept here:
//! some of it in memory, the rest in files that have no name.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};
use tokio::sync::Notify;

/// Bytes in memory; more go to files.
const MEMORY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes in files; at this many nothing more is taken, and the gateway lets go of us.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// From so many bytes on the next go to another file.
const SEGMENT_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes read from a file at once.
const PIECE_BYTES: usize = 256 * 1024;

#[derive(Default)]
pub(crate) struct Backlog {
    unread: Mutex<Unread>,
    changed: Notify,
}

#[derive(Default)]
struct Unread {
    memory: VecDeque<Vec<u8>>,
    memory_bytes: usize,
    /// Everything behind what is in memory, in its order. None is empty.
    files: VecDeque<Segment>,
    /// Nothing more will come.
    ended: bool,
}

/// One of the files, and what of it is unread. What is read goes with its file: a reader that is always a little behind would let
/// a single one grow without end.
struct Segment {
    file: File,
    from: u64,
    to: u64,
}

impl Backlog {
    fn lock(&self) -> MutexGuard<'_, Unread> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps it; `Err`: there is no room for it.
    pub(crate) fn push(&self, bytes: Vec<u8>) -> io::Result<()> {
        let kept = &mut *self.lock();
        let has_room = kept.memory_bytes == 0 || kept.memory_bytes + bytes.len() <= MEMORY_BYTES_MAX;
        if kept.files.is_empty() && has_room {
            kept.memory_bytes += bytes.len();
            kept.memory.push_back(bytes);
        } else {
            kept.push_to_file(&bytes)?;
        }
        self.changed.notify_one();
        Ok(())
    }

    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_one();
    }

    /// The next bytes in their order; `None` when there are no more and none will come.
    pub(crate) async fn next(&self) -> io::Result<Option<Vec<u8>>> {
        loop {
            {
                let kept = &mut *self.lock();
                if let Some(bytes) = kept.memory.pop_front() {
                    kept.memory_bytes -= bytes.len();
                    return Ok(Some(bytes));
                }
                if let Some(piece) = kept.take_from_file()? {
                    return Ok(Some(piece));
                }
                if kept.ended {
                    return Ok(None);
                }
            }
            self.changed.notified().await;
        }
    }
}

impl Unread {
    fn push_to_file(&mut self, bytes: &[u8]) -> io::Result<()> {
        let on_disk: u64 = self.files.iter().map(|it| it.to).sum();
        if on_disk + bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(io::Error::other(format!("more than {FILE_BYTES_MAX} bytes wait for a reader")));
        }
        match self.files.back_mut().filter(|it| it.to < SEGMENT_BYTES) {
            Some(last) => last.push(bytes),
            None => {
                let mut next = Segment { file: nameless()?, from: 0, to: 0 };
                next.push(bytes)?;
                self.files.push_back(next);
                Ok(())
            }
        }
    }

    fn take_from_file(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(Segment { file, from, to }) = self.files.front_mut() else { return Ok(None) };
        let count = usize::try_from(*to - *from).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let mut piece = vec![0; count];
        file.read_exact_at(&mut piece, *from)?;
        *from += count as u64;
        if *from == *to {
            // What was read is not kept on the disk.
            self.files.pop_front();
        }
        Ok(Some(piece))
    }
}

impl Segment {
    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.to)?;
        self.to += bytes.len() as u64;
        Ok(())
    }
}

/// A file that only we can see, and that ends with us.
fn nameless() -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let opened = rustix::fs::open(std::env::temp_dir(), flags, Mode::RUSR | Mode::WUSR);
    Ok(File::from(opened?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// Somebody who reads all the time and is never quite there.
    #[tokio::test]
    async fn what_was_read_is_not_kept_on_the_disk() {
        const BEHIND: usize = 4;
        let (backlog, piece) = (Backlog::default(), vec![7; 1 << 20]);
        let (mut pushed, mut read) = (0, 0);
        for round in 0..96 {
            backlog.push(piece.clone()).unwrap();
            pushed += piece.len();
            while round > BEHIND && read + BEHIND * piece.len() < pushed {
                read += backlog.next().await.unwrap().unwrap().len();
            }
            let on_disk: u64 = backlog.lock().files.iter().map(|it| it.file.metadata().unwrap().blocks() * 512).sum();
            assert!(on_disk <= 2 * SEGMENT_BYTES, "{on_disk} bytes on the disk for {} that wait", pushed - read);
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_into_memory_comes_back_in_its_order() {
        let backlog = Backlog::default();
        let mut expected = Vec::new();
        for round in 0..40_u8 {
            let piece = vec![round; 100_000];
            expected.extend_from_slice(&piece);
            backlog.push(piece).unwrap();
        }
        assert!(backlog.lock().memory_bytes <= MEMORY_BYTES_MAX);
        let mut read = Vec::new();
        for _ in 0..20 {
            read.extend(backlog.next().await.unwrap().unwrap());
        }
        let more = vec![99; 3_000_000];
        expected.extend_from_slice(&more);
        backlog.push(more).unwrap();
        backlog.end();
        while let Some(piece) = backlog.next().await.unwrap() {
            read.extend(piece);
        }
        assert!(read == expected, "{} of {}", read.len(), expected.len());
    }
}
