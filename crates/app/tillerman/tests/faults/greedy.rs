//! A reader that asks and does not read: whatever it asks for, and however often, it costs little until it reads; then each
//! request has its one answer, in order. What it says to stop something is heard meanwhile.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::faults::{MIB, PATIENCE, Process, count, most_kib};
use testkit::mock_model::{MockModel, Reply, Step};

use crate::drivers::{Acp, Loaf, Rpc, Serve};
use crate::flow::{PIECE_BYTES, flood, piece};
use crate::worlds::with;

/// The log that is asked for.
const LOG_BYTES: usize = 8 * MIB;
/// One reply of it: more would not be kept whole.
const REPLY_BYTES: usize = 2 * MIB;
/// How much more memory may be used while nobody reads.
const GROWTH_MIB_MAX: u64 = 64;

/// Makes every turn of a long conversation say so much.
fn long_reply(model: &MockModel) {
    let mut steps: Vec<Step> = (0..REPLY_BYTES / PIECE_BYTES).map(|at| Step::Text(piece(at, PIECE_BYTES))).collect();
    steps.extend([Step::finish("stop"), Step::usage(1, 0, 1), Step::Done]);
    model.push(Reply::stream(steps));
}

fn turns() -> usize {
    LOG_BYTES / REPLY_BYTES
}

/// Sends everything and reads nothing for a while.
fn stuff(process: &mut Process, requests: &[Value], about: &str) {
    let before = process.rss_kib();
    requests.iter().for_each(|request| process.send(request));
    let most = most_kib(process, Duration::from_secs(count(3, 20) as u64));
    let grown = most.saturating_sub(before) / 1024;
    println!("F1 {about}: {} requests, {} MiB before, +{grown} MiB while stopped", requests.len(), before / 1024);
    assert!(grown < GROWTH_MIB_MAX, "{about}: +{grown} MiB while nobody read");
}

/// The id of an answer, from the beginning of its line: reading the rest of each would take longer than everything else.
fn answered_id(line: &[u8]) -> Option<Value> {
    let begin = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
    let (_, behind) = begin.split_once(r#""id":"#).filter(|(before, _)| !before.contains("method"))?;
    serde_json::from_str(behind.split([',', '}']).next()?).ok().filter(|id: &Value| !id.is_null())
}

/// Each of them once, in this order; other messages come in between.
fn answered_in_order(process: &mut Process, ids: &[Value], about: &str) -> Vec<usize> {
    let mut lengths = Vec::new();
    for id in ids {
        loop {
            let line = process.line(PATIENCE).unwrap_or_else(|| panic!("{about}: {id} has no answer"));
            if let Some(answered) = answered_id(&line) {
                assert_eq!(answered, *id, "{about}: out of order, or twice");
                lengths.push(line.len());
                break;
            }
        }
    }
    lengths
}

#[test]
fn f1_rpc_that_asks_for_messages_and_does_not_read() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    let mut rpc = Rpc::new(&world, &["--rpc-updates", "delta"]);
    for _ in 0..turns() {
        long_reply(&model);
        rpc.good_run("go");
    }
    let kinds = ["get_messages", "get_messages", "get_state", "get_session_stats", "get_entries"];
    let asks = (0..count(100, 500)).map(|n| json!({ "id": format!("g{n}"), "type": kinds[n % kinds.len()] }));
    let asks: Vec<Value> = asks.collect();
    stuff(&mut rpc, &asks, "rpc");
    let ids: Vec<Value> = asks.iter().map(|ask| ask["id"].clone()).collect();
    let lengths = answered_in_order(&mut rpc, &ids, "rpc");
    assert!(lengths[0] > LOG_BYTES, "the log is not what was asked for: {}", lengths[0]);
    rpc.good_run("say after");
}

#[test]
fn f2_rpc_hears_an_abort_behind_a_hundred_questions_that_nobody_reads() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    let mut rpc = Rpc::new(&world, &["--rpc-updates", "delta"]);
    for _ in 0..turns() {
        long_reply(&model);
        rpc.good_run("go");
    }
    let (reply, _) = flood(40);
    model.push(reply);
    rpc.prompt("flood");
    rpc.until("message_update");
    let asks: Vec<Value> = (0..100).map(|n| json!({ "id": format!("g{n}"), "type": "get_messages" })).collect();
    stuff(&mut rpc, &asks, "rpc in a flood");
    rpc.request(json!({ "type": "abort" }));
    std::thread::sleep(Duration::from_millis(300));
    let resumed = Instant::now();
    let mut said = 0;
    let took = loop {
        let line = rpc.line(PATIENCE).expect("the end of the run");
        let value: Value = serde_json::from_slice(&line).expect("every line is JSON");
        said += value["assistantMessageEvent"]["delta"].as_str().map_or(0, str::len);
        if value["type"] == "agent_end" {
            break resumed.elapsed();
        }
    };
    println!("F2 rpc: ended {took:?} after reading resumed, {said} bytes of 40 MiB said");
    assert!(said < 4 * MIB, "{said} bytes of the flood were still produced");
}

#[test]
fn f1_loaf_that_asks_for_a_chat_and_does_not_read() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    let mut loaf = Loaf::new(&world, &[]);
    for _ in 0..turns() {
        long_reply(&model);
        loaf.good_turn("go");
    }
    let state = loaf.ask("session.get", json!({}));
    let chat = state["result"]["activeSessionId"].clone();
    let params = json!({ "session_id": loaf.session, "id": chat });
    let asks = (0..count(40, 500))
        .map(|n| json!({ "jsonrpc": "2.0", "id": 1000 + n, "method": "history.get", "params": params }));
    let asks: Vec<Value> = asks.collect();
    stuff(&mut loaf, &asks, "loaf");
    let ids: Vec<Value> = asks.iter().map(|ask| ask["id"].clone()).collect();
    let lengths = answered_in_order(&mut loaf, &ids, "loaf");
    assert!(lengths.iter().any(|length| *length > LOG_BYTES), "the chat is not what was asked for: {lengths:?}");
    loaf.good_turn("say after");
}

#[test]
fn f1_acp_that_loads_a_session_again_and_again_and_does_not_read() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    let mut acp = Acp::new(&world, &[]);
    for _ in 0..turns() {
        long_reply(&model);
        acp.good_turn("go");
    }
    let params = json!({ "sessionId": acp.session, "cwd": world.workspace, "mcpServers": [] });
    let asks = (0..count(40, 500))
        .map(|n| json!({ "jsonrpc": "2.0", "id": 1000 + n, "method": "session/load", "params": params }));
    let asks: Vec<Value> = asks.collect();
    stuff(&mut acp, &asks, "acp");
    let ids: Vec<Value> = asks.iter().map(|ask| ask["id"].clone()).collect();
    answered_in_order(&mut acp, &ids, "acp");
}

#[test]
fn f1_serve_that_sends_long_prompts_and_does_not_read() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    let mut serve = Serve::new(&world, &[]);
    serve.good_turn("say warm");
    // As much in all as is held for a peer; what is sent beyond that is carried out, and costs what it is long.
    let long = "x".repeat(count(256, 64) * 1024);
    let asks: Vec<Value> = (0..count(100, 500))
        .map(|n| match n % 2 {
            0 => json!({ "type": "slash", "command": "help", "args": "" }),
            _ => json!({ "type": "slash", "command": "rename", "args": long }),
        })
        .collect();
    stuff(&mut serve, &asks, "serve");
    for _ in &asks {
        serve.until("slash_result");
    }
    serve.good_turn("say after");
}
