//! The `tillerman` binary: arguments, configuration, wiring, exit codes. What it can do lives in the crates below it; here
//! is only which of it a command line asks for.

mod args;
mod cmd;
mod compose;
mod extension_host;
mod leash_hook;
mod print;
mod setup;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == process::leash::ARG) {
        return leash_hook::enter();
    }
    host::survive_file_limits();
    let done = cmd::dispatch(args::parse());
    telemetry::finish();
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            print::report(&error);
            ExitCode::from(cmd::USAGE)
        }
    }
}
