//! Lines and JSON in `acp`: whatever comes in, the process lives and the next request is answered.

use serde_json::{Value, json};

use crate::acp_driver::{Acp, said};
use crate::driver::{World, brief, count, peak_kib};
use crate::lines::bad_lines;

const GOOD: [&str; 5] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"x","prompt":[{"type":"text","text":"say 1 word"}]}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"session/list","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":1.5,"method":"session/cancel","params":{"sessionId":"x"}}"#,
    "{\"jsonrpc\":\"2.0\",\"id\":\"\u{1f600}\",\"method\":\"session/new\",\"params\":{\"cwd\":\"\u{2028} é\"}}",
];

/// The version may be missing, but not another.
fn refused(value: &Value) -> bool {
    value.get("jsonrpc").is_some_and(|version| version != "2.0")
}

/// The next request is answered, and this many errors came before it, and nothing else.
fn answered(acp: &mut Acp, errors: usize, about: &str) -> Vec<Value> {
    let id = acp.request("ping", json!({}));
    let seen = acp.answer(id);
    let got = seen.iter().filter(|value| value["error"].is_object()).count();
    assert_eq!((got, seen.len()), (errors, errors + 1), "{about}: {got} errors\n{}", brief(&seen));
    seen
}

#[test]
fn j1_any_bytes_get_one_error_each_and_the_next_request_is_answered() {
    let world = World::tour();
    let mut acp = Acp::new(&world, &[]);
    acp.until("usage_update");
    let sent = bad_lines(&GOOD, refused, |group, (start, end)| {
        acp.send_raw(start);
        acp.send_raw(end);
        answered(&mut acp, group, &String::from_utf8_lossy(&[start, end].concat()));
    });
    // A line separator of Unicode is data, and a CR before LF is not.
    let session = acp.session.clone();
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"session/prompt\",\"params\":{{\"sessionId\":\"{session}\",\"prompt\":[{{\"type\":\"text\",\"text\":\"say \\\"a\u{2028}b\u{2029}c\u{85}d\\\"\"}}]}}}}\r\n"
    );
    acp.send_raw(line.as_bytes());
    let seen = acp.until_one("the end of a turn", |_, value| value["id"] == "u");
    assert_eq!(said(&seen), "a\u{2028}b\u{2029}c\u{85}d");
    acp.shutdown();
    println!("J1 acp: {sent} bad lines, {sent} errors, every following request answered");
}

/// The longest line that is heard, and what a memory may grow by over lines that are longer.
const LINE_MIB_MAX: usize = 48;
const GROWN_MIB_MAX: u64 = 256;

#[test]
fn j3_a_line_has_a_limit_that_costs_no_memory() {
    let world = World::tour();
    let mut acp = Acp::new(&world, &[]);
    acp.until("usage_update");
    let before = acp.rss_kib();
    let chunk = vec![b'x'; 1 << 20];
    let mib = count(64, 1024);
    for start in [&b""[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"", b"[["] {
        acp.send_raw(start);
        (0..mib).for_each(|_| acp.send_raw(&chunk));
        acp.send_raw(b"\n");
        let seen = answered(&mut acp, 1, "a long line");
        assert_eq!(seen[0]["error"]["code"], -32600, "{}", seen[0]);
    }
    // Clients of the official kit send up to 32 MiB, and that is heard.
    for (mib, errors) in [(32, 0), (LINE_MIB_MAX - 1, 0), (LINE_MIB_MAX + 1, 1)] {
        acp.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\",\"params\":\"");
        (0..mib).for_each(|_| acp.send_raw(&chunk));
        acp.send_raw(b"\"}\n");
        let value = acp.next(crate::driver::PATIENCE).expect("an answer");
        assert_eq!(value["error"].is_object(), errors == 1, "{mib} MiB: {}", brief(std::slice::from_ref(&value)));
    }
    let grown = peak_kib(acp.pid()).saturating_sub(before) / 1024;
    assert!(grown < GROWN_MIB_MAX, "{grown} MiB");
    acp.shutdown();
    println!("J3 acp: 3 lines of {mib} MiB: memory grew by {grown} MiB");
}
