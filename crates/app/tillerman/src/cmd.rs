//! One file per subcommand. Here, and in `main`, errors are for people; each command returns its exit code.

mod acp;
mod bare;
mod completions;
mod config;
mod doctor;
mod drive;
mod listing;
pub(crate) mod loaf;
pub(crate) mod login;
mod models;
mod repl;
pub(crate) mod rpc;
mod run;
pub(crate) mod serve;
mod sessions;
mod tools;

use crate::args::{Command, Line, SchemaOf};

/// It could not start: wrong usage, bad configuration, nothing of that name.
pub(crate) const USAGE: u8 = dialect_terminal::exit_code::NOT_STARTED;

pub(crate) fn dispatch(line: Line) -> anyhow::Result<u8> {
    let Some(command) = line.command else { return bare::run(line.bare, line.print) };
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
        Command::Login(args) => login::login(&args),
        Command::Logout(args) => login::logout(&args),
        Command::Accounts => login::accounts(),
        Command::Schema(args) => match args.dialect {
            SchemaOf::Serve => print(&dialect_serve::schema()),
            SchemaOf::Rpc => print(dialect_rpc::schema()),
            SchemaOf::Loaf => print(dialect_loaf::schema()),
            SchemaOf::Acp => Err(published_elsewhere().into()),
            SchemaOf::Extension => print(extensions::schema()),
        },
        Command::Completions(args) => completions::run(&args),
        Command::Version => print(concat!("tillerman ", env!("CARGO_PKG_VERSION"))),
    }
}

/// The Agent Client Protocol is not ours to print.
fn published_elsewhere() -> vocab::Fault {
    let fault =
        vocab::Fault::new(vocab::FaultKind::Unsupported, "the schema of acp is published by the protocol itself");
    fault.hint("see https://agentclientprotocol.com; docs/dialects/acp.md says which part of it is spoken here")
}

fn print(text: &str) -> anyhow::Result<u8> {
    crate::print::say(&format!("{}\n", text.trim_end()))?;
    Ok(0)
}
