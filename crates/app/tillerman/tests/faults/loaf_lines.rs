//! JSON-RPC in `loaf`: ids come back as they were, and a member that stands twice is refused.

use std::time::Duration;

use serde_json::Value;
use testkit::faults::{Driver, PATIENCE};

use crate::drivers::Loaf;
use crate::lines::answered;
use crate::worlds::tour;

#[test]
fn j5_ids_come_back_as_they_were_or_are_refused() {
    let world = tour();
    let mut loaf = Loaf::new(&world, &[]);
    let ids = [
        "0",
        "-1",
        "1.5",
        "9007199254740993",
        "-9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1e999",
        "-0",
        "1E2",
        "0.1e-7",
        "\"\"",
        "\"\\u0041\\u0000\"",
        "\"\u{1f600}\"",
        "\"\\ud83d\\ude00\"",
        "null",
    ];
    let (mut echoed, mut turned_down) = (0, 0);
    for id in ids {
        loaf.send_raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"system.ping\"}}\n").as_bytes());
        let line = String::from_utf8(loaf.line(PATIENCE).expect("an answer")).unwrap();
        // Byte for byte, also where a reader of numbers gives up.
        let same = line.starts_with(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":"));
        if same {
            echoed += 1;
            continue;
        }
        let value: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{id}: {error}: {line}"));
        if value["error"].is_object() {
            assert_eq!(value["id"], Value::Null, "{id}: {line}");
            turned_down += 1;
            continue;
        }
        // A text may be spelled in another way.
        let text: Value = serde_json::from_str(id).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(text.is_string() && value["id"] == text, "{id} came back as {line}");
        echoed += 1;
    }
    assert!(echoed >= 10, "only {echoed} ids came back");
    println!("J5 loaf: {echoed} ids came back as they were, {turned_down} were refused");
}

#[test]
fn j5_a_member_that_stands_twice_is_refused_and_nothing_is_done() {
    let world = tour();
    let mut loaf = Loaf::new(&world, &[]);
    let session = loaf.session.clone();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"system.shutdown"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"system.shutdown"}"#.into(),
        r#"{"jsonrpc":"2.0","id":1,"method":"system.ping","method":"system.shutdown"}"#.into(),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"session.send","params":{{"session_id":"{session}","text":"say a","text":"say b"}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"session.send","params":{{"session_id":"{session}","text":"say a"}},"params":{{}}}}"#
        ),
    ];
    for line in &lines {
        loaf.send_raw(format!("{line}\n").as_bytes());
        let seen = answered(&mut loaf, 1, line);
        assert!([-32700, -32600, -32602].contains(&seen[0]["error"]["code"].as_i64().unwrap()), "{line}: {}", seen[0]);
    }
    assert!(loaf.next(Duration::from_millis(300)).is_none(), "something was done");
    loaf.good_turn("say still-here");
    loaf.shutdown();
    println!("J5 loaf: {} lines with a member twice, all refused", lines.len());
}
