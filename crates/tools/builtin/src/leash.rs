//! The leash: one tiny supervisor process around every shell command, so that nothing a command starts outlives us.
//!
//! Our own binary runs again as `<exe> __leash` ([`ARG`], the very first check in `main`, see [`run`]). It leads a
//! session of its own, is the reaper of everything below it (so a double fork, `setsid`, `nohup` or `env -i` does not
//! escape), and holds one end of a socket whose other end only we have. When that socket closes, for whatever reason,
//! `kill -9` included, the leash ends everything and then itself.
//!
//! The parent-death signal is deliberately not used: it fires when the *thread* that spawned us ends, and a leash
//! that dies of a signal leaves its children behind. A pidfd on the parent process is the second belt instead.
//!
//! A command may get a terminal: then it leads a session of its own below the leash, as [`stage`] tells.
//!
//! It knows nothing of tools, output limits or models. What it cannot hold: processes that a *different* service
//! starts on request (`systemd-run`, `at`, a container daemon), and those of another user (`sudo`) that we may not
//! signal.

mod holder;
mod pty;
mod stage;
mod supervisor;
mod sys;
mod talk;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

pub use holder::{Control, Held, LeashError, Spare, read_now};
pub use pty::{Size, Terminal};
pub use supervisor::run;
pub(crate) use supervisor::shell_in;
pub use talk::{COMMAND_BYTES_MAX, Report, Request};

/// A directory by its ordinary name, for a command to run in.
pub fn directory(path: &Path) -> io::Result<Arc<OwnedFd>> {
    crate::sys::open_root(path).map(Arc::new)
}

/// First argument that turns our binary into a leash.
pub const ARG: &str = "__leash";
