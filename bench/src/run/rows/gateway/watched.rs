//! One session, many who look on: what each costs, what slow ones do to others, and whether a cursor loses anything.

use std::collections::HashSet;
use std::ops::ControlFlow;

use anyhow::ensure;

use super::{converse, once, outcome, send, started};
use crate::run::agent::Contender;
use crate::run::gateway::Crowd;
use crate::run::proc::{cpu_ns, own_cpu_ns, status_bytes};
use crate::run::rows::stream::stamps;
use crate::run::table::{Outcome, Target, Unit};
use crate::run::{Bench, Place, percentile};

/// Watchers, words, and how far the words are apart: at most 20,000 frames in a second, so that nobody falls behind.
const WATCHED: [(usize, usize, u64); 2] = [(100, 400, 5000), (1000, 100, 50_000)];
const READERS: usize = 20;
const SLOW: usize = 20;
const FLOOD_WORDS: usize = 5000;
const FLOOD_EVERY_US: u64 = 1000;
const CUTS: usize = 200;
const CUT_WORDS: usize = 400;
const CUT_EVERY_US: u64 = 2000;

/// All connections but the first watch the first one's session.
fn watch_first(crowd: &mut Crowd) -> anyhow::Result<()> {
    let topics = format!(r#"{{"topics":["session:{}"]}}"#, crowd.session(0));
    (1..crowd.len()).try_for_each(|watcher| crowd.call(watcher, "events.subscribe", &topics).map(drop))
}

/// Lets all connections but the first watch the first one's session, and gives what it says then to the watchers.
fn flood(
    crowd: &mut Crowd,
    readers: usize,
    words: usize,
    every_us: u64,
    mut each: impl FnMut(&str, u64),
) -> anyhow::Result<()> {
    let ask = send(&crowd.session(0), &format!("say {words} words every {every_us} us"));
    crowd.ask(0, "agent.send", &ask)?;
    let (mut heard_words, mut answered) = (0, false);
    crowd.listen(|heard, _| {
        if heard.socket == 0 {
            answered |= heard.frame.result.is_some();
        } else if let Some(text) = heard.frame.words() {
            heard_words += text.bytes().filter(|&byte| byte == b'@').count();
            each(text, heard.at_ns);
        }
        let all = answered && heard_words >= readers * words;
        Ok(if all { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    ensure!(heard_words == readers * words, "{heard_words} of {} words arrived", readers * words);
    Ok(())
}

pub(crate) fn watch(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for (watchers, words, every_us) in WATCHED {
        let words = bench.times(words);
        let [ours, floor] = once(bench, &format!("gw-watch-{watchers}"), |who, place| {
            let (gateway, mut crowd) = started(bench, who, place, 1 + watchers)?;
            converse(&mut crowd, 1, 1, "say 1 word", |_, _| {})?;
            watch_first(&mut crowd)?;
            let (before, own) = (cpu_ns(gateway.pid()), own_cpu_ns());
            let mut frames = 0_u32;
            flood(&mut crowd, watchers, words, every_us, |_, _| frames += 1)?;
            let per = |ns: u64| ns as f64 / 1e3 / (watchers * words) as f64;
            let cpu = [per(cpu_ns(gateway.pid()) - before), per(own_cpu_ns() - own)];
            drop(crowd);
            gateway.finish()?;
            Ok([cpu[0], cpu[1], f64::from(frames)])
        })?;
        let note = format!(
            "{:.0} frames, floor {:.0}; driver and mock {:.2} us, floor {:.2}",
            ours[2], floor[2], ours[1], floor[1]
        );
        let label = format!("{watchers} watchers, CPU per word and watcher");
        outcomes.push(outcome(label, Unit::Us, ours[0], floor[0], Target::RatioAtMost(2.5), note));
    }
    Ok(outcomes)
}

/// Twenty that read and twenty that do not, against the twenty alone.
pub(crate) fn slow(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let words = bench.times(FLOOD_WORDS);
    let measure = |slow: usize| -> anyhow::Result<[f64; 2]> {
        let who: &Contender = &bench.ours;
        let place: Place = bench.place(&format!("gw-slow-{slow}"), who)?;
        let (gateway, mut crowd) = started(bench, who, &place, 1 + READERS + slow)?;
        converse(&mut crowd, 1, 1, "say 1 word", |_, _| {})?;
        watch_first(&mut crowd)?;
        (1 + READERS..crowd.len()).try_for_each(|watcher| crowd.stop_reading(watcher))?;
        let before = status_bytes(gateway.pid(), "VmRSS")?;
        let mut delays = Vec::new();
        flood(&mut crowd, READERS, words, FLOOD_EVERY_US, |text, at_ns| stamps(text, at_ns, &mut delays))?;
        let grown = status_bytes(gateway.pid(), "VmHWM")? - before;
        drop(crowd);
        gateway.finish()?;
        Ok([grown / 1e6, percentile(delays, 99)])
    };
    let (alone, beside) = (measure(0)?, measure(SLOW)?);
    let note = format!("{words} words to {READERS} that read and {SLOW} that do not");
    let growth = Target::AtMost(64.0);
    Ok(vec![
        outcome(
            "20 slow readers of 40 in a flood, growth (floor: none slow)",
            Unit::Mb,
            beside[0],
            alone[0],
            growth,
            note,
        ),
        outcome(
            "the others' delay p99 (floor: none slow)",
            Unit::Us,
            beside[1],
            alone[1],
            Target::RatioAtMost(1.5),
            String::new(),
        ),
    ])
}

/// A watcher whose connection is cut again and again, and that comes back with its cursor.
pub(crate) fn cuts(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let cuts = bench.times(CUTS);
    let place = bench.place("gw-cuts", &bench.ours)?;
    let (gateway, mut crowd) = started(bench, &bench.ours, &place, 1)?;
    let session = crowd.session(0);
    crowd.call(0, "sessions.create", &format!(r#"{{"sessionId":"{session}"}}"#))?;
    let prompt = format!("say {CUT_WORDS} words every {CUT_EVERY_US} us");
    let (mut said, mut seen) = (String::new(), String::new());
    let (mut cursor, mut runs, mut answered, mut done, mut cut) = ("0".to_owned(), 0, 0, 0, 0);
    while cut < cuts || done < runs {
        if runs == answered && runs == done {
            crowd.ask(0, "agent.send", &send(&session, &prompt))?;
            runs += 1;
        }
        crowd.join(1)?;
        crowd.ask(1, "events.subscribe", &format!(r#"{{"topics":["session:{session}"],"afterSeq":"{cursor}"}}"#))?;
        let mut left = 3 + (cut * 7919) % 40;
        crowd.listen(|heard, _| {
            let frame = &heard.frame;
            if heard.socket == 0 {
                said.push_str(frame.words().unwrap_or_default());
                answered += usize::from(frame.result.is_some());
            } else if frame.event.is_some() {
                seen.push_str(frame.words().unwrap_or_default());
                cursor = frame.cursor.as_deref().unwrap_or_default().to_owned();
                done += usize::from(frame.is("done"));
                left -= 1;
            }
            let over = left == 0 || (answered == runs && done == runs);
            Ok(if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        crowd.cut();
        cut += 1;
    }
    drop(crowd);
    gateway.finish()?;
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    let (said, seen) = (words(&said), words(&seen));
    let known: HashSet<&String> = seen.iter().collect();
    ensure!(said.len() == runs * CUT_WORDS, "{} of {} words arrived", said.len(), runs * CUT_WORDS);
    let gaps = said.iter().filter(|word| !known.contains(word)).count();
    let note = format!("{cut} cuts, {} words of {runs} runs", said.len());
    let row = |what: &str, count: usize, note| {
        outcome(
            format!("cuts resumed by cursor, {what}"),
            Unit::Count,
            count as f64,
            f64::NAN,
            Target::AtMost(0.0),
            note,
        )
    };
    Ok(vec![row("gaps", gaps, note), row("repeats", seen.len() - known.len(), String::new())])
}
