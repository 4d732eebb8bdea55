//! Starting and ending a program that we talk with over pipes. [`LeashLauncher`] is the product's: whatever becomes of us, the
//! program and everything it started ends. [`GroupLauncher`] is the plain one: a process group, signalled as a group.

mod group;
mod leashed;
mod stderr_pipe;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use vocab::{Keyring, Later};

pub use group::GroupLauncher;
pub use leashed::LeashLauncher;

use crate::Vars;
use crate::environment::secrets_in;

/// Between TERM and KILL.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// What to run. No shell is between us and it.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment; nothing else is inherited, and of two values the last counts. May hold secrets.
    pub env: Vars,
    /// Stderr goes where stdout goes, in the order it is written; [`Launched::errors`] is empty then.
    pub joined: bool,
}

impl Program {
    /// Values of its environment that are keys by their name or their look: what it prints is masked by these.
    pub fn secrets(&self) -> Keyring {
        secrets_in(&self.env)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({:?}, in {:?})", self.argv, self.cwd)
    }
}

/// A program that runs.
pub struct Launched {
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    pub process: Box<dyn ChildProcess>,
    /// See [`Program::secrets`].
    pub secrets: Keyring,
}

/// How a program ended. Neither: it could not be told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exited with code {code}"),
            (None, Some(signal)) => write!(f, "was killed by signal {signal}"),
            (None, None) => f.write_str("ended"),
        }
    }
}

/// How hard a program is told to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndSignal {
    Interrupt,
    Terminate,
    Kill,
}

/// The process behind the pipes. Dropping it ends it and everything it started, without waiting.
pub trait ChildProcess: Send {
    /// Resolves when the program has ended. Safe to cancel and to ask again.
    fn ended(&mut self) -> Later<'_, Exit>;

    /// Signals the program and its group.
    fn signal(&mut self, signal: EndSignal);

    /// It was ended because it had this many processes.
    fn exceeded(&self) -> Option<i32> {
        None
    }

    /// As [`ChildProcess::ended`], in words that go on after the program's name.
    fn ended_in_words(&mut self) -> Later<'_, String> {
        Box::pin(async move {
            let exit = self.ended().await;
            self.exceeded().map_or_else(|| exit.to_string(), |count| format!("was ended: it had {count} processes"))
        })
    }

    /// TERM, a grace, KILL, for the program and everything it started.
    fn end(mut self: Box<Self>) -> Later<'static, ()>
    where
        Self: 'static,
    {
        Box::pin(async move {
            self.signal(EndSignal::Terminate);
            let _ = tokio::time::timeout(TERM_GRACE, self.ended()).await;
            self.signal(EndSignal::Kill);
            self.ended().await;
        })
    }
}

pub trait Launcher: Send + Sync {
    fn launch<'a>(&'a self, program: &'a Program) -> Later<'a, io::Result<Launched>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_reads_on_after_a_name() {
        let words = |code, signal| Exit { code, signal }.to_string();
        assert_eq!(words(Some(3), None), "exited with code 3");
        assert_eq!(words(None, Some(9)), "was killed by signal 9");
        assert_eq!(words(None, None), "ended");
    }
}
