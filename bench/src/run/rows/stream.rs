//! Answers: a short one, a long one, a slow one, and many in a row.

use anyhow::ensure;

use crate::mock::now_ns;
use crate::run::agent::Agent;
use crate::run::proc::cpu_ns;
use crate::run::table::{Outcome, Target, Unit};
use crate::run::{Bench, median};
use crate::sse::{Client, Heard};

const WORDS: usize = 20_000;
const TURN_REPEATS: usize = 40;
/// Where a session counts as young and as old, and how many turns are measured there.
const EARLY_TURN: usize = 50;
const LATE_TURN: usize = 2000;
const GROWTH_TURNS: usize = 40;
pub(super) const PACED: &str = "say 1000 words every 1000 us";
const PACED_WORDS: usize = 1000;

pub(super) fn turn(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let (mut direct, mut afresh) = (Vec::new(), Vec::new());
    let ([ours], [relay]) = bench.alternate("turn", bench.times(8), |who, place| {
        let mut agent = Agent::start(who, place, bench.mock.addr)?;
        let base = format!("http://{}/v1", bench.mock.addr);
        let mut client = Client::new(&base)?;
        agent.turn("say 1 word")?;
        fetch(&mut client, "say 1 word", |_, _| {})?;
        let mut turns = Vec::new();
        for _ in 0..TURN_REPEATS {
            turns.push(agent.turn("say 1 word")?);
            direct.push(fetch(&mut client, "say 1 word", |_, _| {})?);
        }
        // After the loop: the mock's new threads would be in the way of the turns.
        for _ in 0..TURN_REPEATS {
            afresh.push(fetch(&mut Client::new(&base)?, "say 1 word", |_, _| {})?);
        }
        agent.finish()?;
        Ok([median(turns)])
    })?;
    let direct = median(direct);
    Ok(vec![Outcome {
        label: "one-word turn (floor: a direct fetch)".into(),
        unit: Unit::Ms,
        ours,
        floor: direct,
        target: Target::RatioAtMost(5.0),
        note: format!(
            "the relay {relay:.2} ms, {:.2}x; a fetch on a new connection {:.2} ms",
            relay / direct,
            median(afresh)
        ),
    }])
}

pub(super) fn stream(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let prompt = format!("say {WORDS} words");
    let (ours, floor) = bench.alternate("stream", bench.times(12), |who, place| {
        let mut agent = Agent::start(who, place, bench.mock.addr)?;
        agent.turn("say 200 words")?;
        let before = cpu_ns(agent.pid());
        let mut words = 0;
        let mut lines = 0;
        let took = agent.watch(&prompt, |frame, _| {
            if let Some(delta) = &frame.delta {
                words += delta.bytes().filter(|&byte| byte == b'w').count();
                lines += 1;
            }
        })?;
        let cpu = cpu_ns(agent.pid()) - before;
        ensure!(words == WORDS, "{words} of {WORDS} words arrived");
        agent.finish()?;
        Ok([WORDS as f64 / took * 1e3, cpu as f64 / 1e3 / WORDS as f64, f64::from(lines)])
    })?;
    Ok(vec![
        Outcome {
            label: "20,000 one-word deltas, words".into(),
            unit: Unit::PerSecond,
            ours: ours[0],
            floor: floor[0],
            target: Target::RatioAtLeast(0.45),
            note: format!("in {:.0} lines, floor {:.0}", ours[2], floor[2]),
        },
        Outcome {
            label: "20,000 one-word deltas, CPU per word".into(),
            unit: Unit::Us,
            ours: ours[1],
            floor: floor[1],
            target: Target::RatioAtMost(2.5),
            note: String::new(),
        },
    ])
}

/// The delay an agent adds: from the model's write to the controller's read, less what a direct reader sees.
pub(super) fn delay(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let mut direct = Vec::new();
    let ([ours], [floor]) = bench.alternate("delay", bench.times(4), |who, place| {
        let mut agent = Agent::start(who, place, bench.mock.addr)?;
        agent.turn("say 1 word")?;
        let mut delays = Vec::new();
        agent.watch(PACED, |frame, at_ns| {
            stamps(frame.delta.as_deref().unwrap_or_default(), at_ns, &mut delays);
        })?;
        ensure!(delays.len() == PACED_WORDS, "{} of {PACED_WORDS} stamps arrived", delays.len());
        agent.finish()?;
        let mut by_hand = Vec::new();
        fetch(&mut client(bench)?, PACED, |event, at_ns| {
            stamps(&String::from_utf8_lossy(event), at_ns, &mut by_hand);
        })?;
        direct.push(median(by_hand));
        Ok([median(delays)])
    })?;
    let direct = median(direct);
    Ok(vec![Outcome {
        label: "delay added per delta, p50".into(),
        unit: Unit::Us,
        ours: ours - direct,
        floor: floor - direct,
        target: Target::RatioAtMost(1.4),
        note: format!("whole way {ours:.0} us, floor {floor:.0}, direct {direct:.0}: {:.2}x", ours / floor),
    }])
}

/// Ages of the stamps `@NANOS` in a text, in microseconds.
pub(super) fn stamps(text: &str, at_ns: u64, into: &mut Vec<f64>) {
    let digits = |piece: &str| piece.split(|c: char| !c.is_ascii_digit()).next().and_then(|d| d.parse::<u64>().ok());
    into.extend(text.split('@').skip(1).filter_map(digits).map(|stamp| at_ns.saturating_sub(stamp) as f64 / 1e3));
}

/// Whether a session gets slower as it goes on: the last three of ten turns over the first three.
pub(super) fn turns(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let ([ours], [floor]) = bench.alternate("turns", bench.times(12), |who, place| {
        let mut agent = Agent::start(who, place, bench.mock.addr)?;
        agent.turn("say 200 words")?;
        let mut turns = Vec::new();
        for _ in 0..10 {
            turns.push(agent.turn("say 2000 words")?);
        }
        agent.finish()?;
        let mean = |turns: &[f64]| turns.iter().sum::<f64>() / turns.len() as f64;
        Ok([mean(&turns[7..]) / mean(&turns[..3])])
    })?;
    Ok(vec![Outcome {
        label: "ten 2,000-word turns, last three over first three".into(),
        unit: Unit::Times,
        ours,
        floor,
        target: Target::AtMost(1.1),
        note: String::new(),
    }])
}

/// Whether a turn costs more the longer the session is: CPU per one-word turn around turn 2,000 over that around turn 50.
pub(super) fn growth(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let late = if bench.is_quick() { LATE_TURN / 4 } else { LATE_TURN };
    let (ours, floor) = bench.alternate("growth", bench.times(2), |who, place| {
        let mut agent = Agent::start(who, place, bench.mock.addr)?;
        let mut per_turn = |from: usize, done: &mut usize| -> anyhow::Result<f64> {
            while *done < from {
                agent.turn("say 1 word")?;
                *done += 1;
            }
            let before = cpu_ns(agent.pid());
            for _ in 0..GROWTH_TURNS {
                agent.turn("say 1 word")?;
            }
            *done += GROWTH_TURNS;
            Ok((cpu_ns(agent.pid()) - before) as f64 / 1e3 / GROWTH_TURNS as f64)
        };
        let mut done = 0;
        let (first, last) = (per_turn(EARLY_TURN, &mut done)?, per_turn(late, &mut done)?);
        agent.finish()?;
        Ok([last / first, first, last])
    })?;
    Ok(vec![Outcome {
        label: "CPU of a one-word turn, late in a session over early".into(),
        unit: Unit::Times,
        ours: ours[0],
        floor: floor[0],
        target: Target::AtMost(1.2),
        note: format!("turn {EARLY_TURN}: {:.0} us, turn {late}: {:.0} us; the request grows, too", ours[1], ours[2]),
    }])
}

pub(super) fn client(bench: &Bench) -> anyhow::Result<Client> {
    Client::new(&format!("http://{}/v1", bench.mock.addr))
}

/// What the same answer costs without any agent: milliseconds from the request to the end of the stream.
pub(super) fn fetch(client: &mut Client, prompt: &str, mut each: impl FnMut(&[u8], u64)) -> anyhow::Result<f64> {
    let body = format!(r#"{{"model":"mock/alpha","stream":true,"messages":[{{"role":"user","content":"{prompt}"}}]}}"#);
    let start = now_ns();
    client.post(&[body.as_bytes()], &mut |heard| {
        if let Heard::Event(event) = heard {
            each(event, now_ns());
        }
        Ok(())
    })?;
    Ok((now_ns() - start) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_deltas_still_tell_the_age_of_each_word() {
        let mut ages = Vec::new();
        stamps("@1000 @3000 ", 5000, &mut ages);
        stamps("no stamp", 5000, &mut ages);
        assert_eq!(ages, [4.0, 2.0]);
    }
}
