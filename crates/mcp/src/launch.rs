//! The port through which a server is started. The product brings a launcher that puts it on a leash, so this crate knows
//! no leash.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncWrite};
use vocab::Later;

/// What to run. No shell is between us and it.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment; nothing else is inherited. May hold secrets.
    pub env: Vec<(OsString, OsString)>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({:?}, in {:?})", self.argv, self.cwd)
    }
}

/// A program that runs.
pub struct Started {
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    pub process: Box<dyn Process>,
}

/// The process behind the pipes. Dropping it ends it and everything it started, without waiting.
pub trait Process: Send {
    /// Resolves when the program has ended, and says how in words. Safe to cancel and to ask again.
    fn ended(&mut self) -> Later<'_, String>;
    /// TERM, a grace, KILL, for the program and everything it started.
    fn end(self: Box<Self>) -> Later<'static, ()>;
}

pub trait Launcher: Send + Sync {
    fn launch<'a>(&'a self, program: &'a Program) -> Later<'a, io::Result<Started>>;
}
