//! Starting and ending a program. The product brings a launcher that puts it on a leash, so that nothing survives us;
//! [`Grouped`] is the plain one: a process group of its own, signalled as a group.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use vocab::Later;

use crate::error::Exit;

/// What is started: its words, its place, its whole environment.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    /// Stderr goes where stdout goes, in the order it is written; `errors` is empty then.
    pub joined: bool,
}

/// A program that runs.
pub struct Started {
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    pub process: Box<dyn Process>,
}

/// How hard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strike {
    Interrupt,
    Terminate,
    Kill,
}

/// What stands behind the pipes. Dropping it ends it and everything it started, without waiting.
pub trait Process: Send {
    /// Resolves when the program has ended. Safe to cancel and to ask again.
    fn ended(&mut self) -> Later<'_, Exit>;
    /// Signals the program and its group.
    fn strike(&mut self, how: Strike);
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
            let mut command = Command::new(exe);
            command
                .args(args)
                .env_clear()
                .envs(program.env.iter().map(|(name, value)| (name, value)))
                .current_dir(&program.cwd)
                .process_group(0)
                .stdin(Stdio::piped())
                .kill_on_drop(true);
            let (output, output_end) = io::pipe()?;
            let (errors, errors_end) = match program.joined {
                true => (None, output_end.try_clone()?),
                false => io::pipe().map(|(errors, end)| (Some(errors), end))?,
            };
            let mut child = command.stdout(output_end).stderr(errors_end).spawn()?;
            // Our copies of the far ends go with it, or the output would never end.
            drop(command);
            let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
            let input = child.stdin.take().ok_or_else(|| io::Error::other("the pipe is missing"))?;
            let reader = |end: io::PipeReader| pipe::Receiver::from_owned_fd(end.into());
            let errors: Box<dyn AsyncRead + Send + Unpin> = match errors {
                Some(errors) => Box::new(reader(errors)?),
                None => Box::new(tokio::io::empty()),
            };
            let process = Group { child, group, exit: None };
            Ok(Started {
                input: Box::new(input),
                output: Box::new(reader(output)?),
                errors,
                process: Box::new(process),
            })
        })
    }
}

struct Group {
    child: Child,
    group: Option<Pid>,
    exit: Option<Exit>,
}

impl Process for Group {
    fn ended(&mut self) -> Later<'_, Exit> {
        Box::pin(async {
            if self.exit.is_none() {
                let status = self.child.wait().await;
                let exit = status.map(|status| Exit { code: status.code(), signal: status.signal() });
                self.exit = Some(exit.unwrap_or_default());
            }
            self.exit.clone().unwrap_or_default()
        })
    }

    fn strike(&mut self, how: Strike) {
        let signal = match how {
            Strike::Interrupt => Signal::INT,
            Strike::Terminate => Signal::TERM,
            Strike::Kill => Signal::KILL,
        };
        // Gone already is what we want.
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.strike(Strike::Kill);
    }
}
