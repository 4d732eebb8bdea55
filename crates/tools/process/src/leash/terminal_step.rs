//! The step between the leash and a command that wants a terminal. A terminal belongs to a session, and only the leader
//! of that session can take it, before it becomes the command. So the leash runs our binary once more; that process makes
//! a session, takes the terminal, and is replaced by the shell. Nothing of it remains.
//!
//! The leash itself cannot lend its session: it would be hung up together with the terminal, and it has to survive that.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::Pid;

use super::ARG;
use super::holder::send_descriptors;
use super::messages::LeashRequest;
use super::supervisor::{receive, shell_command};

/// The name under which our binary runs as this step. Not an argument: `main`, which looks for [`ARG`], need not know it.
const NAME: &str = "leash-terminal";
/// What shells say when a command is there and cannot be started.
const CANNOT_START: i32 = 126;

/// Whether this process is the step, and not the leash.
pub(super) fn is_this() -> bool {
    std::env::args_os().next().is_some_and(|name| name == NAME)
}

/// The leash's side: starts the step and hands it everything. All our copies of the terminal are closed afterwards.
pub(super) fn spawn(request: &LeashRequest, terminal: OwnedFd) -> io::Result<Pid> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(own_binary()?)
        .arg0(NAME)
        .arg(ARG)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let payload = request.encode();
    send_descriptors(&ours, payload.len(), terminal, request.cwd.as_fd(), None)?;
    (&ours).write_all(&payload)?;
    Pid::from_raw(child.id() as i32).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The file may have been replaced or removed since we started; the kernel still knows which one we are.
fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

/// The step itself; returns only when the command could not be started, with the exit code. The terminal says why:
/// the reader of the command's output reads that.
pub(super) fn run() -> i32 {
    let Some((request, terminal, _)) = receive() else { return 2 };
    let error = match become_command(&request, &terminal) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    let _ = writeln!(std::fs::File::from(terminal), "cannot be started: {error}");
    CANNOT_START
}

fn become_command(request: &LeashRequest, terminal: &OwnedFd) -> io::Result<std::convert::Infallible> {
    rustix::process::setsid()?;
    rustix::process::ioctl_tiocsctty(terminal)?;
    rustix::process::fchdir(&request.cwd)?;
    let end = || terminal.try_clone().map(Stdio::from);
    Err(shell_command(request).stdin(end()?).stdout(end()?).stderr(end()?).exec())
}
