//! Turns: one after the other, many beside each other, long ones.

use std::time::Instant;

use anyhow::ensure;

use super::{converse, outcome, started};
use crate::run::proc::{cpu_ns, own_cpu_ns};
use crate::run::table::{Outcome, Target, Unit};
use crate::run::{Bench, median, percentile};

/// Below what one connection may ask at once.
const TURNS: usize = 400;
const MANY: [usize; 2] = [20, 100];
const MANY_TURNS: usize = 40;
const STREAMS: [usize; 2] = [10, 100];
const WORDS: usize = 2000;

/// One client, one session, one word.
pub(crate) fn turn(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let (ours, floor) = bench.alternate("gw-turn", bench.times(4), |who, place| {
        let (gateway, mut crowd) = started(bench, who, place, 1)?;
        converse(&mut crowd, 1, 5, "say 1 word", |_, _| {})?;
        let took = converse(&mut crowd, 1, bench.times(TURNS), "say 1 word", |_, _| {})?;
        drop(crowd);
        gateway.finish()?;
        Ok([median(took.clone()), percentile(took, 99)])
    })?;
    let row = |label: &str, n: usize, most| {
        outcome(label, Unit::Ms, ours[n], floor[n], Target::RatioAtMost(most), String::new())
    };
    Ok(vec![row("one-word turn, p50", 0, 2.0), row("one-word turn, p99", 1, 2.5)])
}

/// As many clients as sessions, all at once.
pub(crate) fn many(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for sessions in MANY {
        let turns = bench.times(MANY_TURNS);
        let (ours, floor) = bench.alternate(&format!("gw-many-{sessions}"), bench.times(3), |who, place| {
            let (gateway, mut crowd) = started(bench, who, place, sessions)?;
            converse(&mut crowd, sessions, 2, "say 1 word", |_, _| {})?;
            let (before, own) = (cpu_ns(gateway.pid()), own_cpu_ns());
            let start = Instant::now();
            let took = converse(&mut crowd, sessions, turns, "say 1 word", |_, _| {})?;
            let s = start.elapsed().as_secs_f64();
            let (cpu, own) = (cpu_ns(gateway.pid()) - before, own_cpu_ns() - own);
            drop(crowd);
            gateway.finish()?;
            let per = |ns: u64| ns as f64 / 1e3 / took.len() as f64;
            Ok([took.len() as f64 / s, per(cpu), percentile(took.clone(), 99), per(own)])
        })?;
        let row = |what: &str, unit, n: usize, target, note| {
            outcome(format!("{sessions} sessions, {what}"), unit, ours[n], floor[n], target, note)
        };
        let own = format!("driver and mock {:.0} us per turn, floor {:.0}", ours[3], floor[3]);
        outcomes.extend([
            row("turns", Unit::PerSecond, 0, Target::RatioAtLeast(0.35), own),
            row("CPU per turn", Unit::Us, 1, Target::RatioAtMost(3.0), String::new()),
            row("p99", Unit::Ms, 2, Target::RatioAtMost(3.0), String::new()),
        ]);
    }
    Ok(outcomes)
}

/// Long answers beside each other, as fast as they come.
pub(crate) fn streams(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let prompt = format!("say {WORDS} words");
    let mut outcomes = Vec::new();
    for streams in STREAMS {
        let (ours, floor) = bench.alternate(&format!("gw-streams-{streams}"), bench.times(4), |who, place| {
            let (gateway, mut crowd) = started(bench, who, place, streams)?;
            converse(&mut crowd, streams, 1, "say 1 word", |_, _| {})?;
            let (before, own) = (cpu_ns(gateway.pid()), own_cpu_ns());
            let start = Instant::now();
            let (mut words, mut frames) = (0, 0_u32);
            converse(&mut crowd, streams, 1, &prompt, |text, _| {
                words += text.bytes().filter(|&byte| byte == b'w').count();
                frames += 1;
            })?;
            let s = start.elapsed().as_secs_f64();
            ensure!(words == streams * WORDS, "{words} of {} words arrived", streams * WORDS);
            let (cpu, own) = (cpu_ns(gateway.pid()) - before, own_cpu_ns() - own);
            drop(crowd);
            gateway.finish()?;
            let per = |ns: u64| ns as f64 / 1e3 / words as f64;
            Ok([words as f64 / s, per(cpu), per(own), f64::from(frames)])
        })?;
        let note = format!(
            "in {:.0} frames, floor {:.0}; driver and mock {:.2} us per word, floor {:.2}",
            ours[3], floor[3], ours[2], floor[2]
        );
        let row = |what: &str, unit, n: usize, target, note| {
            outcome(format!("{streams} streams of 2,000 words, {what}"), unit, ours[n], floor[n], target, note)
        };
        outcomes.extend([
            row("words", Unit::PerSecond, 0, Target::RatioAtLeast(0.4), note),
            row("CPU per word", Unit::Us, 1, Target::RatioAtMost(3.0), String::new()),
        ]);
    }
    Ok(outcomes)
}
