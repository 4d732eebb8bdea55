//! What the other wire formats of model APIs cost beside Chat Completions: the same words, the same agent.

use anyhow::ensure;

use crate::format::Format;
use crate::run::agent::Agent;
use crate::run::proc::cpu_ns;
use crate::run::table::{Outcome, Target, Unit};
use crate::run::{Bench, median};

const WORDS: usize = 20_000;

pub(super) fn formats(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let mut cpu: [Vec<f64>; 4] = Default::default();
    for round in 0..=bench.times(12) {
        // In turn, so that a slow moment of the machine meets all of them.
        for (at, format) in Format::ALL.into_iter().enumerate() {
            let place = bench.place(&format!("formats-{round}-{at}"), &bench.ours)?;
            let measured = per_word(bench, format, &place)?;
            if round > 0 {
                cpu[at].push(measured);
            }
        }
    }
    let [completions, others @ ..] = cpu.map(median);
    let named = Format::ALL.into_iter().skip(1).zip(others);
    Ok(named
        .map(|(format, ours)| Outcome {
            label: format!("20,000 deltas in {}, CPU per word (floor: Chat Completions)", format.api()).into(),
            unit: Unit::Us,
            ours,
            floor: completions,
            target: Target::RatioAtMost(1.5),
            note: String::new(),
        })
        .collect())
}

fn per_word(bench: &Bench, format: Format, place: &crate::run::Place) -> anyhow::Result<f64> {
    let mut agent = Agent::start(&bench.ours.with_models_in(format), place, bench.mock.addr)?;
    agent.turn("say 200 words")?;
    let before = cpu_ns(agent.pid());
    let mut words = 0;
    agent.watch(&format!("say {WORDS} words"), |frame, _| {
        words += frame.delta.iter().flat_map(|delta| delta.bytes()).filter(|&byte| byte == b'w').count();
    })?;
    let cpu = cpu_ns(agent.pid()) - before;
    ensure!(words == WORDS, "{words} of {WORDS} words arrived in {}", format.api());
    agent.finish()?;
    Ok(cpu as f64 / 1e3 / WORDS as f64)
}
