//! Every inbound message, and every way to get one wrong.

use expect_test::expect;
use vocab::{Fault, FaultKind};

use crate::talk::{Talk, busy, opened, options, renamed, slash, slash_reply, started, turn_reply};

#[test]
fn a_session_is_opened_unasked_and_ready_is_the_first_line() {
    let mut talk = Talk::new(options());
    assert!(!wire::Dialect::listening(&talk.serve), "early lines wait in the pipe");
    talk.reply(1, Ok(opened("s1")));
    assert!(wire::Dialect::listening(&talk.serve));
    talk.check(expect![[r#"
        ! 1 Current Open New, mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
        < {"type":"ready","protocol":1,"version":"0.1.0","session_id":"s1","model":"mock/alpha","mode":"prompt","tools":["read_file","glob_search","mcp__x__y"],"context_window":128000,"max_tokens":16384,"gadgets":["docs"]}
    "#]]);
}

#[test]
fn each_message_becomes_one_command() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"prompt","text":"list the python files"}"#).reply(2, turn_reply("t1"));
    talk.log_entry(started("t1"));
    talk.hear(r#"{"type":"slash","command":"status"}"#).reply(3, slash_reply(slash("status", renamed("x"))));
    talk.hear(r#"{"type":"slash","command":"/MODEL","args":"mock/beta"}"#);
    talk.hear(r#" {"args":"","command":"//x","type":"slash"} "#);
    talk.hear(r#"{"type":"interrupt"}"#);
    talk.hear(r#"{"type":"prompt","text":"/help is only text here"}"#);
    talk.check(expect![[r#"
        > {"type":"prompt","text":"list the python files"}
        ! 2 Current Prompt { parts: [Text("list the python files")], delivery: RejectIfBusy }
        < {"type":"turn_started","turn_id":"t1"}
        > {"type":"slash","command":"status"}
        ! 3 Current Slash { name: "status", args: "" }
        < {"type":"slash_result","command":"status","text":"title: x","data":{"ok":true,"title":"x"},"clear_session":false,"exit":false}
        > {"type":"slash","command":"/MODEL","args":"mock/beta"}
        ! 4 Current Slash { name: "model", args: "mock/beta" }
        >  {"args":"","command":"//x","type":"slash"} 
        ! 5 Current Slash { name: "/x", args: "" }
        > {"type":"interrupt"}
        ! 6 Current Interrupt { turn: None }
        > {"type":"prompt","text":"/help is only text here"}
        ! 7 Current Prompt { parts: [Text("/help is only text here")], delivery: RejectIfBusy }
    "#]]);
}

#[test]
fn a_prompt_during_a_turn_is_refused_without_a_turn_id() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"prompt","text":"a"}"#).reply(2, turn_reply("t1")).log_entry(started("t1"));
    talk.hear(r#"{"type":"prompt","text":"b"}"#).reply(3, busy());
    talk.check(expect![[r#"
        > {"type":"prompt","text":"a"}
        ! 2 Current Prompt { parts: [Text("a")], delivery: RejectIfBusy }
        < {"type":"turn_started","turn_id":"t1"}
        > {"type":"prompt","text":"b"}
        ! 3 Current Prompt { parts: [Text("b")], delivery: RejectIfBusy }
        < {"type":"error","code":"turn_in_progress","message":"a turn is in progress","origin":"local"}
    "#]]);
}

#[test]
fn blank_prompts_are_refused_at_once() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"prompt","text":""}"#);
    talk.hear(r#"{"type":"prompt","text":" \n\t\u3000"}"#);
    talk.check(expect![[r#"
        > {"type":"prompt","text":""}
        < {"type":"error","code":"empty_prompt","message":"the prompt is blank","origin":"local"}
        > {"type":"prompt","text":" \n\t\u3000"}
        < {"type":"error","code":"empty_prompt","message":"the prompt is blank","origin":"local"}
    "#]]);
}

#[test]
fn a_line_that_is_no_message_gets_one_error_that_names_what_is_wrong() {
    let mut talk = Talk::open();
    for line in [
        "{bad",
        "[]",
        "null",
        r#"["prompt","hi"]"#,
        r#""prompt""#,
        "{}",
        r#"{"type":5}"#,
        r#"{"type":null}"#,
        r#"{"type":"zzz"}"#,
        r#"{"type":"open"}"#,
        r#"{"type":"prompt"}"#,
        r#"{"type":"prompt","text":5}"#,
        r#"{"type":"prompt","text":null}"#,
        r#"{"type":"prompt","text":["a"]}"#,
        r#"{"type":"prompt","text":"x","foo":1}"#,
        r#"{"type":"prompt","text":"x","Text":"y"}"#,
        r#"{"type":"prompt","text":"x","session":"a"}"#,
        r#"{"type":"interrupt","now":true}"#,
        r#"{"type":"shutdown","session":null}"#,
        r#"{"type":"slash"}"#,
        r#"{"type":"slash","command":"x","args":null}"#,
        r#"{"type":"permission_response","request_id":"r","decision":"maybe"}"#,
        r#"{"type":"permission_response","request_id":"r","decision":{"allow":null}}"#,
        r#"{"type":"permission_response","request_id":7,"decision":"allow"}"#,
        r#"{"type":"permission_response","decision":"allow"}"#,
        r#"{"type":"permission_response","request_id":"r","decision":"deny","reason":1}"#,
        r#"{"type":"prompt","text":"a","text":"b"}"#,
        r#"{"type":"prompt","\u0074ext":"a","text":"b"}"#,
        r#"{"type":"prompt","text":"a","n":1e999}"#,
        "{\"type\":\"prompt\",\"text\":\"a\tb\"}",
        "\u{feff}{\"type\":\"interrupt\"}",
    ] {
        talk.hear(line);
    }
    talk.check(expect![[r#"
        > {bad
        < {"type":"error","code":"malformed_json","message":"expected a key in quotes, found 'b' at byte 1","origin":"local"}
        > []
        < {"type":"error","code":"invalid_message","message":"expected an object","origin":"local"}
        > null
        < {"type":"error","code":"invalid_message","message":"expected an object","origin":"local"}
        > ["prompt","hi"]
        < {"type":"error","code":"invalid_message","message":"expected an object","origin":"local"}
        > "prompt"
        < {"type":"error","code":"invalid_message","message":"expected an object","origin":"local"}
        > {}
        < {"type":"error","code":"invalid_message","message":"type: field required","origin":"local"}
        > {"type":5}
        < {"type":"error","code":"invalid_message","message":"type: expected a string","origin":"local"}
        > {"type":null}
        < {"type":"error","code":"invalid_message","message":"type: expected a string","origin":"local"}
        > {"type":"zzz"}
        < {"type":"error","code":"invalid_message","message":"type: unknown message \"zzz\", expected one of prompt, slash, interrupt, permission_response, shutdown","origin":"local"}
        > {"type":"open"}
        < {"type":"error","code":"invalid_message","message":"type: unknown message \"open\", expected one of prompt, slash, interrupt, permission_response, shutdown","origin":"local"}
        > {"type":"prompt"}
        < {"type":"error","code":"invalid_message","message":"prompt.text: field required","origin":"local"}
        > {"type":"prompt","text":5}
        < {"type":"error","code":"invalid_message","message":"prompt.text: expected a string","origin":"local"}
        > {"type":"prompt","text":null}
        < {"type":"error","code":"invalid_message","message":"prompt.text: expected a string","origin":"local"}
        > {"type":"prompt","text":["a"]}
        < {"type":"error","code":"invalid_message","message":"prompt.text: expected a string","origin":"local"}
        > {"type":"prompt","text":"x","foo":1}
        < {"type":"error","code":"invalid_message","message":"prompt.foo: unknown field","origin":"local"}
        > {"type":"prompt","text":"x","Text":"y"}
        < {"type":"error","code":"invalid_message","message":"prompt.Text: unknown field","origin":"local"}
        > {"type":"prompt","text":"x","session":"a"}
        < {"type":"error","code":"invalid_message","message":"prompt.session: unknown field","origin":"local"}
        > {"type":"interrupt","now":true}
        < {"type":"error","code":"invalid_message","message":"interrupt.now: unknown field","origin":"local"}
        > {"type":"shutdown","session":null}
        < {"type":"error","code":"invalid_message","message":"shutdown.session: unknown field","origin":"local"}
        > {"type":"slash"}
        < {"type":"error","code":"invalid_message","message":"slash.command: field required","origin":"local"}
        > {"type":"slash","command":"x","args":null}
        < {"type":"error","code":"invalid_message","message":"slash.args: expected a string","origin":"local"}
        > {"type":"permission_response","request_id":"r","decision":"maybe"}
        < {"type":"error","code":"invalid_message","message":"permission_response.decision: expected \"allow\" or \"deny\"","origin":"local"}
        > {"type":"permission_response","request_id":"r","decision":{"allow":null}}
        < {"type":"error","code":"invalid_message","message":"permission_response.decision: expected \"allow\" or \"deny\"","origin":"local"}
        > {"type":"permission_response","request_id":7,"decision":"allow"}
        < {"type":"error","code":"invalid_message","message":"permission_response.request_id: expected a string","origin":"local"}
        > {"type":"permission_response","decision":"allow"}
        < {"type":"error","code":"invalid_message","message":"permission_response.request_id: field required","origin":"local"}
        > {"type":"permission_response","request_id":"r","decision":"deny","reason":1}
        < {"type":"error","code":"invalid_message","message":"permission_response.reason: expected a string or null","origin":"local"}
        > {"type":"prompt","text":"a","text":"b"}
        < {"type":"error","code":"malformed_json","message":"duplicate key \"text\" at byte 28","origin":"local"}
        > {"type":"prompt","\u0074ext":"a","text":"b"}
        < {"type":"error","code":"malformed_json","message":"duplicate key \"text\" at byte 33","origin":"local"}
        > {"type":"prompt","text":"a","n":1e999}
        < {"type":"error","code":"invalid_message","message":"prompt.n: unknown field","origin":"local"}
        > {"type":"prompt","text":"a	b"}
        < {"type":"error","code":"malformed_json","message":"expected an escape instead of a control character, found '\\t' at byte 26","origin":"local"}
        > ﻿{"type":"interrupt"}
        < {"type":"error","code":"malformed_json","message":"expected a value, found '\\u{feff}' at byte 0","origin":"local"}
    "#]]);
}

#[test]
fn blank_lines_mean_nothing() {
    let mut talk = Talk::open();
    for line in ["", " ", "\t", "\r", " \t \r"] {
        assert_eq!(talk.hear_bytes(line.as_bytes()), (0, vec![]));
    }
    assert_eq!(talk.hear_bytes(b"\x0c").1[0]["code"], "malformed_json");
}

#[test]
fn a_line_that_is_too_long_is_reported_once() {
    let mut talk = Talk::open();
    wire::Dialect::hear(&mut talk.serve, wire::Frame::TooLong { limit: 16 }, &mut talk.out);
    talk.hear(r#"{"type":"interrupt"}"#);
    talk.check(expect![[r#"
        > {"type":"interrupt"}
        < {"type":"error","code":"line_too_long","message":"the line is longer than 16 bytes; it was skipped","origin":"local"}
        ! 2 Current Interrupt { turn: None }
    "#]]);
}

#[test]
fn a_half_surrogate_pair_becomes_the_replacement_character() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"prompt","text":"a\ud800b\udc00 \ud83d\ude00 \\ud800"}"#);
    talk.check(expect![[r#"
        > {"type":"prompt","text":"a\ud800b\udc00 \ud83d\ude00 \\ud800"}
        ! 2 Current Prompt { parts: [Text("a�b� 😀 \\ud800")], delivery: RejectIfBusy }
    "#]]);
}

#[test]
fn one_escaped_and_one_plain_spelling_of_a_member_name_are_the_same_member() {
    let mut talk = Talk::open();
    talk.hear(r#"{"\u0074ype":"\u0070rompt","t\u0065xt":"hi"}"#);
    talk.check(expect![[r#"
        > {"\u0074ype":"\u0070rompt","t\u0065xt":"hi"}
        ! 2 Current Prompt { parts: [Text("hi")], delivery: RejectIfBusy }
    "#]]);
}

#[test]
fn a_long_foreign_name_is_cut_in_the_error() {
    let mut talk = Talk::open();
    let (commands, frames) =
        talk.hear_bytes(format!(r#"{{"type":"interrupt","{}":1}}"#, "é".repeat(100_000)).as_bytes());
    assert_eq!(commands, 0);
    assert_eq!(frames[0]["message"], format!("interrupt.{}: unknown field", "é".repeat(64)));
}

#[test]
fn a_slash_command_that_the_engine_cannot_run_still_has_one_result() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"slash","command":"export","args":"/x"}"#)
        .reply(2, Err(Fault::new(FaultKind::Store, "disk full").hint("free some space")));
    talk.check(expect![[r#"
        > {"type":"slash","command":"export","args":"/x"}
        ! 2 Current Slash { name: "export", args: "/x" }
        < {"type":"slash_result","command":"export","text":"disk full (free some space)","data":{"ok":false,"error":"store_error","message":"disk full (free some space)"},"clear_session":false,"exit":false}
    "#]]);
}

#[test]
fn hints_follow_the_message_in_parentheses() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"prompt","text":"a"}"#)
        .reply(2, Err(Fault::new(FaultKind::Store, "cannot write").hint("one").hint("two")));
    talk.check(expect![[r#"
        > {"type":"prompt","text":"a"}
        ! 2 Current Prompt { parts: [Text("a")], delivery: RejectIfBusy }
        < {"type":"error","code":"store_error","message":"cannot write (one; two)","origin":"local"}
    "#]]);
}

#[test]
fn resume_words_mean_what_they_say() {
    use vocab::Which;
    for (text, which) in [
        ("latest", Which::Latest),
        ("last", Which::Latest),
        ("recent", Which::Latest),
        ("0198c", Which::Id("0198c".into())),
        ("a/b", Which::Path("a/b".into())),
        ("x.jsonl", Which::Path("x.jsonl".into())),
    ] {
        assert_eq!(Which::parse(text), which, "{text}");
    }
}

#[test]
fn a_session_that_cannot_be_opened_is_one_error_and_a_close() {
    for (kind, code) in [
        (FaultKind::NotFound, "session_not_found"),
        (FaultKind::UnknownSession, "session_not_found"),
        (FaultKind::SessionBusy, "session_busy"),
        (FaultKind::Store, "bootstrap_failed"),
        (FaultKind::UnknownModel, "bootstrap_failed"),
        (FaultKind::Network, "bootstrap_failed"),
    ] {
        let mut talk = Talk::new(options());
        let (commands, frames) =
            talk.told(vocab::Event::Reply { tag: vocab::Tag(1), result: Err(Fault::new(kind, "why")) });
        assert_eq!((commands, frames.len()), (0, 1));
        assert_eq!((frames[0]["code"].as_str(), frames[0]["origin"].as_str()), (Some(code), Some("local")));
        let close = match kind {
            FaultKind::SessionBusy => wire::CloseCode::TryAgainLater,
            _ => wire::CloseCode::PolicyViolation,
        };
        assert_eq!(talk.out.close.as_ref().map(|close| close.code), Some(close));
        assert!(!wire::Dialect::listening(&talk.serve));
    }
}

#[test]
fn lines_wait_in_the_pipe_while_the_engine_is_far_behind() {
    let mut talk = Talk::open();
    for _ in 0..1024 {
        assert!(wire::Dialect::listening(&talk.serve));
        talk.hear_bytes(br#"{"type":"interrupt"}"#);
    }
    assert!(!wire::Dialect::listening(&talk.serve));
    talk.reply(2, Ok(vocab::Reply::Interrupted { was_running: false }));
    assert!(wire::Dialect::listening(&talk.serve));
}
