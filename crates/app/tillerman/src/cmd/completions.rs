//! `completions SHELL`: a script made from the same table as the help.

use crate::args;
use crate::print::exactly;

pub(crate) fn run(args: &args::CompletionsArgs) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::line(), "tillerman", &mut script);
    exactly(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
