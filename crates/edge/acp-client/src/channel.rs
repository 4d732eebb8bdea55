//! Ways to an agent: a local process, one behind ssh, one behind HTTP, a pipe in memory. Behind one trait, so that a connection neither
//! knows nor cares which.

mod environment;
mod find;
mod memory;
mod process;
mod ssh;
mod web;

pub use environment::{LoginShell, NoProbe, Probe, Vars};
pub use find::find_program;
pub use memory::{AgentLife, Memory, MemoryPeer, memory};
pub use process::{ProcessChannel, ShellProbe};
pub use ssh::{Ssh, SshChannel};
pub use web::WebChannel;

use std::io;

use ::process::Launched;
use vocab::Later;

/// A way to an agent. It can be opened again after it broke.
pub trait Channel: Send + Sync {
    fn open(&self) -> Later<'_, io::Result<Launched>>;
    /// The agent's command, word by word, for messages and hints.
    fn command(&self) -> Vec<String>;
    /// Whether something else may speak before the agent does: a login banner, an rc file.
    fn has_banner(&self) -> bool {
        false
    }
}
