//! Flow control, processes and permission in `rpc`: a reader that stops costs no memory, nothing outlives anybody it should
//! not, and only the first valid answer counts.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use testkit::mock_model::MockModel;

use crate::driver::{PATIENCE, World, all, brief, count, first, mark, peak_kib, running, within};
use crate::flow::{MIB, PIECE_BYTES, flood, piece, watch};
use crate::rpc_driver::Rpc;

/// What a flood may cost at its worst moment, the end: the kept reply is in the log, in the file and in three frames.
const PEAK_MIB_MAX: u64 = 256;

/// As much of an update as a flood needs; the message that it repeats is passed over.
#[derive(Deserialize)]
struct Update {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "assistantMessageEvent")]
    event: Option<Growth>,
}

#[derive(Deserialize)]
struct Growth {
    delta: Option<String>,
}

/// The next line: its type, what it adds, and its length.
fn next(rpc: &mut Rpc) -> (String, String, usize) {
    let line = rpc.line(PATIENCE).expect("the flood goes on");
    let update: Update = serde_json::from_slice(&line).expect("every line is JSON");
    (update.kind, update.event.and_then(|event| event.delta).unwrap_or_default(), line.len())
}

/// Reads to the end of the run.
fn read_on(rpc: &mut Rpc, text: &mut String) -> usize {
    let mut longest = 0;
    loop {
        let (kind, delta, bytes) = next(rpc);
        text.push_str(&delta);
        if kind == "message_update" {
            longest = longest.max(bytes);
        }
        if kind == "agent_settled" {
            return longest;
        }
    }
}

fn stopped_reader(updates: &str, mib: usize) {
    let model = MockModel::start_blocking();
    let world = World::with(&model);
    let mut rpc = Rpc::new(&world, &["--rpc-updates", updates]);
    rpc.good_run("say warm");
    let (reply, pieces) = flood(mib);
    model.push(reply);
    rpc.prompt("flood");
    let mut text = String::with_capacity(mib * MIB + MIB);
    while text.is_empty() {
        text.push_str(&next(&mut rpc).1);
    }
    let before = rpc.rss_kib();
    let most = watch(&rpc, Duration::from_secs(count(3, 20) as u64));
    let grown = most.saturating_sub(before) / 1024;
    let longest = read_on(&mut rpc, &mut text);
    let mut at = 0;
    for n in 0..pieces {
        let want = piece(n, PIECE_BYTES);
        assert!(text[at..].starts_with(&want), "piece {n} of {pieces} is not where it belongs");
        at += want.len();
    }
    // What is beyond the bound of a kept reply is told all the same; the last block says that it was not kept.
    let note = &text[at..];
    assert!(note.is_empty() || (note.starts_with("\n[") && note.ends_with("were said and not kept]")), "{note:?}");
    let peak = peak_kib(rpc.pid()) / 1024;
    println!(
        "F1 rpc ({updates}): {mib} MiB, {} MiB before, +{grown} MiB while stopped, peak {peak} MiB at the end, longest update {longest} bytes",
        before / 1024
    );
    assert!(grown < 64, "+{grown} MiB while nobody read");
    assert!(peak < PEAK_MIB_MAX, "{peak} MiB at the peak");
    rpc.shutdown();
}

#[test]
fn f1_a_reader_that_stops_costs_no_memory_and_loses_nothing() {
    stopped_reader("full", count(20, 200));
}

#[test]
fn f1_the_same_with_deltas_alone() {
    stopped_reader("delta", count(40, 200));
}

#[test]
fn f2_an_abort_gets_through_a_blocked_output() {
    let model = MockModel::start_blocking();
    for round in 0..4 {
        let world = World::with(&model);
        let mut rpc = Rpc::new(&world, &[]);
        let (reply, _) = flood(20);
        model.push(reply);
        rpc.prompt("flood");
        let mut text = String::new();
        while text.is_empty() {
            text.push_str(&next(&mut rpc).1);
        }
        std::thread::sleep(Duration::from_millis(if round % 2 == 0 { 300 } else { 0 }));
        rpc.request(json!({ "type": "abort" }));
        std::thread::sleep(Duration::from_millis(if round < 2 { 300 } else { 0 }));
        let resumed = Instant::now();
        read_on(&mut rpc, &mut text);
        let took = resumed.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(text.len() < 4 * MIB, "{} bytes of the flood were still produced", text.len());
        let state = rpc.ask(json!({ "type": "get_state" }));
        assert_eq!(state["data"]["isStreaming"], false);
        rpc.good_run("say after");
        println!("F2 rpc: round {round}: ended {took:?} after reading resumed, {} bytes of 20 MiB said", text.len());
    }
}

/// A run with a command which outlives everything unless somebody ends it; returns its mark.
fn busy(rpc: &mut Rpc, line: &str) -> String {
    let mark = mark();
    let command = line.replace("MARK", &mark);
    rpc.prompt(&format!("call bash {} then say done", json!({ "command": command })));
    assert!(within(PATIENCE, || !running(&mark).is_empty()).is_some(), "`{line}` never came up");
    mark
}

#[test]
fn f4_when_the_host_dies_so_do_we_and_our_children() {
    let mut slowest = (Duration::ZERO, Duration::ZERO);
    let rounds = count(5, 50);
    for round in 0..rounds {
        let world = World::tour();
        let mut rpc = Rpc::new(&world, &[]);
        let mark = match round % 5 {
            // A command of the user's own.
            4 => {
                let mark = mark();
                rpc.request(json!({ "type": "bash", "command": format!("sleep {mark}") }));
                assert!(within(PATIENCE, || !running(&mark).is_empty()).is_some(), "it never came up");
                mark
            }
            3 => busy(&mut rpc, "trap '' TERM HUP INT; sleep MARK; sleep MARK"),
            2 => busy(&mut rpc, "setsid sleep MARK & sleep MARK"),
            _ => busy(&mut rpc, "sleep MARK"),
        };
        // All that a dead host leaves: closed pipes.
        rpc.stdout = None;
        rpc.close_stdin();
        let start = Instant::now();
        let children = within(Duration::from_secs(8), || running(&mark).is_empty());
        let children = children.unwrap_or_else(|| panic!("case {}: children live on", round % 5));
        let status = rpc.ended(Duration::from_secs(8)).unwrap_or_else(|| panic!("case {}: lives on", round % 5));
        let exit = start.elapsed();
        assert_eq!(status.code(), Some(0), "{status:?}");
        assert!(exit <= Duration::from_secs(5), "case {}: exit after {exit:?}", round % 5);
        // Who ignores TERM is killed after 2 s.
        assert!(children <= Duration::from_millis(2500), "case {}: children gone after {children:?}", round % 5);
        slowest = (slowest.0.max(children), slowest.1.max(exit));
    }
    println!("F4 rpc: {rounds} dead hosts, children gone after {:?}, exit after {:?} at most", slowest.0, slowest.1);
}

#[test]
fn s6_only_the_first_valid_answer_counts() {
    let world = World::tour();
    let mut rpc = Rpc::new(&world, &["--permission-mode", "prompt"]);
    let touch = |name: &str| format!("call bash {{\"command\":\"echo x >> {name}\"}} then say done");
    let is_there = |name: &str| world.workspace.join(name).exists();
    let answer =
        |id: &Value, confirmed: bool| json!({ "type": "extension_ui_response", "id": id, "confirmed": confirmed });
    let asked = |rpc: &mut Rpc, name: &str| -> Value {
        rpc.prompt(&touch(name));
        rpc.until("extension_ui_request").pop().unwrap()["id"].clone()
    };
    let mut ignored = 0;
    // Answers that nobody waits for are passed over without a word.
    let mut nothing = |rpc: &mut Rpc, line: Value| {
        rpc.send(&line);
        let id = rpc.request(json!({ "type": "get_subagents" }));
        let seen = rpc.until_one("answer", |_, value| value["id"] == id.as_str());
        assert_eq!(seen.len(), 1, "{line}: {}", brief(&seen));
        ignored += 1;
    };
    for id in ["", "ask1", "../x", "\u{0}", "null", "*"] {
        nothing(&mut rpc, answer(&json!(id), true));
    }
    let open = asked(&mut rpc, "a");
    let id = open.as_str().unwrap();
    for wrong in [format!("{id}x"), id.to_uppercase() + " ", id[..id.len() - 1].to_owned(), format!(" {id}")] {
        nothing(&mut rpc, answer(&json!(wrong), true));
    }
    assert!(!is_there("a"), "it ran before it was allowed");
    // The second answer comes too late.
    rpc.send(&answer(&open, false));
    rpc.send(&answer(&open, true));
    let seen = rpc.until("agent_settled");
    assert_eq!(first(&seen, "tool_execution_end")["isError"], true, "{}", brief(&seen));
    nothing(&mut rpc, answer(&open, true));
    assert!(!is_there("a"), "a denied call ran");
    // After an abort the question is gone, and the host is told.
    let open = asked(&mut rpc, "b");
    rpc.request(json!({ "type": "abort" }));
    let seen = rpc.until("agent_settled");
    let cancel = first(&seen, "extension_ui_request");
    assert_eq!((&cancel["method"], &cancel["targetId"]), (&json!("cancel"), &open));
    nothing(&mut rpc, answer(&open, true));
    // Of the run before, while the next one asks.
    let next = asked(&mut rpc, "c");
    nothing(&mut rpc, answer(&open, true));
    assert!(!is_there("b") && !is_there("c"));
    rpc.send(&answer(&next, true));
    rpc.until("agent_settled");
    assert!(is_there("c"));
    // What is no answer is an unknown command, and what is no yes is a no.
    let open = asked(&mut rpc, "d");
    rpc.send(&json!({ "type": "extension_ui_response", "id": open }));
    assert_eq!(rpc.until("response").pop().unwrap()["error"], "Unknown command: extension_ui_response");
    assert!(rpc.next(Duration::from_millis(500)).is_none(), "something happened without an answer");
    rpc.send(&json!({ "type": "extension_ui_response", "id": open, "value": "yes" }));
    let seen = rpc.until("agent_settled");
    assert_eq!(first(&seen, "tool_execution_end")["isError"], true, "{}", brief(&seen));
    // Leaving is no permission.
    asked(&mut rpc, "e");
    rpc.close_stdin();
    let seen = rpc.until("agent_settled");
    assert_eq!(all(&seen, "tool_execution_end")[0]["isError"], true, "{}", brief(&seen));
    assert_eq!(rpc.ended(PATIENCE).unwrap().code(), Some(0));
    assert!(!is_there("d") && !is_there("e"), "a call ran that nobody allowed");
    println!("S6 rpc: {ignored} answers passed over, 0 calls ran that nobody allowed");
}
