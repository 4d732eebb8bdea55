//! What the disk has to do with it: a turn against the least that is as durable, syncs per tool round, and whether one
//! session's long log is in the way of another's turn.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};

use super::stream::fetch;
use crate::run::agent::Agent;
use crate::run::table::{Outcome, Target, Unit};
use crate::run::{Bench, NOTES, Place, median};
use crate::sse::Client;

const TURN_REPEATS: usize = 40;
const APPENDED_BYTES: usize = 1024;
/// Rounds over which syncs are counted; what the turn itself costs is taken off.
const SYNC_ROUNDS: usize = 20;
/// Messages in the log that is read beside the turns.
const LONG_LOG: usize = 200_000;
const LONG_LOG_ID: &str = "01990000-0000-7000-8000-000000000001";
/// Turns without a reader, and how often the log is read.
const ALONE_TURNS: usize = 100;
const READS: usize = 3;

/// A one-word turn. The floor fetches the same answer, appends 1 KiB to a file and syncs it: with less than that nothing
/// of the turn would be safe.
pub(super) fn durable(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let place = bench.place("durable", &bench.ours)?;
    let mut client = Client::new(&format!("http://{}/v1", bench.mock.addr))?;
    let mut file = File::create(place.home.with_file_name("appended"))?;
    let (mut turns, mut floors, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.times(8) {
        let mut agent = Agent::start(&bench.ours, &place, bench.mock.addr)?;
        agent.turn("say 1 word")?;
        fetch(&mut client, "say 1 word", |_, _| {})?;
        for _ in 0..TURN_REPEATS {
            turns.push(agent.turn("say 1 word")?);
            let fetched = fetch(&mut client, "say 1 word", |_, _| {})?;
            let start = Instant::now();
            file.write_all(&[b'x'; APPENDED_BYTES])?;
            file.sync_data()?;
            let synced = start.elapsed().as_secs_f64() * 1e3;
            floors.push(fetched + synced);
            syncs.push(synced);
        }
        agent.finish()?;
    }
    Ok(vec![Outcome {
        label: "one-word turn (floor: fetch, append 1 KiB, fdatasync)".into(),
        unit: Unit::Ms,
        ours: median(turns),
        floor: median(floors),
        target: Target::RatioAtMost(1.6),
        note: format!("append and fdatasync alone {:.3} ms", median(syncs)),
    }])
}

/// Syncs of a tool round in which the controller is asked. Counted by `strace`, without which there is no such row.
pub(super) fn syncs(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let call = |tool: &str| -> anyhow::Result<f64> {
        let place = bench.place("syncs", &bench.ours)?;
        let trace = place.home.with_file_name("trace");
        let mut agent = Agent::start(&bench.ours.traced(&trace), &place, bench.mock.addr)?;
        agent.turn("say 1 word")?;
        let counted = |agent: &mut Agent, prompt: &str| -> anyhow::Result<usize> {
            let before = syncs_in(&trace)?;
            agent.turn(prompt)?;
            Ok(syncs_in(&trace)? - before)
        };
        let turn = counted(&mut agent, "say 1 word")?;
        let rounds = counted(&mut agent, &format!("rounds {SYNC_ROUNDS} call {tool}"))?;
        agent.finish()?;
        Ok((rounds.saturating_sub(turn)) as f64 / SYNC_ROUNDS as f64)
    };
    let reading = call(&format!(r#"read_file {{"path":"{NOTES}"}}"#))?;
    let changing = call(r#"bash {"command":"echo hi"}"#)?;
    Ok(vec![Outcome {
        label: "tool round with a question, syncs".into(),
        unit: Unit::Count,
        ours: reading,
        floor: f64::NAN,
        target: Target::AtMost(1.0),
        note: format!("read_file; {changing:.2} with bash, which is on the disk before it runs"),
    }])
}

fn syncs_in(trace: &Path) -> anyhow::Result<usize> {
    // A call that another thread interrupts in the trace has a second line, without its name in front.
    let text = fs::read_to_string(trace).context("no trace; is strace installed?")?;
    Ok(text.lines().filter(|line| ["fsync(", "fdatasync("].iter().any(|call| line.contains(call))).count())
}

/// Turns of one session while a controller reads the long log of another.
pub(super) fn beside(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let bench = bench.in_loaf();
    let place = bench.place("beside", &bench.ours)?;
    store_long_log(&bench, &place)?;
    let mut agent = Agent::start(&bench.ours, &place, bench.mock.addr)?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..ALONE_TURNS {
        alone.push(agent.turn("say 1 word")?);
    }
    for _ in 0..bench.times(READS) {
        agent.ask_for_history(LONG_LOG_ID)?;
        let mut answered = false;
        while !answered {
            let took = agent.watch("say 1 word", |frame, _| answered |= frame.kind == "answer")?;
            // The turn behind which the answer itself came over the pipe waited for the pipe.
            if !answered {
                beside.push(took);
            }
        }
    }
    agent.finish()?;
    ensure!(!beside.is_empty(), "no turn was done while the log was read");
    let note = format!("{} turns, the slowest {:.1} ms", beside.len(), beside.iter().copied().fold(0.0, f64::max));
    Ok(vec![Outcome {
        label: "turn beside a read of 200,000 entries (floor: alone)".into(),
        unit: Unit::Ms,
        ours: median(beside),
        floor: median(alone),
        target: Target::RatioAtMost(2.0),
        note,
    }])
}

/// A session of [`LONG_LOG`] messages: a file of the `rpc` family, which takes it into the store.
fn store_long_log(bench: &Bench, place: &Place) -> anyhow::Result<()> {
    let path = place.home.with_file_name("long.jsonl");
    let mut file = BufWriter::new(File::create(&path)?);
    let workspace = serde_json::to_string(&place.workspace.to_string_lossy())?;
    let stamp = r#""timestamp":"2026-01-01T00:00:00.000Z""#;
    writeln!(file, r#"{{"type":"session","version":3,"id":"{LONG_LOG_ID}",{stamp},"cwd":{workspace}}}"#)?;
    let mut parent = "null".to_owned();
    for n in 1..=LONG_LOG {
        let message = match n % 2 {
            1 => r#"{"role":"user","content":[{"type":"text","text":"say 1 word"}],"timestamp":1767225600000}"#,
            _ => {
                r#"{"role":"assistant","content":[{"type":"text","text":"w1"}],"api":"openai-completions","provider":"mock","model":"alpha","usage":{"input":10,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":11},"stopReason":"stop","timestamp":1767225600000}"#
            }
        };
        writeln!(file, r#"{{"type":"message","id":"{n:08x}","parentId":{parent},{stamp},"message":{message}}}"#)?;
        parent = format!("\"{n:08x}\"");
    }
    file.flush()?;
    let importer = bench.in_rpc().ours.with_session(&path);
    Agent::start(&importer, place, bench.mock.addr)?.finish()?;
    Ok(fs::remove_file(&path)?)
}
