//! The few things done to files: made whole, read, appended to. Everything is for its owner only from the first byte on.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::read::FILE_BYTES_MAX;

/// A file that lines are appended to, and how long it was when we last looked.
pub(crate) struct Following {
    pub(crate) file: File,
    pub(crate) len: u64,
    id: (u64, u64),
    unsynced: bool,
}

fn id(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl Following {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(Self { len: metadata.len(), id: id(&metadata), file, unsynced: false })
    }

    /// A whole file of which nothing more is wanted.
    pub(crate) fn read_only(path: &Path) -> io::Result<Vec<u8>> {
        safefile::read_regular(path, FILE_BYTES_MAX)
    }

    /// Everything in it.
    pub(crate) fn read(&mut self) -> io::Result<Vec<u8>> {
        if self.len > FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large for a session file"));
        }
        let mut bytes = Vec::with_capacity(self.len as usize + 1);
        (&self.file).take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        self.len = bytes.len() as u64;
        Ok(bytes)
    }

    /// No other program has written to it, cut it or put another in its place.
    pub(crate) fn is_untouched(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|now| id(&now) == self.id && now.len() == self.len)
    }

    /// One write for all lines. A write that fails takes back what it had written.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.unsynced = true;
        if let Err(error) = self.file.write_all(bytes) {
            // If this fails too, the next look at the file finds a torn tail.
            let _ = self.take_back(bytes);
            return Err(error);
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Cuts off the beginning of `bytes`, and nothing that anybody else may have written.
    fn take_back(&self, bytes: &[u8]) -> io::Result<()> {
        let behind = usize::try_from(self.file.metadata()?.len().saturating_sub(self.len)).unwrap_or(usize::MAX);
        if behind == 0 || behind > bytes.len() {
            return Ok(());
        }
        let mut written = vec![0; behind];
        self.file.read_exact_at(&mut written, self.len)?;
        if bytes.starts_with(&written) {
            self.file.set_len(self.len)?;
        }
        Ok(())
    }

    /// Another handle on the file, when it has to be synced.
    pub(crate) fn unsynced(&mut self) -> Option<File> {
        let file = self.unsynced.then(|| self.file.try_clone()).and_then(Result::ok);
        self.unsynced &= file.is_none();
        file
    }
}
