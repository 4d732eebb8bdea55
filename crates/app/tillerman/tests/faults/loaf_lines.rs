//! Lines and JSON in `loaf`: whatever comes in, the process lives and the next request is answered; ids come back as they were.

use std::time::Duration;

use serde_json::{Value, json};

use crate::driver::{PATIENCE, World, brief, count, peak_kib};
use crate::lines::bad_lines;
use crate::loaf_driver::{Loaf, is_ready, said};

const GOOD: [&str; 5] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"session.send","params":{"session_id":"x","text":"say 1 word"}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"system.ping"}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"state.get","params":[]}"#,
    r#"{"jsonrpc":"2.0","id":1.5,"method":"session.interrupt","params":{"session_id":"x"}}"#,
    "{\"jsonrpc\":\"2.0\",\"id\":\"\u{1f600}\",\"method\":\"session.steer\",\"params\":{\"text\":\"\u{2028} é\"}}",
];

/// An object without an id may be a notification, which is passed over; one of another version never is a request.
fn refused(value: &Value) -> bool {
    value.get("id").is_some() && value["jsonrpc"] != "2.0"
}

/// The next request is answered, and this many errors came before it, and nothing else.
fn answered(loaf: &mut Loaf, errors: usize, about: &str) -> Vec<Value> {
    let id = loaf.request("system.ping", json!([]));
    let seen = loaf.answer(id);
    let got = seen.iter().filter(|value| value["error"].is_object()).count();
    assert_eq!((got, seen.len()), (errors, errors + 1), "{about}: {got} errors\n{}", brief(&seen));
    seen
}

#[test]
fn j1_any_bytes_get_one_error_each_and_the_next_request_is_answered() {
    let world = World::tour();
    let mut loaf = Loaf::new(&world, &[]);
    let sent = bad_lines(&GOOD, refused, |group, (start, end)| {
        loaf.send_raw(start);
        loaf.send_raw(end);
        answered(&mut loaf, group, &String::from_utf8_lossy(&[start, end].concat()));
    });
    // A line separator of Unicode is data, and a CR before LF is not.
    let session = loaf.session.clone();
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"session.send\",\"params\":{{\"session_id\":\"{session}\",\"text\":\"say \\\"a\u{2028}b\u{2029}c\u{85}d\\\"\"}}}}\r\n"
    );
    loaf.send_raw(line.as_bytes());
    let seen = loaf.until_one("the end of a turn", |_, value| is_ready(value));
    assert_eq!(said(&seen), "a\u{2028}b\u{2029}c\u{85}d");
    loaf.shutdown();
    println!("J1 loaf: {sent} bad lines, {sent} errors, every following request answered");
}

/// As much as a line may have, and what a memory may grow by over lines that are longer.
const LINE_MIB_MAX: usize = 16;
const GROWN_MIB_MAX: u64 = 96;

#[test]
fn j3_a_line_has_a_limit_that_costs_no_memory() {
    let world = World::tour();
    let mut loaf = Loaf::new(&world, &[]);
    loaf.good_turn("say warm");
    let before = loaf.rss_kib();
    let chunk = vec![b'x'; 1 << 20];
    let mib = count(64, 1024);
    for start in [&b""[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"", b"[["] {
        loaf.send_raw(start);
        (0..mib).for_each(|_| loaf.send_raw(&chunk));
        loaf.send_raw(b"\n");
        let seen = answered(&mut loaf, 1, "a long line");
        assert_eq!(seen[0]["error"]["code"], -32600, "{}", seen[0]);
        assert_eq!(seen[0]["error"]["data"]["reason"], "line_too_long", "{}", seen[0]);
    }
    // One that is just within the limit is heard, and one just over it is not.
    for (mib, errors) in [(LINE_MIB_MAX - 1, 0), (LINE_MIB_MAX + 1, 1)] {
        loaf.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"system.ping\",\"params\":\"");
        (0..mib).for_each(|_| loaf.send_raw(&chunk));
        loaf.send_raw(b"\"}\n");
        let value = loaf.next(PATIENCE).expect("an answer");
        assert_eq!(value["error"].is_object(), errors == 1, "{mib} MiB: {}", brief(std::slice::from_ref(&value)));
    }
    let deep = 100_000;
    for nest in ["[".repeat(deep), "{\"a\":".repeat(deep), format!("{}{}", "[".repeat(deep), "]".repeat(deep))] {
        loaf.send_raw(nest.as_bytes());
        loaf.send_raw(b"\n");
        answered(&mut loaf, 1, "nesting");
    }
    let grown = peak_kib(loaf.pid()).saturating_sub(before) / 1024;
    assert!(grown < GROWN_MIB_MAX, "{grown} MiB");
    loaf.shutdown();
    println!("J3 loaf: 3 lines of {mib} MiB and 3 nests: memory grew by {grown} MiB");
}

#[test]
fn j5_ids_come_back_as_they_were_or_are_refused() {
    let world = World::tour();
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
    let world = World::tour();
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
