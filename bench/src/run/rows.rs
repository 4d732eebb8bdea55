//! The rows by name. Each measures both contenders and says what was promised.

mod disk;
mod formats;
mod gateway;
mod pi;
mod rounds;
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
    Row { name: "durable", measure: disk::durable },
    Row { name: "stream", measure: stream::stream },
    Row { name: "delay", measure: stream::delay },
    Row { name: "read", measure: rounds::read },
    Row { name: "echo", measure: rounds::echo },
    Row { name: "syncs", measure: disk::syncs },
    Row { name: "long", measure: rounds::long },
    Row { name: "turns", measure: stream::turns },
    Row { name: "growth", measure: stream::growth },
    Row { name: "resume", measure: start::resume },
    Row { name: "many", measure: start::many },
    Row { name: "formats", measure: formats::formats },
    Row { name: "rpc-spawn", measure: |bench| rpc(start::spawn(&bench.in_rpc())) },
    Row { name: "rpc-memory", measure: |bench| rpc(start::memory(&bench.in_rpc())) },
    Row { name: "rpc-turn", measure: |bench| rpc(stream::turn(&bench.in_rpc())) },
    Row { name: "rpc-durable", measure: |bench| rpc(disk::durable(&bench.in_rpc())) },
    Row { name: "rpc-stream", measure: |bench| rpc(stream::stream(&bench.in_rpc())) },
    Row { name: "rpc-delay", measure: |bench| rpc(stream::delay(&bench.in_rpc())) },
    Row { name: "rpc-read", measure: |bench| rpc(rounds::read(&bench.in_rpc())) },
    Row { name: "rpc-pi", measure: pi::pi },
    Row { name: "loaf-spawn", measure: |bench| loaf(start::spawn(&bench.in_loaf())) },
    Row { name: "loaf-memory", measure: |bench| loaf(start::memory(&bench.in_loaf())) },
    Row { name: "loaf-turn", measure: |bench| loaf(stream::turn(&bench.in_loaf())) },
    Row { name: "loaf-durable", measure: |bench| loaf(disk::durable(&bench.in_loaf())) },
    Row { name: "loaf-stream", measure: |bench| loaf(stream::stream(&bench.in_loaf())) },
    Row { name: "loaf-delay", measure: |bench| loaf(stream::delay(&bench.in_loaf())) },
    Row { name: "loaf-read", measure: |bench| loaf(rounds::read(&bench.in_loaf())) },
    Row { name: "loaf-resume", measure: |bench| loaf(start::resume(&bench.in_loaf())) },
    Row { name: "loaf-idle", measure: start::idle },
    Row { name: "loaf-beside", measure: disk::beside },
    Row { name: "acp-spawn", measure: |bench| acp(start::spawn(&bench.in_acp())) },
    Row { name: "acp-new", measure: |bench| acp(start::opened(&bench.in_acp())) },
    Row { name: "acp-memory", measure: |bench| acp(start::memory(&bench.in_acp())) },
    Row { name: "acp-turn", measure: |bench| acp(stream::turn(&bench.in_acp())) },
    Row { name: "acp-durable", measure: |bench| acp(disk::durable(&bench.in_acp())) },
    Row { name: "acp-stream", measure: |bench| acp(stream::stream(&bench.in_acp())) },
    Row { name: "acp-delay", measure: |bench| acp(stream::delay(&bench.in_acp())) },
    Row { name: "acp-read", measure: |bench| acp(rounds::read(&bench.in_acp())) },
    Row { name: "acp-resume", measure: |bench| acp(start::resume(&bench.in_acp())) },
    Row { name: "gw-start", measure: |bench| gateway::start(&bench.in_gateway()) },
    Row { name: "gw-idle", measure: |bench| gateway::idle(&bench.in_gateway()) },
    Row { name: "gw-sessions", measure: |bench| gateway::sessions(&bench.in_gateway()) },
    Row { name: "gw-turn", measure: |bench| gateway::turn(&bench.in_gateway()) },
    Row { name: "gw-many", measure: |bench| gateway::many(&bench.in_gateway()) },
    Row { name: "gw-streams", measure: |bench| gateway::streams(&bench.in_gateway()) },
    Row { name: "gw-delay", measure: |bench| gateway::delay(&bench.in_gateway()) },
    Row { name: "gw-watch", measure: |bench| gateway::watch(&bench.in_gateway()) },
    Row { name: "gw-slow", measure: |bench| gateway::slow(&bench.in_gateway()) },
    Row { name: "gw-cuts", measure: |bench| gateway::cuts(&bench.in_gateway()) },
    Row { name: "gw-crowd", measure: |bench| gateway::crowd(&bench.in_gateway()) },
];

type Measured = anyhow::Result<Vec<Outcome>>;

/// The same figures under another name.
fn named(dialect: &str, measured: Measured) -> Measured {
    let name = |outcome: Outcome| Outcome { label: format!("{dialect}: {}", outcome.label).into(), ..outcome };
    Ok(measured?.into_iter().map(name).collect())
}

fn rpc(measured: Measured) -> Measured {
    named("rpc", measured)
}

fn loaf(measured: Measured) -> Measured {
    named("loaf", measured)
}

fn acp(measured: Measured) -> Measured {
    named("acp", measured)
}

pub(crate) fn row_names() -> Vec<&'static str> {
    ROWS.iter().map(|row| row.name).collect()
}
