//! The rows by name. Each measures both contenders and says what was promised.

mod rounds;
mod rpc;
mod start;
mod stream;

use super::Bench;
use super::table::Outcome;

pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) measure: fn(&Bench) -> anyhow::Result<Vec<Outcome>>,
}

pub(super) const ROWS: &[Row] = &[
    Row { name: "spawn", measure: start::spawn },
    Row { name: "memory", measure: start::memory },
    Row { name: "turn", measure: stream::turn },
    Row { name: "stream", measure: stream::stream },
    Row { name: "delay", measure: stream::delay },
    Row { name: "read", measure: rounds::read },
    Row { name: "echo", measure: rounds::echo },
    Row { name: "long", measure: rounds::long },
    Row { name: "turns", measure: stream::turns },
    Row { name: "resume", measure: start::resume },
    Row { name: "many", measure: start::many },
    Row { name: "rpc-spawn", measure: |bench| rpc::named(start::spawn(&bench.in_rpc())) },
    Row { name: "rpc-memory", measure: |bench| rpc::named(start::memory(&bench.in_rpc())) },
    Row { name: "rpc-turn", measure: |bench| rpc::named(stream::turn(&bench.in_rpc())) },
    Row { name: "rpc-stream", measure: |bench| rpc::named(stream::stream(&bench.in_rpc())) },
    Row { name: "rpc-delay", measure: |bench| rpc::named(stream::delay(&bench.in_rpc())) },
    Row { name: "rpc-read", measure: |bench| rpc::named(rounds::read(&bench.in_rpc())) },
    Row { name: "rpc-pi", measure: rpc::pi },
];

pub(crate) fn row_names() -> Vec<&'static str> {
    ROWS.iter().map(|row| row.name).collect()
}
