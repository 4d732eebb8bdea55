//! One file per subcommand. Here, and in `main`, errors are for people; each command returns its exit code.

mod completions;
mod config;
pub(crate) mod serve;

use crate::args::Command;

/// It could not start: wrong usage, bad configuration, nothing of that name.
pub(crate) const USAGE: u8 = crate::terminal::NOT_STARTED;

pub(crate) fn dispatch(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Serve(args) => serve::run(&args),
        Command::Config(args) => config::run(args),
        Command::Completions(args) => completions::run(&args),
        Command::Version => {
            crate::print::say(concat!("tillerman ", env!("CARGO_PKG_VERSION"), "\n"))?;
            Ok(0)
        }
        _ => anyhow::bail!("not here yet"),
    }
}
