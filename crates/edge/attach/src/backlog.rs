//! What the gateway has said and nobody has read yet. A gateway waits for no reader, so what one does not take is kept here:
//! some of it in memory, the rest in a file that has no name.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};
use tokio::sync::Notify;

/// Bytes in memory; more go to the file.
const MEMORY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes in the file; at this many nothing more is taken, and the gateway lets go of us.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes read from the file at once.
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
    /// Everything behind what is in memory, from one place to another.
    file: Option<(File, u64, u64)>,
    /// Nothing more will come.
    ended: bool,
}

impl Backlog {
    fn lock(&self) -> MutexGuard<'_, Unread> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps it; `Err`: there is no room for it.
    pub(crate) fn push(&self, bytes: Vec<u8>) -> io::Result<()> {
        let kept = &mut *self.lock();
        match &mut kept.file {
            Some((file, from, to)) if *from < *to => {
                if *to - *from + bytes.len() as u64 > FILE_BYTES_MAX {
                    return Err(io::Error::other(format!("more than {FILE_BYTES_MAX} bytes wait for a reader")));
                }
                file.write_all_at(&bytes, *to)?;
                *to += bytes.len() as u64;
            }
            _ if kept.memory_bytes == 0 || kept.memory_bytes + bytes.len() <= MEMORY_BYTES_MAX => {
                kept.memory_bytes += bytes.len();
                kept.memory.push_back(bytes);
            }
            file => {
                let (file, from, to) = file.insert((nameless()?, 0, 0));
                file.write_all_at(&bytes, *from)?;
                *to = bytes.len() as u64;
            }
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
    fn take_from_file(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((file, from, to)) = &mut self.file else { return Ok(None) };
        let count = usize::try_from(*to - *from).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let mut piece = vec![0; count];
        file.read_exact_at(&mut piece, *from)?;
        *from += count as u64;
        if *from == *to {
            // What was read is not kept on the disk.
            self.file = None;
        }
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
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
    use super::*;

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
