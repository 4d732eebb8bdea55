//! The port through which a server is started. The product brings a launcher that puts it on a leash; [`Grouped`] is the plain
//! one: a process group of its own, ended as a group.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, Command};
use vocab::Later;

/// Between TERM and KILL.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// What to run. No shell is between us and it.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment; nothing else is inherited, and of two values the last counts. May hold secrets.
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

/// Starts a program as the leader of its own process group.
pub struct Grouped;

impl Launcher for Grouped {
    fn launch<'a>(&'a self, program: &'a Program) -> Later<'a, io::Result<Started>> {
        Box::pin(async move {
            let (exe, args) = program.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            let mut child = Command::new(exe)
                .args(args)
                .env_clear()
                .envs(program.env.iter().map(|(name, value)| (name, value)))
                .current_dir(&program.cwd)
                .process_group(0)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()?;
            let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
            let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            let (Some(input), Some(output), Some(errors)) = pipes else {
                return Err(io::Error::other("the pipes are missing"));
            };
            let process = Group { child, group, status: None };
            Ok(Started {
                input: Box::new(input),
                output: Box::new(output),
                errors: Box::new(errors),
                process: Box::new(process),
            })
        })
    }
}

struct Group {
    child: Child,
    group: Option<Pid>,
    status: Option<String>,
}

impl Group {
    fn signal(&self, signal: Signal) {
        // Gone already is what we want.
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Process for Group {
    fn ended(&mut self) -> Later<'_, String> {
        Box::pin(async {
            if let Some(status) = &self.status {
                return status.clone();
            }
            let status = match self.child.wait().await {
                Ok(status) => words(status),
                Err(error) => format!("ended: {error}"),
            };
            self.status.insert(status).clone()
        })
    }

    fn end(mut self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(TERM_GRACE, self.ended()).await;
            self.signal(Signal::KILL);
            self.ended().await;
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}
