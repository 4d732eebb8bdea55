//! One file per subcommand. Here, and in `main`, errors are for people; each command returns its exit code.

pub(crate) mod acp;
mod attached;
mod bare;
mod completions;
mod config;
mod doctor;
mod drive;
mod gateway;
mod ledger;
pub(crate) mod loaf;
pub(crate) mod login;
mod models;
mod repl;
pub(crate) mod rpc;
mod run;
pub(crate) mod serve;
mod sessions;
mod stdio;
mod tools;

use crate::args::{CommandArgs, CommandLine, SchemaOf};

/// It could not start: wrong usage, bad configuration, nothing of that name.
pub(crate) const USAGE: u8 = dialect_terminal::exit_code::NOT_STARTED;

pub(crate) fn dispatch(line: CommandLine) -> anyhow::Result<u8> {
    let Some(command) = line.command else { return bare::run(line.bare, line.print) };
    match command {
        CommandArgs::Serve(args) => serve::run(&args),
        CommandArgs::Rpc(args) => rpc::run(args.words),
        CommandArgs::Loaf(args) => loaf::run(&args),
        CommandArgs::Acp(args) => acp::run(&args),
        CommandArgs::Gateway(args) => gateway::run(&args),
        CommandArgs::Run(args) => run::run(args),
        CommandArgs::Repl(args) => repl::run(args),
        CommandArgs::Drive(args) => drive::run(args),
        CommandArgs::Sessions(args) => sessions::run(args),
        CommandArgs::Models(args) => models::run(&args),
        CommandArgs::Tools(args) => tools::run(&args),
        CommandArgs::Audit(args) => ledger::audit(args),
        CommandArgs::Usage(args) => ledger::usage(&args),
        CommandArgs::Config(args) => config::run(args),
        CommandArgs::Doctor(args) => doctor::run(&args),
        CommandArgs::Login(args) => login::login(&args),
        CommandArgs::Logout(args) => login::logout(&args),
        CommandArgs::Accounts => login::accounts(),
        CommandArgs::Schema(args) => match args.dialect {
            SchemaOf::Serve => print(&dialect_serve::schema()),
            SchemaOf::Rpc => print(dialect_rpc::schema()),
            SchemaOf::Loaf => print(dialect_loaf::schema()),
            SchemaOf::Gateway => print(&format!("{:#}", dialect_gateway::openrpc(env!("CARGO_PKG_VERSION")))),
            SchemaOf::Acp => Err(published_elsewhere().into()),
            SchemaOf::Extension => print(extensions::schema()),
        },
        CommandArgs::Completions(args) => completions::run(&args),
        CommandArgs::Version => print(concat!("tillerman ", env!("CARGO_PKG_VERSION"))),
    }
}

/// The Agent Client Protocol is not ours to print.
fn published_elsewhere() -> vocab::Fault {
    let fault =
        vocab::Fault::new(vocab::FaultKind::Unsupported, "the schema of acp is published by the protocol itself");
    fault.hint("see https://agentclientprotocol.com; docs/dialects/acp.md says which part of it is spoken here")
}

/// Runs something that waits, on a runtime of its own. One thread is enough: nothing here computes for long.
fn block_on<T>(work: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work))
}

fn print(text: &str) -> anyhow::Result<u8> {
    crate::print::say(&format!("{}\n", text.trim_end()))?;
    Ok(0)
}
