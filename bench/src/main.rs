//! Measures an agent that speaks `serve` against the least that could do the job. Ratios, not seconds: both sides run
//! on the same machine in the same minute. See `bench/README.md`.

mod format;
mod mock;
mod relay;
mod run;
mod script;
mod sse;
mod ws;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};

const USAGE: &str = "\
usage: bench run [--only ROW] [--agent 'PATH [ARGS]'] [--quick | --tiny]   measure and print the table
       bench mock [--port PORT]                                   the mock model server alone
       bench relay --workspace DIR [--resume latest]              the floor alone, on stdin and stdout
       bench gateway-relay                                        the floor of the gateway rows, on a port of its own
       bench rows                                                 the names `--only` knows
       bench layout [--agent 'PATH [ARGS]']                       what a release build puts side by side, on stdout

examples:
  bench run                                      target/release/tillerman against the floor
  bench run --only stream --quick                one row, few repetitions
  bench run --agent 'target/release/bench relay' the floor against itself: every ratio near 1
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some("run") => run::Options::parse(&args[1..]).and_then(|options| run::run(&options)),
        Some("layout") => run::Options::parse(&args[1..]).and_then(|options| run::layout(&options)),
        Some("mock") => port(&args[1..]).and_then(mock::serve_for_ever),
        Some("relay") => relay::Flags::parse(&args[1..]).and_then(|flags| relay::relay(&flags)),
        Some("gateway-relay") => relay::gateway(),
        Some("rows") => say(&run::row_names().join("\n")),
        Some("help" | "--help" | "-h") => say(USAGE.trim_end()),
        _ => Err(anyhow::anyhow!("{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is closed too.
            let _ = writeln!(io::stderr(), "bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn port(args: &[String]) -> anyhow::Result<u16> {
    match args {
        [] => Ok(0),
        [flag, port] if flag == "--port" => port.parse().with_context(|| format!("`{port}` is not a port")),
        _ => bail!("{USAGE}"),
    }
}

fn say(text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout(), "{text}").context("stdout")
}
