//! Starting, resuming, and what it costs to be there.

use std::thread;
use std::time::Duration;

use anyhow::ensure;

use crate::run::Bench;
use crate::run::agent::{Agent, Contender};
use crate::run::proc::{descriptors, pss_mb};
use crate::run::table::{Outcome, Target, Unit};

/// What a process still does after its last line (freeing, settling) is over by then.
const SETTLE: Duration = Duration::from_millis(100);
/// Turns of two messages each.
const RESUME_TURNS: usize = 500;
const MANY: usize = 20;
/// Below what `loaf` takes on one pipe.
const IDLE_SESSIONS: usize = 200;
const IDLE_WARM_UP: usize = 40;

pub(super) fn spawn(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let ([ours], [floor]) = bench.alternate("spawn", bench.times(40), |who, place| {
        let agent = Agent::start(who, place, bench.mock.addr)?;
        let took = agent.ready_ms;
        agent.finish()?;
        Ok([took])
    })?;
    Ok(vec![Outcome {
        label: "spawn to ready".into(),
        unit: Unit::Ms,
        ours,
        floor,
        target: Target::RatioAtMost(2.2),
        note: String::new(),
    }])
}

/// To the first session that a client could prompt.
pub(super) fn opened(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let ([ours], [floor]) = bench.alternate("opened", bench.times(40), |who, place| {
        let agent = Agent::start(who, place, bench.mock.addr)?;
        let took = agent.opened_ms;
        agent.finish()?;
        Ok([took])
    })?;
    Ok(vec![Outcome {
        label: "spawn to a session".into(),
        unit: Unit::Ms,
        ours,
        floor,
        target: Target::RatioAtMost(3.0),
        note: String::new(),
    }])
}

pub(super) fn memory(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let (ours, floor) = bench.alternate("memory", bench.times(8), |who, place| {
        let mut agent = Agent::start(who, place, bench.mock.addr)?;
        thread::sleep(SETTLE);
        let idle = pss_mb(agent.pid())?;
        agent.turn("say 1 word")?;
        thread::sleep(SETTLE);
        let prompted = pss_mb(agent.pid())?;
        agent.finish()?;
        Ok([idle, prompted])
    })?;
    let row = |label: &'static str, n: usize, most| Outcome {
        label: label.into(),
        unit: Unit::Mb,
        ours: ours[n],
        floor: floor[n],
        target: Target::AtMost(most),
        note: String::new(),
    };
    Ok(vec![row("PSS after ready", 0, 8.0), row("PSS after one prompt", 1, 10.0)])
}

pub(super) fn resume(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let mut built: [Option<String>; 2] = [None, None];
    let ([ours], [floor]) = bench.alternate("resume", bench.times(20), |who, place| {
        let slot = &mut built[usize::from(who.name == bench.floor.name)];
        if slot.is_none() {
            *slot = Some(build_session(bench, who, place)?);
        }
        let agent = Agent::resume(who, place, bench.mock.addr)?;
        ensure!(Some(&agent.session) == slot.as_ref(), "resumed `{}`, not the session just built", agent.session);
        let took = agent.ready_ms;
        agent.finish()?;
        Ok([took])
    })?;
    // A fast resume that forgot everything would be no resume.
    for who in [&bench.ours, &bench.floor] {
        let mut agent = Agent::resume(who, &bench.place("resume", who)?, bench.mock.addr)?;
        agent.turn("say 1 word")?;
        let messages = bench.mock.last_messages();
        ensure!(messages > 2 * RESUME_TURNS, "{} sent {messages} messages after a resume", who.name);
        agent.finish()?;
    }
    Ok(vec![Outcome {
        label: "resume 1,000 messages, spawn to ready".into(),
        unit: Unit::Ms,
        ours,
        floor,
        target: Target::RatioAtMost(2.5),
        note: String::new(),
    }])
}

fn build_session(bench: &Bench, who: &Contender, place: &crate::run::Place) -> anyhow::Result<String> {
    let mut agent = Agent::start(who, place, bench.mock.addr)?;
    for _ in 0..RESUME_TURNS {
        agent.turn("say 1 word")?;
    }
    let session = agent.saved()?;
    agent.finish()?;
    Ok(session)
}

pub(super) fn many(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let (ours, floor) = bench.alternate("many", bench.times(2), |who, place| {
        let mut agents = Vec::new();
        for _ in 0..MANY {
            agents.push(Agent::start(who, place, bench.mock.addr)?);
        }
        thread::sleep(SETTLE);
        let idle = together(&agents)?;
        for agent in &mut agents {
            agent.turn("say 1 word")?;
        }
        thread::sleep(SETTLE);
        let prompted = together(&agents)?;
        agents.into_iter().try_for_each(Agent::finish)?;
        Ok([idle, prompted])
    })?;
    Ok(vec![Outcome {
        label: "20 processes, one prompt each, PSS".into(),
        unit: Unit::Mb,
        ours: ours[1],
        floor: floor[1],
        target: Target::AtMost(100.0),
        note: format!("{:.1} MB before the prompts", ours[0]),
    }])
}

/// Sessions in one process that nobody uses, with a controller on each: there is one more of each figure for each of them.
pub(super) fn idle(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let bench = bench.in_loaf();
    let place = bench.place("idle", &bench.ours)?;
    let mut agent = Agent::start(&bench.ours, &place, bench.mock.addr)?;
    for _ in 0..IDLE_WARM_UP {
        agent.create_session()?;
    }
    thread::sleep(SETTLE);
    let (before_mb, before) = (pss_mb(agent.pid())?, descriptors(agent.pid())?);
    for _ in 0..IDLE_SESSIONS {
        agent.create_session()?;
    }
    thread::sleep(SETTLE);
    let each_kib = (pss_mb(agent.pid())? - before_mb) * 1e6 / 1024.0 / IDLE_SESSIONS as f64;
    let each = (descriptors(agent.pid())? - before) as f64 / IDLE_SESSIONS as f64;
    agent.finish()?;
    let row = |label: &'static str, unit, ours, most| Outcome {
        label: label.into(),
        unit,
        ours,
        floor: f64::NAN,
        target: Target::AtMost(most),
        note: format!("{IDLE_SESSIONS} sessions on one pipe"),
    };
    Ok(vec![
        row("idle session in a process with many", Unit::KiB, each_kib, 8.0),
        row("its descriptors", Unit::Count, each, 0.0),
    ])
}

fn together(agents: &[Agent]) -> anyhow::Result<f64> {
    agents.iter().map(|agent| pss_mb(agent.pid())).sum()
}
