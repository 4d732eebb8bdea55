//! The few things done to files: made whole, read, appended to. Everything is for its owner only from the first byte on.

use std::collections::hash_map::RandomState;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

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
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Self { len: metadata.len(), id: id(&metadata), file, unsynced: false }.read()
    }

    /// Everything in it.
    pub(crate) fn read(&mut self) -> io::Result<Vec<u8>> {
        if self.len > FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large for a session file"));
        }
        let mut bytes = Vec::with_capacity(self.len as usize + 1);
        self.file.read_to_end(&mut bytes)?;
        self.len = bytes.len() as u64;
        Ok(bytes)
    }

    /// Nobody has written to it, cut it or put another in its place.
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

/// Writes a file that was not there, or was empty. Whoever looks sees nothing or all of it.
pub(crate) fn create_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = directory_of(path);
    if !directory.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    }
    let leftover = write_aside(&directory, path, bytes)?;
    // A link never replaces what somebody else has put there meanwhile; an empty file is no loss.
    match std::fs::hard_link(&leftover.0, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && std::fs::metadata(path)?.len() > 0 => {
            return Err(error);
        }
        // It exists and is empty, or this file system has no links.
        Err(_) => std::fs::rename(&leftover.0, path)?,
        Ok(()) => {}
    }
    drop(leftover);
    File::open(directory)?.sync_all()
}

/// Puts a new content in place of a file, which stays beside it under another name.
pub(crate) fn replace_keeping(path: &Path, kept: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = directory_of(path);
    let leftover = write_aside(&directory, path, bytes)?;
    if !kept.exists() {
        std::fs::hard_link(path, kept).or_else(|_| std::fs::copy(path, kept).map(|_| ()))?;
    }
    std::fs::rename(&leftover.0, path)?;
    drop(leftover);
    File::open(directory)?.sync_all()
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Removes the temporary file; once it has become the real one there is none.
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write_aside(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<Leftover> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    // Keyed by the operating system's randomness, so that nobody can prepare the name.
    let random = RandomState::new().build_hasher().finish();
    // Does not end in `.jsonl`: whoever lists sessions must not see it.
    let temporary = directory.join(format!(".{}.{random:016x}", name.to_string_lossy()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let leftover = Leftover(temporary);
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(leftover)
}
