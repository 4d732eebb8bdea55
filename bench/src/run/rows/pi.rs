//! The rows beside the original agent of the `rpc` family.

use anyhow::ensure;

use crate::run::Bench;
use crate::run::agent::Agent;
use crate::run::proc::cpu_ns;
use crate::run::table::{Outcome, Target, Unit};

/// Words of one answer beside the original: it dies of 20,000.
const WORDS: usize = 5_000;

/// Ours beside the original; nothing where its package is not named with `--pi`.
pub(super) fn pi(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let Some(pi) = &bench.pi else { return Ok(Vec::new()) };
    let mut bench = bench.in_rpc();
    bench.floor = pi.clone();
    let prompt = format!("say {WORDS} words");
    let (ours, theirs) = bench.alternate("rpc-pi", bench.times(4), |who, place| {
        let mut agent = Agent::start(who, place, bench.mock.addr)?;
        let ready = agent.ready_ms;
        agent.turn("say 10 words")?;
        let before = cpu_ns(agent.pid());
        let mut words = 0;
        let took = agent.watch(&prompt, |frame, _| {
            words += frame.delta.iter().flat_map(|delta| delta.bytes()).filter(|&byte| byte == b'w').count();
        })?;
        let cpu = cpu_ns(agent.pid()) - before;
        ensure!(words == WORDS, "{words} of {WORDS} words arrived");
        agent.finish()?;
        Ok([WORDS as f64 / took * 1e3, cpu as f64 / 1e3 / WORDS as f64, ready])
    })?;
    let row = |label: &'static str, unit, n: usize, target| Outcome {
        label: label.into(),
        unit,
        ours: ours[n],
        floor: theirs[n],
        target,
        note: "the floor is pi".into(),
    };
    Ok(vec![
        row("rpc: 5,000 one-word deltas beside pi, words", Unit::PerSecond, 0, Target::RatioAtLeast(10.0)),
        row("rpc: 5,000 one-word deltas beside pi, CPU per word", Unit::Us, 1, Target::RatioAtMost(0.1)),
        row("rpc: spawn to first word beside pi", Unit::Ms, 2, Target::RatioAtMost(0.1)),
    ])
}
