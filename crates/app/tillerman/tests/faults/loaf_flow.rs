//! Flow control and processes in `loaf`: a reader that stops costs no memory, and nothing outlives anybody it should not.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::mock_model::MockModel;

use crate::driver::{PATIENCE, World, count, mark, peak_kib, running, within};
use crate::flow::{MIB, PIECE_BYTES, flood, piece, watch};
use crate::loaf_driver::{Loaf, is_ready, kind, payload, said};

/// What a flood may cost at its worst moment, the end: the kept reply is in the log, in the session's messages and its
/// history, and in one frame.
const PEAK_MIB_MAX: u64 = 200;
/// What may be left of a flood that was interrupted: what stood in buffers.
const LEFT_BYTES_MAX: usize = 4 * MIB;

/// Reads to the end of the turn; the length of the longest chunk, and the type of the event that ended it.
fn read_on(loaf: &mut Loaf, text: &mut String) -> (usize, String) {
    let (mut longest, mut end) = (0, String::new());
    loop {
        let value = loaf.next(PATIENCE).expect("the flood goes on");
        match kind(&value) {
            "session.stream.chunk" => {
                let delta = payload(&value)["chunk"]["answerText"].as_str().unwrap();
                longest = longest.max(delta.len());
                text.push_str(delta);
            }
            over @ ("session.completed" | "session.interrupted" | "session.error") => end = over.to_owned(),
            _ if is_ready(&value) => return (longest, end),
            _ => {}
        }
    }
}

#[test]
fn f1_a_reader_that_stops_costs_no_memory_and_loses_nothing() {
    let model = MockModel::start_blocking();
    let world = World::with(&model);
    let mut loaf = Loaf::new(&world, &[]);
    loaf.good_turn("say warm");
    let mib = count(40, 200);
    let (reply, pieces) = flood(mib);
    model.push(reply);
    loaf.prompt("flood");
    let mut text = said(&loaf.until("session.stream.chunk"));
    text.reserve(mib * MIB);
    let before = loaf.rss_kib();
    let most = watch(&loaf, Duration::from_secs(count(3, 20) as u64));
    let grown = most.saturating_sub(before) / 1024;
    let (longest, end) = read_on(&mut loaf, &mut text);
    assert_eq!(end, "session.completed");
    let mut at = 0;
    for n in 0..pieces {
        let want = piece(n, PIECE_BYTES);
        assert!(text[at..].starts_with(&want), "piece {n} of {pieces} is not where it belongs");
        at += want.len();
    }
    // What is beyond the bound of a kept reply is told all the same; the end may say that it was not kept.
    let note = &text[at..];
    assert!(note.is_empty() || (note.starts_with("\n[") && note.ends_with("were said and not kept]")), "{note:?}");
    let peak = peak_kib(loaf.pid()) / 1024;
    println!("F1 loaf: {mib} MiB, +{grown} MiB while stopped, peak {peak} MiB at the end, longest chunk {longest}");
    assert!(grown < 64, "+{grown} MiB while nobody read");
    assert!(peak < PEAK_MIB_MAX, "{peak} MiB at the peak");
    loaf.shutdown();
}

#[test]
fn f2_an_interrupt_gets_through_a_blocked_output() {
    let model = MockModel::start_blocking();
    for round in 0..4 {
        let world = World::with(&model);
        let mut loaf = Loaf::new(&world, &[]);
        let (reply, _) = flood(20);
        model.push(reply);
        loaf.prompt("flood");
        let mut text = said(&loaf.until("session.stream.chunk"));
        std::thread::sleep(Duration::from_millis(if round % 2 == 0 { 300 } else { 0 }));
        loaf.request("session.interrupt", json!({}));
        std::thread::sleep(Duration::from_millis(if round < 2 { 300 } else { 0 }));
        let resumed = Instant::now();
        let (_, end) = read_on(&mut loaf, &mut text);
        let took = resumed.elapsed();
        assert_eq!(end, "session.interrupted");
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(text.len() < LEFT_BYTES_MAX, "{} bytes of the flood were still produced", text.len());
        loaf.good_turn("say after");
        println!("F2 loaf: round {round}: ended {took:?} after reading resumed, {} bytes of 20 MiB said", text.len());
    }
}

/// A turn with a command which outlives everything unless somebody ends it; returns its mark.
fn busy(loaf: &mut Loaf, line: &str) -> String {
    let mark = mark();
    let command = line.replace("MARK", &mark);
    loaf.prompt(&format!("call bash {} then say done", json!({ "command": command })));
    assert!(within(PATIENCE, || !running(&mark).is_empty()).is_some(), "`{line}` never came up");
    mark
}

#[test]
fn f4_when_the_client_dies_so_do_we_and_our_children() {
    let mut slowest = (Duration::ZERO, Duration::ZERO);
    let rounds = count(5, 50);
    for round in 0..rounds {
        let world = World::tour();
        let mut loaf = Loaf::new(&world, &[]);
        let mark = match round % 5 {
            // Another session of the same process has the command.
            4 => {
                let created = loaf.ask("session.create", json!({}));
                loaf.session = created["result"]["session_id"].as_str().unwrap().to_owned();
                busy(&mut loaf, "sleep MARK")
            }
            3 => busy(&mut loaf, "trap '' TERM HUP INT; sleep MARK; sleep MARK"),
            2 => busy(&mut loaf, "setsid sleep MARK & sleep MARK"),
            _ => busy(&mut loaf, "sleep MARK"),
        };
        // All that a dead client leaves: closed pipes.
        loaf.stdout = None;
        loaf.close_stdin();
        let start = Instant::now();
        let children = within(Duration::from_secs(8), || running(&mark).is_empty());
        let children = children.unwrap_or_else(|| panic!("case {}: children live on", round % 5));
        let status = loaf.ended(Duration::from_secs(8)).unwrap_or_else(|| panic!("case {}: lives on", round % 5));
        let exit = start.elapsed();
        assert_eq!(status.code(), Some(0), "{status:?}");
        assert!(exit <= Duration::from_secs(5), "case {}: exit after {exit:?}", round % 5);
        // Who ignores TERM is killed after 2 s.
        assert!(children <= Duration::from_millis(2500), "case {}: children gone after {children:?}", round % 5);
        slowest = (slowest.0.max(children), slowest.1.max(exit));
    }
    println!("F4 loaf: {rounds} dead clients, children gone after {:?}, exit after {:?} at most", slowest.0, slowest.1);
}
