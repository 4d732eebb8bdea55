//! One file per subcommand. Here, and in `main`, errors are for people; each command returns its exit code.

mod acp;
mod completions;
mod config;
mod doctor;
mod drive;
mod listing;
pub(crate) mod loaf;
mod models;
mod repl;
pub(crate) mod rpc;
mod run;
pub(crate) mod serve;
mod sessions;
mod tools;

use crate::args::{Command, SchemaOf};

/// It could not start: wrong usage, bad configuration, nothing of that name.
pub(crate) const USAGE: u8 = crate::terminal::NOT_STARTED;

pub(crate) fn dispatch(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Serve(args) => serve::run(&args),
        Command::Rpc(args) => rpc::run(args.words),
        Command::Loaf(args) => loaf::run(&args),
        Command::Acp(args) => acp::run(&args),
        Command::Run(args) => run::run(args),
        Command::Repl(args) => repl::run(args),
        Command::Drive(args) => drive::run(args),
        Command::Sessions(args) => sessions::run(args),
        Command::Models(args) => models::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Config(args) => config::run(args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Schema(args) => match args.dialect {
            SchemaOf::Serve => print(&dialect_serve::schema()),
            SchemaOf::Rpc => print(dialect_rpc::schema()),
            SchemaOf::Loaf => print(dialect_loaf::schema()),
            SchemaOf::Extension => print(extensions::schema()),
        },
        Command::Completions(args) => completions::run(&args),
        Command::Version => print(concat!("tillerman ", env!("CARGO_PKG_VERSION"))),
    }
}

fn print(text: &str) -> anyhow::Result<u8> {
    crate::print::say(&format!("{}\n", text.trim_end()))?;
    Ok(0)
}
