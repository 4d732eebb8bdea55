//! The promises about faults, kept or broken by the real binary as a client sees it. One module per group: the session
//! log, lines, flow and processes, the model server, permission. A flow is written once over `Driver` and runs for every
//! dialect in the list of `drivers`. A small count runs always; `TILLERMAN_FULL=1`
//! runs the full one. What this machine cannot do says `SKIP <id>: reason`.

// A test that fails says what it saw, and a skipped one why.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod drivers;
mod worlds;

mod answers;
mod children;
mod flow;
mod greedy;
mod intent;
mod keys;
mod lines;
mod loaf_lines;
mod log;
mod mid_turn;
mod model;
mod mute;
mod power;
mod resume;
mod rpc_lines;
mod safety;
mod survive;

fn skip(id: &str, reason: &str) {
    println!("SKIP {id}: {reason}");
}
