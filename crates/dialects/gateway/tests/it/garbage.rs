//! Bytes that nobody meant: each frame gets at most one refusal, nothing panics, and the connection still answers.

use std::sync::Arc;

use dialect_gateway::{AuthState, BURST_MAX, Gateway, GatewayOptions, GatewayOwn, METHODS, Scopes};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::Value;
use testkit::fakes::{CountedIds, TickingClock};
use testkit::odd::{Dice, garbage, strings};
use wire::{Dialect, Frame, Out};

const GOOD: &[&str] = &[
    r#"{"id":1,"method":"agent.send","params":{"message":"say 2 words","sessionId":"ws:a","attachments":[]}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"agent.cancel","params":{"requestId":1}}"#,
    r#"{"id":3,"method":"events.subscribe","params":{"topics":["session:ws:a","lanes"],"afterSeq":"4+17"}}"#,
    r#"{"id":4,"method":"sessions.create","params":{"title":"x \ud83d\ude00","queue":{"mode":"steer","cap":3}}}"#,
    r#"{"id":5,"method":"sessions.patch","params":{"sessionId":"ws:a","elevation":{"minutes":5},"queue":null}}"#,
    r#"{"id":6,"method":"tools.execute","params":{"tool":"shell.exec","args":{"command":"x"},"timeoutMs":5}}"#,
    r#"{"id":7,"method":"agent.confirmTool","params":{"callId":"c","decision":"deny","reason":"no"}}"#,
    r#"{"id":8,"method":"agent.send","params":{"message":"/queue set mode=steer"}}"#,
    r#"{"id":9,"method":"agent.wait","params":{"runId":"t1","timeoutMs":0}}"#,
];
/// Pieces of our own words.
const BITS: &[&str] = &["\"id\":", "\"method\":", "\"params\":{}", "\"sessionId\":\"..\"", "\"afterSeq\":\"1.1\""];

fn gateway() -> Gateway {
    let clock: Arc<TickingClock> = Arc::default();
    let options = Arc::new(GatewayOptions::new("0.1.0", clock, Arc::new(CountedIds::default())));
    Gateway::new(options, "c1".into(), AuthState::Known { scopes: Scopes::ALL }, None)
}

/// What comes of one frame.
fn hear(gateway: &mut Gateway, out: &mut Out<GatewayOwn>, frame: &[u8]) -> Vec<Value> {
    out.frames.clear();
    // As if all the time in the world passed between: the rate is not what is looked at here.
    out.now_ms += 1000;
    gateway.hear(Frame::Whole(frame), out);
    let frames = out.frames.frames().map(|frame| serde_json::from_slice(frame).unwrap()).collect();
    out.frames.clear();
    frames
}

fn still_answers(gateway: &mut Gateway, out: &mut Out<GatewayOwn>) {
    let ask = br#"{"id":9007199254740991,"method":"events.unsubscribe","params":{"subscriptionId":7}}"#;
    let heard = hear(gateway, out, ask);
    assert_eq!(heard, [serde_json::json!({"id": 9_007_199_254_740_991_u64, "result": {"unsubscribed": false}})]);
}

#[test]
fn twenty_thousand_frames_of_garbage_break_nothing() {
    let mut dice = Dice(43);
    let (mut dialect, mut out) = (gateway(), Out::new());
    for number in 0..20_000 {
        // Fresh now and then, so that requests without an answer do not pile up.
        if number % 200 == 0 || out.close.is_some() {
            (dialect, out) = (gateway(), Out::new());
        }
        let frame = garbage(&mut dice, GOOD, BITS);
        let heard = hear(&mut dialect, &mut out, &frame);
        let ended: Vec<&Value> =
            heard.iter().filter(|frame| frame.get("event").is_none()).map(|frame| &frame["id"]).collect();
        let is_twice = (1..ended.len()).any(|at| ended[..at].contains(&ended[at]));
        out.commands.clear();
        out.own.clear();
        let shown = String::from_utf8_lossy(&frame);
        // None: it waits, for a session or for a service.
        assert!(!is_twice, "{shown}: {heard:?}");
        if wire::check(&frame).is_err() {
            assert!(
                heard.len() == 1 && heard[0]["id"].is_null() && heard[0]["error"]["code"] == -1,
                "{shown}: {heard:?}"
            );
        }
        if number % 50 == 0 && out.close.is_none() {
            still_answers(&mut dialect, &mut out);
        }
    }
}

proptest! {
    #![proptest_config(Config {
        cases: 2000, rng_seed: RngSeed::Fixed(0x6a7e), failure_persistence: None, ..Config::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic(frame in proptest::collection::vec(any::<u8>(), 0..80)) {
        let (mut dialect, mut out) = (gateway(), Out::new());
        prop_assert_eq!(hear(&mut dialect, &mut out, &frame).len(), 1);
        still_answers(&mut dialect, &mut out);
    }
}

/// A request that is refused costs as much as another; what is none is answered for as long as it comes, and ends nothing.
#[test]
fn a_request_under_an_id_in_flight_counts_and_what_is_no_request_does_not() {
    let no_requests: [Frame<'_>; 5] = [
        Frame::Whole(b"x"),
        Frame::TooLong { limit: 9 },
        Frame::Whole(b"[]"),
        Frame::Whole(br#"{"id":"x","method":"tools.list"}"#),
        Frame::Whole(br#"{"id":1}"#),
    ];
    let again = Frame::Whole(br#"{"id":7,"method":"tools.list"}"#);
    let (mut dialect, mut out) = (gateway(), Out::new());
    let mut code = |frame: Frame<'_>, out: &mut Out<GatewayOwn>| {
        out.frames.clear();
        dialect.hear(frame, out);
        let frame: Value = serde_json::from_slice(out.frames.frames().next().unwrap_or(b"null")).unwrap();
        frame["error"]["code"].as_i64()
    };
    code(again, &mut out);
    for number in 0..3 * BURST_MAX {
        for frame in no_requests {
            assert!(matches!(code(frame, &mut out), Some(-1 | -2)), "{number}");
        }
    }
    for number in 1..BURST_MAX {
        assert_eq!(code(again, &mut out), Some(-2), "{number}");
    }
    for number in 1..=5 {
        assert!(out.close_when_answered.is_none(), "{number}");
        assert_eq!(code(again, &mut out), Some(3), "{number}");
    }
    assert_eq!(out.close_when_answered.as_ref().map(|close| close.code.number()), Some(1008));
}

/// Every method is asked with every awkward value in place of each member that it knows.
#[test]
fn no_value_of_any_member_breaks_a_method() {
    let odd = strings();
    let texts = odd.iter().map(|text| serde_json::to_string(text).unwrap());
    let others = ["null", "-1", "1e999", "[]", "{}", "true", "0.5", "18446744073709551616", "[[]]"].map(str::to_owned);
    let values: Vec<String> = texts.chain(others).collect();
    let mut asked = 0;
    for row in METHODS {
        let dialect_gateway::shape::ShapeSchema::Object { members, .. } = (row.params)() else { continue };
        for member in members {
            for value in &values {
                let (mut dialect, mut out) = (gateway(), Out::new());
                let frame = format!(r#"{{"id":1,"method":"{}","params":{{"{}":{value}}}}}"#, row.name, member.name);
                let heard = hear(&mut dialect, &mut out, frame.as_bytes());
                let is_done = out.commands.len() + out.own.len() > 0;
                assert!(heard.len() == 1 || is_done, "{frame}");
                asked += 1;
            }
        }
    }
    assert!(asked > 500, "{asked}");
}

#[test]
fn the_end_of_the_process_settles_every_id() {
    let (mut dialect, mut out) = (gateway(), Out::new());
    for frame in &GOOD[..6] {
        hear(&mut dialect, &mut out, frame.as_bytes());
    }
    dialect.part(wire::Parting::Asked { by: "shutdown" }, &mut out);
    assert!(out.close.is_none(), "they are waited for");
    let refused = hear(&mut dialect, &mut out, br#"{"id":20,"method":"tools.list"}"#);
    assert_eq!(refused[0]["error"]["data"]["reason"], "shutdown");
    dialect.part(wire::Parting::GraceOver, &mut out);
    let heard: Vec<Value> = out.frames.frames().map(|frame| serde_json::from_slice(frame).unwrap()).collect();
    let ends: Vec<String> = heard.iter().filter(|frame| frame.get("error").is_some()).map(crate::play::show).collect();
    // 2 was answered: what it cancelled had not begun.
    assert_eq!(ends, ["3 ! 4 shutdown", "4 ! 4 shutdown", "5 ! 4 shutdown", "6 ! 4 shutdown"]);
    assert_eq!(out.close.as_ref().map(|close| close.code.number()), Some(1001));
}

#[test]
fn frames_are_written_in_one_place() {
    fn sources(folder: &std::path::Path, into: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { sources(&path, into) } else { into.push(path) }
        }
    }
    let mut files = Vec::new();
    sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 20);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let writes = code.contains("out.frames") || code.contains(".frames.line") || code.contains("FrameBuf");
        assert_eq!(writes, file.ends_with("ledger.rs"), "{}", file.display());
    }
}
