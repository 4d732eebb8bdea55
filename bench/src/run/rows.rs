//! The rows by name. Each measures both contenders and says what was promised.

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
    Row { name: "stream", measure: stream::stream },
    Row { name: "delay", measure: stream::delay },
    Row { name: "read", measure: rounds::read },
    Row { name: "echo", measure: rounds::echo },
    Row { name: "long", measure: rounds::long },
    Row { name: "turns", measure: stream::turns },
    Row { name: "resume", measure: start::resume },
    Row { name: "many", measure: start::many },
];

pub(crate) fn row_names() -> Vec<&'static str> {
    ROWS.iter().map(|row| row.name).collect()
}
