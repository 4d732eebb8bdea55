//! Tool loops: what one round costs, and whether the five hundredth costs more than its request explains.

use anyhow::ensure;

use crate::mock::now_ns;
use crate::run::agent::Agent;
use crate::run::table::{Outcome, Target, Unit};
use crate::run::{Bench, NOTES};

const ROUNDS: usize = 50;
const LONG_ROUNDS: usize = 500;
/// Rounds averaged at each end of the long loop.
const LONG_END: usize = 100;

pub(super) fn read(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let call = format!(r#"read_file {{"path":"{NOTES}"}}"#);
    per_round(bench, "read", "50 read_file rounds, per round", &call, 4.0)
}

pub(super) fn echo(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    per_round(bench, "echo", "50 bash echo rounds, per round", r#"bash {"command":"echo hi"}"#, 1.8)
}

fn per_round(bench: &Bench, row: &str, label: &'static str, call: &str, most: f64) -> anyhow::Result<Vec<Outcome>> {
    let prompt = format!("rounds {ROUNDS} call {call}");
    let ([ours], [floor]) = bench.alternate(row, bench.times(12), |who, place| {
        let mut agent = Agent::start(who, place, bench.mock.addr)?;
        agent.turn("say 1 word")?;
        let mut results = 0;
        let took = agent.watch(&prompt, |frame, _| results += usize::from(frame.kind == "tool_result"))?;
        ensure!(results == ROUNDS, "{results} results of {ROUNDS}");
        agent.finish()?;
        Ok([took / ROUNDS as f64])
    })?;
    let target = Target::RatioAtMost(most);
    Ok(vec![Outcome { label: label.into(), unit: Unit::Ms, ours, floor, target, note: String::new() }])
}

/// By how much a round gets slower while the request grows, per 100 KB of request. The floor only copies and sends its
/// history, so its growth is what a body of that size costs.
pub(super) fn long(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let prompt = format!(r#"rounds {LONG_ROUNDS} call read_file {{"path":"{NOTES}"}}"#);
    let (ours, floor) = bench.alternate("long", bench.times(6), |who, place| {
        let mut agent = Agent::start(who, place, bench.mock.addr)?;
        agent.turn("say 1 word")?;
        let mut starts = Vec::new();
        agent.watch(&prompt, |frame, _| {
            if frame.kind == "tool_start" {
                starts.push((now_ns(), bench.mock.last_body_bytes()));
            }
        })?;
        ensure!(starts.len() == LONG_ROUNDS, "{} calls of {LONG_ROUNDS}", starts.len());
        agent.finish()?;
        let (first_us, first_bytes) = mean_round(&starts[..=LONG_END]);
        let (last_us, last_bytes) = mean_round(&starts[LONG_ROUNDS - LONG_END - 1..]);
        let growth = (last_us - first_us) / ((last_bytes - first_bytes) / 1e5);
        Ok([growth, first_us, last_us])
    })?;
    Ok(vec![Outcome {
        label: "500 read_file rounds, growth per round per 100 KB".into(),
        unit: Unit::Us,
        ours: ours[0],
        floor: floor[0],
        target: Target::RatioAtMost(1.5),
        note: format!("first 100: {:.0} us, last 100: {:.0}; floor {:.0}, {:.0}", ours[1], ours[2], floor[1], floor[2]),
    }])
}

/// Mean length of a round in microseconds and mean size of its request, between the first and the last start given.
fn mean_round(starts: &[(u64, usize)]) -> (f64, f64) {
    let rounds = (starts.len() - 1) as f64;
    let us = (starts[starts.len() - 1].0 - starts[0].0) as f64 / 1e3 / rounds;
    let bytes = starts.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>() / starts.len() as f64;
    (us, bytes)
}
