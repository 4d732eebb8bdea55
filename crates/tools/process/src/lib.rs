//! Child processes, for every crate that starts one: a supervisor that holds it and everything it starts ([`leash`]), launching with
//! pipes ([`Launcher`]), short ones whose output is an answer ([`capture`]), the environment it may see ([`EnvironmentRules`]), the last lines of what it wrote, without
//! keys in them ([`OutputTail`]).
//!
//! It knows nothing of tools, servers, extensions, agents or sessions.

mod capture;
mod environment;
mod launch;
pub mod leash;
mod output_tail;

pub use capture::{CaptureLimits, Captured, capture};
pub use environment::{EnvironmentRules, Vars, clean_environment, on_terminal};
pub use launch::{ChildProcess, EndSignal, Exit, GroupLauncher, Launched, Launcher, LeashLauncher, Program};
pub use output_tail::{OutputTail, TAIL_LINES};
