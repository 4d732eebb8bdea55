//! Flow control, processes and permission in `acp`: a reader that stops costs no memory, nothing outlives anybody it should
//! not, and only an answer that was asked for allows anything.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mock_model::MockModel;

use crate::acp_driver::{Acp, said, tag};
use crate::driver::{PATIENCE, World, brief, count, mark, peak_kib, running, within};
use crate::flow::{MIB, PIECE_BYTES, flood, piece, watch};

/// What a flood may cost at its worst moment, the end: the kept reply is in the log and in the session's messages.
const PEAK_MIB_MAX: u64 = 200;
/// What may be left of a flood that was cancelled: what stood in buffers.
const LEFT_BYTES_MAX: usize = 4 * MIB;

/// Reads to the answer to a prompt; the length of the longest chunk, and the answer.
fn read_on(acp: &mut Acp, prompt: u64, text: &mut String) -> (usize, Value) {
    let mut longest = 0;
    loop {
        let value = acp.next(PATIENCE).expect("the flood goes on");
        if value["id"] == prompt && value.get("method").is_none() {
            return (longest, value);
        }
        let delta = said(std::slice::from_ref(&value));
        longest = longest.max(delta.len());
        text.push_str(&delta);
    }
}

#[test]
fn f1_a_reader_that_stops_costs_no_memory_and_loses_nothing() {
    let model = MockModel::start_blocking();
    let world = World::with(&model);
    let mut acp = Acp::new(&world, &[]);
    acp.good_turn("say warm");
    let mib = count(40, 200);
    let (reply, pieces) = flood(mib);
    model.push(reply);
    let prompt = acp.prompt("flood");
    let mut text = said(&acp.until("agent_message_chunk"));
    text.reserve(mib * MIB);
    let before = acp.rss_kib();
    let most = watch(&acp, Duration::from_secs(count(3, 20) as u64));
    let grown = most.saturating_sub(before) / 1024;
    let (longest, end) = read_on(&mut acp, prompt, &mut text);
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    let mut at = 0;
    for n in 0..pieces {
        let want = piece(n, PIECE_BYTES);
        assert!(text[at..].starts_with(&want), "piece {n} of {pieces} is not where it belongs");
        at += want.len();
    }
    // What is beyond the bound of a kept reply is told all the same; the end may say that it was not kept.
    let note = &text[at..];
    assert!(note.is_empty() || (note.starts_with("\n[") && note.ends_with("were said and not kept]")), "{note:?}");
    let peak = peak_kib(acp.pid()) / 1024;
    println!("F1 acp: {mib} MiB, +{grown} MiB while stopped, peak {peak} MiB at the end, longest chunk {longest}");
    assert!(grown < 64, "+{grown} MiB while nobody read");
    assert!(peak < PEAK_MIB_MAX, "{peak} MiB at the peak");
    acp.shutdown();
}

#[test]
fn f2_a_cancel_gets_through_a_blocked_output() {
    let model = MockModel::start_blocking();
    for round in 0..4 {
        let world = World::with(&model);
        let mut acp = Acp::new(&world, &[]);
        let (reply, _) = flood(20);
        model.push(reply);
        let prompt = acp.prompt("flood");
        let mut text = said(&acp.until("agent_message_chunk"));
        std::thread::sleep(Duration::from_millis(if round % 2 == 0 { 300 } else { 0 }));
        acp.cancel();
        std::thread::sleep(Duration::from_millis(if round < 2 { 300 } else { 0 }));
        let resumed = Instant::now();
        let (_, end) = read_on(&mut acp, prompt, &mut text);
        let took = resumed.elapsed();
        assert_eq!(end["result"]["stopReason"], "cancelled", "{end}");
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(text.len() < LEFT_BYTES_MAX, "{} bytes of the flood were still produced", text.len());
        acp.good_turn("say after");
        println!("F2 acp: round {round}: ended {took:?} after reading resumed, {} bytes of 20 MiB said", text.len());
    }
}

/// A turn with a command which outlives everything unless somebody ends it; returns its mark.
fn busy(acp: &mut Acp, line: &str) -> String {
    let mark = mark();
    let command = line.replace("MARK", &mark);
    acp.prompt(&format!("call bash {} then say done", json!({ "command": command })));
    assert!(within(PATIENCE, || !running(&mark).is_empty()).is_some(), "`{line}` never came up");
    mark
}

#[test]
fn f4_when_the_client_dies_so_do_we_and_our_children() {
    let mut slowest = (Duration::ZERO, Duration::ZERO);
    let rounds = count(5, 50);
    for round in 0..rounds {
        let world = World::tour();
        let mut acp = Acp::new(&world, &["--permission-mode", "danger-full-access"]);
        let mark = match round % 5 {
            // Another session of the same process has the command.
            4 => {
                acp.create(&world);
                busy(&mut acp, "sleep MARK")
            }
            3 => busy(&mut acp, "trap '' TERM HUP INT; sleep MARK; sleep MARK"),
            2 => busy(&mut acp, "setsid sleep MARK & sleep MARK"),
            _ => busy(&mut acp, "sleep MARK"),
        };
        // All that a dead client leaves: closed pipes.
        acp.stdout = None;
        acp.close_stdin();
        let start = Instant::now();
        let children = within(Duration::from_secs(8), || running(&mark).is_empty());
        let children = children.unwrap_or_else(|| panic!("case {}: children live on", round % 5));
        let status = acp.ended(Duration::from_secs(8)).unwrap_or_else(|| panic!("case {}: lives on", round % 5));
        let exit = start.elapsed();
        assert_eq!(status.code(), Some(0), "{status:?}");
        assert!(exit <= Duration::from_secs(5), "case {}: exit after {exit:?}", round % 5);
        // Who ignores TERM is killed after 2 s.
        assert!(children <= Duration::from_millis(2500), "case {}: children gone after {children:?}", round % 5);
        slowest = (slowest.0.max(children), slowest.1.max(exit));
    }
    println!("F4 acp: {rounds} dead clients, children gone after {:?}, exit after {:?} at most", slowest.0, slowest.1);
}

#[test]
fn s6_only_the_first_valid_answer_counts() {
    let world = World::tour();
    let mut acp = Acp::new(&world, &[]);
    let mut passed_over = 0;
    let allow = |acp: &mut Acp, id: Value| {
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
        acp.send(&json!({ "jsonrpc": "2.0", "id": id, "result": outcome }));
    };
    let mut wrong = |acp: &mut Acp, id: Value| {
        allow(acp, id);
        passed_over += 1;
    };
    let touch = |name: &str| format!("call bash {{\"command\":\"echo x >> {name}\"}} then say done");
    let is_there = |name: &str| world.workspace.join(name).exists();
    let asks = |value: &Value| value["method"] == "session/request_permission";
    // Before anything is asked, also with the number that comes first.
    for id in [json!(0), json!(1), json!("0"), json!(-1), json!(null), json!("")] {
        wrong(&mut acp, id);
    }
    let prompt = acp.prompt(&touch("a"));
    let asked = acp.until_one("a question", |_, value| asks(value)).pop().unwrap();
    let id = asked["id"].clone();
    for near in [json!(id.to_string()), json!(id.as_u64().unwrap() + 1), json!([id]), json!(0.5)] {
        wrong(&mut acp, near);
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(!is_there("a"), "it ran before it was allowed");
    let deny = json!({ "outcome": { "outcome": "selected", "optionId": "deny" } });
    acp.send(&json!({ "jsonrpc": "2.0", "id": id, "result": deny }));
    wrong(&mut acp, id.clone());
    let seen = acp.answer(prompt);
    let ended = seen.iter().find(|value| value["params"]["update"]["status"] == "failed");
    assert!(ended.is_some_and(|value| tag(value) == "tool_call_update"), "{}", brief(&seen));
    assert!(!is_there("a"), "a denied call ran");
    // After a cancel the question is gone, also while the next turn asks.
    let prompt = acp.prompt(&touch("b"));
    let asked = acp.until_one("a question", |_, value| asks(value)).pop().unwrap();
    acp.cancel();
    assert_eq!(acp.answer(prompt).pop().unwrap()["result"]["stopReason"], "cancelled");
    wrong(&mut acp, asked["id"].clone());
    let prompt = acp.prompt(&touch("c"));
    let next = acp.until_one("a question", |_, value| asks(value)).pop().unwrap();
    wrong(&mut acp, asked["id"].clone());
    wrong(&mut acp, id);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!is_there("b") && !is_there("c"), "an old answer counted");
    allow(&mut acp, next["id"].clone());
    assert_eq!(acp.answer(prompt).pop().unwrap()["result"]["stopReason"], "end_turn");
    assert!(is_there("c") && !is_there("a") && !is_there("b"));
    acp.shutdown();
    println!("S6 acp: {passed_over} answers passed over, 0 calls ran that nobody allowed");
}
