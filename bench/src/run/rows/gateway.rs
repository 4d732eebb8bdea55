//! The gateway against the least that holds as many connections: `bench gateway-relay`.

mod held;
mod paced;
mod turns;
mod watched;

use std::ops::ControlFlow;

pub(super) use held::{idle, sessions, start};
pub(super) use paced::{crowd, delay};
pub(super) use turns::{many, streams, turn};
pub(super) use watched::{cuts, slow, watch};

use crate::mock::now_ns;
use crate::run::agent::Contender;
use crate::run::gateway::{Crowd, GatewayProcess};
use crate::run::table::{Outcome, Target, Unit};
use crate::run::{Bench, Place};

/// A ratio, with what the driver itself has used: where that is most of the machine, the row says little.
fn outcome(label: impl Into<String>, unit: Unit, ours: f64, floor: f64, target: Target, note: String) -> Outcome {
    Outcome { label: format!("gateway: {}", label.into()).into(), unit, ours, floor, target, note }
}

/// Both once, with no warm-up: for what takes long and is not about moments.
fn once<T>(
    bench: &Bench,
    row: &str,
    mut measure: impl FnMut(&Contender, &Place) -> anyhow::Result<T>,
) -> anyhow::Result<[T; 2]> {
    let mut one = |who: &Contender| -> anyhow::Result<T> {
        let place = bench.place(row, who)?;
        anyhow::Context::with_context(measure(who, &place), || who.describe())
    };
    Ok([one(&bench.ours)?, one(&bench.floor)?])
}

/// A gateway and so many connections to it.
fn started(bench: &Bench, who: &Contender, place: &Place, count: usize) -> anyhow::Result<(GatewayProcess, Crowd)> {
    let gateway = GatewayProcess::start(who, place, bench.mock.addr)?;
    let mut crowd = Crowd::new(gateway.addr)?;
    crowd.join(count)?;
    Ok((gateway, crowd))
}

fn send(session: &str, message: &str) -> String {
    format!(r#"{{"sessionId":"{session}","message":"{message}"}}"#)
}

/// Each of the first `clients` connections sends the same message to a session of its own, `turns` times, the next one
/// when the last is answered. Milliseconds of all turns; `each` sees the text of answers.
fn converse(
    crowd: &mut Crowd,
    clients: usize,
    turns: usize,
    message: &str,
    mut each: impl FnMut(&str, u64),
) -> anyhow::Result<Vec<f64>> {
    let sends: Vec<String> = (0..clients).map(|client| send(&crowd.session(client), message)).collect();
    let mut left = vec![turns; clients];
    let mut begun = vec![now_ns(); clients];
    let mut took = Vec::with_capacity(clients * turns);
    for (client, begun) in begun.iter_mut().enumerate() {
        *begun = now_ns();
        crowd.ask(client, "agent.send", &sends[client])?;
    }
    crowd.listen(|heard, asks| {
        if let Some(text) = heard.frame.words() {
            each(text, heard.at_ns);
        }
        if heard.frame.result.is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        let client = heard.socket;
        took.push((heard.at_ns - begun[client]) as f64 / 1e6);
        left[client] -= 1;
        if left[client] > 0 {
            begun[client] = now_ns();
            asks.push(client, "agent.send", sends[client].clone());
        }
        Ok(if took.len() == clients * turns { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(took)
}
