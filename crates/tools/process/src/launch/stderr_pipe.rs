//! A named pipe for the stderr of a program on a leash: the leash itself joins stdout and stderr.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mkdirat, mknodat};
use tokio::net::unix::pipe;

/// A directory of our own with the pipe in it; gone with this.
pub(super) struct StderrPipe {
    dir: PathBuf,
    pub(super) path: PathBuf,
}

impl StderrPipe {
    pub(super) fn make() -> io::Result<StderrPipe> {
        // A name that is taken already is an error, so another program's directory is never used.
        let random = || RandomState::new().build_hasher().finish();
        let dir = std::env::temp_dir().join(format!("tillerman-{:016x}{:016x}", random(), random()));
        mkdirat(CWD, &dir, Mode::RWXU)?;
        let pipe = StderrPipe { path: dir.join("errors"), dir };
        mknodat(CWD, &pipe.path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        Ok(pipe)
    }

    /// Our end. It writes, too, or it would end before the program has opened it.
    pub(super) fn open(&self) -> io::Result<pipe::Receiver> {
        pipe::OpenOptions::new().read_write(true).open_receiver(&self.path)
    }
}

impl Drop for StderrPipe {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
