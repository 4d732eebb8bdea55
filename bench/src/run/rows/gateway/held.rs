//! Starting, and what it costs to hold connections and sessions.

use std::thread;
use std::time::{Duration, Instant};

use super::{once, outcome, send, started};
use crate::run::gateway::{Crowd, GatewayProcess};
use crate::run::proc::{cpu_ns, descriptors, pss_mb, status_bytes};
use crate::run::table::{Outcome, Target, Unit};
use crate::run::{Bench, median};

/// What a process still does after its last frame is over by then.
const SETTLE: Duration = Duration::from_millis(200);
const SOCKETS: usize = 10_000;
const WARM_UP: usize = 200;
/// Longer than the time between two pings.
const WATCHED_IDLE: Duration = Duration::from_secs(27);
const SESSIONS: usize = 10_000;
/// Longer than a session lingers behind its last peer, so that it holds what it holds for nobody.
const LINGERED: Duration = Duration::from_secs(70);
/// So that none asks more often than a connection may.
const CLIENTS: usize = 40;
const LISTS: usize = 60;

pub(crate) fn start(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let (ours, floor) = bench.alternate("gw-start", bench.times(20), |who, place| {
        let gateway = GatewayProcess::start(who, place, bench.mock.addr)?;
        let listening = gateway.started.elapsed();
        let mut crowd = Crowd::new(gateway.addr)?;
        crowd.join(1)?;
        crowd.call(0, "system.info", "{}")?;
        let took = gateway.started.elapsed();
        drop(crowd);
        thread::sleep(SETTLE);
        let mb = pss_mb(gateway.pid())?;
        gateway.finish()?;
        Ok([took.as_secs_f64() * 1e3, mb, listening.as_secs_f64() * 1e3])
    })?;
    let note = format!("listens after {:.1} ms, floor {:.1}", ours[2], floor[2]);
    Ok(vec![
        outcome("start to first answer", Unit::Ms, ours[0], floor[0], Target::RatioAtMost(4.0), note),
        outcome("PSS at rest", Unit::Mb, ours[1], floor[1], Target::AtMost(20.0), String::new()),
    ])
}

/// Authenticated connections that say nothing.
pub(crate) fn idle(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let count = bench.times(SOCKETS);
    let [ours, floor] = once(bench, "gw-idle", |who, place| {
        let (gateway, mut crowd) = started(bench, who, place, WARM_UP)?;
        thread::sleep(SETTLE);
        let before = status_bytes(gateway.pid(), "VmRSS")?;
        let start = Instant::now();
        crowd.join(count)?;
        let connects = count as f64 / start.elapsed().as_secs_f64();
        thread::sleep(SETTLE);
        let each = (status_bytes(gateway.pid(), "VmRSS")? - before) / count as f64;
        // The crowd is not read meanwhile; pings wait for their answers no longer than they may.
        let (watched, cpu) =
            (if bench.is_quick() { SETTLE * bench.times(40) as u32 } else { WATCHED_IDLE }, cpu_ns(gateway.pid()));
        thread::sleep(watched);
        let percent = (cpu_ns(gateway.pid()) - cpu) as f64 / 1e7 / watched.as_secs_f64();
        let answer = crowd.call(0, "system.info", "{}")?;
        drop(crowd);
        gateway.finish()?;
        Ok([each, percent, connects, answer])
    })?;
    let note = format!("one of them answered in {:.2} ms", ours[3]);
    Ok(vec![
        outcome(
            format!("{count} idle sockets, bytes each"),
            Unit::Bytes,
            ours[0],
            floor[0],
            Target::AtMost(12_000.0),
            note,
        ),
        outcome("their CPU", Unit::Percent, ours[1], floor[1], Target::AtMost(1.0), "pings included".into()),
        outcome("connects", Unit::PerSecond, ours[2], floor[2], Target::RatioAtLeast(0.4), String::new()),
    ])
}

/// Sessions that had one turn each and that nobody is on.
pub(crate) fn sessions(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let count = bench.times(SESSIONS);
    let [ours, floor] = once(bench, "gw-sessions", |who, place| {
        let (gateway, mut crowd) = started(bench, who, place, CLIENTS)?;
        spread(&mut crowd, 0, WARM_UP)?;
        drop(crowd);
        thread::sleep(SETTLE * 5);
        let (before, files) = (status_bytes(gateway.pid(), "VmRSS")?, descriptors(gateway.pid())?);
        let mut crowd = Crowd::new(gateway.addr)?;
        crowd.join(CLIENTS)?;
        let start = Instant::now();
        spread(&mut crowd, WARM_UP, count)?;
        let turns = count as f64 / start.elapsed().as_secs_f64();
        let mut lists = Vec::new();
        for n in 0..LISTS {
            lists.push(crowd.call(n % CLIENTS, "sessions.list", "{}")?);
        }
        drop(crowd);
        let at_once = (status_bytes(gateway.pid(), "VmRSS")? - before) / count as f64;
        let is_ours = who.name == bench.ours.name;
        thread::sleep(if bench.is_quick() || !is_ours { SETTLE * 5 } else { LINGERED });
        let each = (status_bytes(gateway.pid(), "VmRSS")? - before) / count as f64;
        let files = descriptors(gateway.pid())?.saturating_sub(files) as f64;
        gateway.finish()?;
        Ok([each, median(lists), turns, files, at_once])
    })?;
    let note = format!(
        "{:.0} at once; {:.0} turns/s, floor {:.0}; {:.0} more descriptors",
        ours[4], ours[2], floor[2], ours[3]
    );
    Ok(vec![
        outcome(
            format!("{count} sessions with a turn, bytes each"),
            Unit::Bytes,
            ours[0],
            floor[0],
            Target::AtMost(8192.0),
            note,
        ),
        outcome("first page of their list, p50", Unit::Ms, ours[1], floor[1], Target::AtMost(3.0), String::new()),
    ])
}

/// One turn in each of so many new sessions, all connections at work.
fn spread(crowd: &mut Crowd, from: usize, count: usize) -> anyhow::Result<()> {
    let (mut next, end, mut done) = (from, from + count, 0);
    let ask = |session: usize| send(&format!("bench:{session}"), "say 1 word");
    while next < end.min(from + CLIENTS) {
        crowd.ask((next - from) % CLIENTS, "agent.send", &ask(next))?;
        next += 1;
    }
    crowd.listen(|heard, asks| {
        if heard.frame.result.is_some() {
            done += 1;
            if next < end {
                asks.push(heard.socket, "agent.send", ask(next));
                next += 1;
            }
        }
        Ok(if done == count { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) })
    })
}
