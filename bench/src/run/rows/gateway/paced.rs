//! Words that come slowly: how much later than a direct reader a client has them.

use anyhow::ensure;

use super::{converse, once, outcome, started};
use crate::run::proc::{cpu_ns, own_cpu_ns};
use crate::run::rows::stream::{PACED, client, fetch, stamps};
use crate::run::table::{Outcome, Target, Unit};
use crate::run::{Bench, median, percentile};

const STREAMS: usize = 10;
const WORDS: usize = 400;
const EVERY_US: u64 = 5000;
/// Connections that say nothing, and those that stream beside them.
const IDLE: usize = 10_000;
const LIVE: usize = 100;
const LIVE_WORDS: usize = 200;
const LIVE_EVERY_US: u64 = 20_000;

pub(crate) fn delay(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let mut direct = Vec::new();
    fetch(&mut client(bench)?, PACED, |event, at_ns| stamps(&String::from_utf8_lossy(event), at_ns, &mut direct))?;
    let direct = median(direct);
    let prompt = format!("say {WORDS} words every {EVERY_US} us");
    let (ours, floor) = bench.alternate("gw-delay", bench.times(3), |who, place| {
        let (gateway, mut crowd) = started(bench, who, place, STREAMS)?;
        converse(&mut crowd, STREAMS, 1, "say 1 word", |_, _| {})?;
        let mut delays = Vec::new();
        converse(&mut crowd, STREAMS, 1, &prompt, |text, at_ns| stamps(text, at_ns, &mut delays))?;
        ensure!(delays.len() == STREAMS * WORDS, "{} of {} stamps arrived", delays.len(), STREAMS * WORDS);
        drop(crowd);
        gateway.finish()?;
        Ok([median(delays.clone()), percentile(delays, 99)])
    })?;
    let row = |label: &str, n: usize, most| {
        let note = format!("whole way {:.0} us, floor {:.0}, direct {direct:.0}", ours[n], floor[n]);
        outcome(label, Unit::Us, ours[n] - direct, floor[n] - direct, Target::RatioAtMost(most), note)
    };
    Ok(vec![row("delay added per delta, p50", 0, 1.8), row("delay added per delta, p99", 1, 2.5)])
}

/// The live ones beside thousands that are only there.
pub(crate) fn crowd(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let idle = bench.times(IDLE);
    let prompt = format!("say {LIVE_WORDS} words every {LIVE_EVERY_US} us");
    let [ours, floor] = once(bench, "gw-crowd", |who, place| {
        let (gateway, mut crowd) = started(bench, who, place, LIVE + idle)?;
        converse(&mut crowd, LIVE, 1, "say 1 word", |_, _| {})?;
        let (before, own) = (cpu_ns(gateway.pid()), own_cpu_ns());
        let mut delays = Vec::new();
        converse(&mut crowd, LIVE, 1, &prompt, |text, at_ns| stamps(text, at_ns, &mut delays))?;
        ensure!(delays.len() == LIVE * LIVE_WORDS, "{} of {} stamps arrived", delays.len(), LIVE * LIVE_WORDS);
        let per = |ns: u64| ns as f64 / 1e3 / (LIVE * LIVE_WORDS) as f64;
        let cpu = [per(cpu_ns(gateway.pid()) - before), per(own_cpu_ns() - own)];
        drop(crowd);
        gateway.finish()?;
        Ok([percentile(delays.clone(), 99), median(delays), cpu[0], cpu[1]])
    })?;
    let note = format!(
        "p50 {:.0} us, floor {:.0}; CPU per word {:.1} us, floor {:.1}, driver and mock {:.1}",
        ours[1], floor[1], ours[2], floor[2], ours[3]
    );
    let label = format!("{idle} idle and {LIVE} streaming, delay p99");
    Ok(vec![outcome(label, Unit::Us, ours[0], floor[0], Target::RatioAtMost(2.5), note)])
}
