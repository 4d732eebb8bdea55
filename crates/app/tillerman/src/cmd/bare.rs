//! `tillerman` without a command: a conversation where somebody sits at a terminal and has said nothing yet, otherwise one turn.

use std::io::Write;

use console::StandardStreams;
use vocab::{Fault, FaultKind};

use super::{repl, run};
use crate::args;

pub(crate) fn run(args: args::RunArgs, print: bool) -> anyhow::Result<u8> {
    let silent = args.prompt.is_empty();
    if silent && !print && !args.json && StandardStreams::look().has_reader() {
        let args::RunArgs { yes, continues, attach, basics, .. } = args;
        return repl::run(args::Repl { yes, continues, attach, basics });
    }
    match run::run(args) {
        // Nobody said anything, not even through a pipe: here is what can be said.
        Err(error) if silent && !print && is_empty_prompt(&error) => {
            let _ = write!(std::io::stderr().lock(), "{}", args::line().render_help());
            Ok(super::USAGE)
        }
        ended => ended,
    }
}

fn is_empty_prompt(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Fault>().is_some_and(|fault| fault.kind == FaultKind::EmptyPrompt)
}
