//! The leash: one tiny supervisor process around every command, so that nothing a command starts outlives us.
//!
//! Our own binary runs again as `<exe> __leash` ([`ARG`], the very first check in `main`, see [`run`]). It leads a
//! session of its own, is the reaper of everything below it (so a double fork, `setsid`, `nohup` or `env -i` does not
//! escape), and holds one end of a socket whose other end only we have. When that socket closes, for whatever reason,
//! `kill -9` included, the leash ends everything and then itself.
//!
//! The parent-death signal is deliberately not used: it fires when the *thread* that spawned us ends, and a leash
//! that dies of a signal leaves its children behind. A pidfd on the parent process is the second belt instead.
//!
//! A command may get a terminal: then it leads a session of its own below the leash, as [`terminal_step`] tells.
//!
//! It knows nothing of tools, output limits or models. What it cannot hold: processes that a *different* service
//! starts on request (`systemd-run`, `at`, a container daemon), and those of another user (`sudo`) that we may not
//! signal.

mod holder;
mod messages;
mod pty;
mod supervisor;
mod sys;
mod terminal_step;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

pub use holder::{Control, LeashError, OnLeash, Spare, read_now};
pub use messages::{COMMAND_BYTES_MAX, LeashRequest, Report};
pub use pty::{PseudoTerminal, TerminalSize};
pub use supervisor::{run, shell_in};

/// First argument that turns our binary into a leash.
pub const ARG: &str = "__leash";
/// Processes one command may have at a time. Generous for any build; beyond it all of them are ended and the report
/// says so.
pub const PIDS_MAX: u32 = 2048;

/// A handle that names a directory without opening it.
#[cfg(target_os = "linux")]
const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HANDLE: OFlags = OFlags::RDONLY;

/// A directory by its ordinary name, for a command to run in.
pub fn directory(path: &Path) -> io::Result<Arc<OwnedFd>> {
    let handle = rustix::fs::open(path, HANDLE | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(Arc::new(handle))
}
