//! What kind of frame a line is.

use wire::jsonrpc::{self, Frame, RpcError, Version};

fn shown(text: &str) -> String {
    shown_as(text, Version::Required)
}

fn shown_as(text: &str, version: Version) -> String {
    let raw = |raw: Option<&serde_json::value::RawValue>| raw.map_or("-", |raw| raw.get()).to_owned();
    match jsonrpc::read(text, version) {
        Frame::Request { id, method, params } => format!("request {} {method} {}", id.get(), raw(params)),
        Frame::Notification { method, params } => format!("notification {method} {}", raw(params)),
        Frame::Response { id, outcome: Ok(result) } => format!("result {} {}", id.get(), result.get()),
        Frame::Response { id, outcome: Err(error) } => format!("error {} {} {}", id.get(), error.code, error.message),
        Frame::Batch => "batch".into(),
        Frame::Invalid => "invalid".into(),
    }
}

#[test]
fn the_keys_tell_what_a_frame_is() {
    for (text, want) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[1]}}"#, r#"request 1 a {"x":[1]}"#),
        (r#"{"jsonrpc":"2.0","id":"q-1","method":"a"}"#, r#"request "q-1" a -"#),
        (r#"{"jsonrpc":"2.0","id":1.50,"method":"a","params":[]}"#, "request 1.50 a []"),
        (r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"a"}"#, "request 12345678901234567890123 a -"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "request null a -"),
        (r#"{"jsonrpc":"2.0","id":-1,"method":"a","unknown":true}"#, "request -1 a -"),
        (r#"{"method":"a/\u00e9 b","id":1,"jsonrpc":"2.0"}"#, "request 1 a/é b -"),
        (r#"{"jsonrpc":"2.0","id":1,"method":" a "}"#, "request 1  a  -"),
        (r#"{"jsonrpc":"2.0","method":"a","params":null}"#, "notification a -"),
        (r#"{"jsonrpc":"2.0","id":3,"result":null}"#, "result 3 null"),
        (r#"{"jsonrpc":"2.0","id":3,"result":{"a":1}}"#, r#"result 3 {"a":1}"#),
        (r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"no"}}"#, "error 3 -32000 no"),
        (r#"{"jsonrpc":"2.0","id":3,"error":7}"#, "error 3 -32603 an error that cannot be read"),
        ("[]", "batch"),
        (r#" [{"jsonrpc":"2.0","id":1,"method":"a"}]"#, "batch"),
    ] {
        assert_eq!(shown(text), want, "{text}");
    }
}

#[test]
fn what_is_no_frame_is_invalid_and_nothing_worse() {
    for text in [
        "null",
        "7",
        r#""x""#,
        "{}",
        r#"{"id":1,"method":"a"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#,
        r#"{"jsonrpc":2,"id":1,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":""}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"  "}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#,
        r#"{"jsonrpc":"2.0","result":1}"#,
    ] {
        assert_eq!(shown(text), "invalid", "{text}");
    }
}

#[test]
fn a_version_may_be_left_out_where_that_is_allowed_and_may_never_be_another() {
    assert_eq!(shown_as(r#"{"id":1,"method":"a"}"#, Version::Optional), "request 1 a -");
    assert_eq!(shown_as(r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, Version::Optional), "invalid");
}

#[test]
fn our_frames_are_read_back_as_what_they_are() {
    let mut out = Vec::new();
    jsonrpc::request(&mut out, 7, "ask", [1, 2]);
    jsonrpc::notification(&mut out, "tell", "x");
    let id = serde_json::value::RawValue::from_string("\"a\"".into()).unwrap();
    jsonrpc::result(&mut out, &id, serde_json::json!({ "ok": true }));
    let mut error = RpcError::new(jsonrpc::INVALID_PARAMS, "no \u{2028} \"way\"");
    error.data = Some(serde_json::json!({ "reason": "invalid_params" }));
    jsonrpc::error(&mut out, Some(&id), &error);
    jsonrpc::error(&mut out, None, &RpcError::new(jsonrpc::PARSE_ERROR, "parse error"));
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.split_terminator('\n').collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(
        lines.iter().map(|line| shown(line)).collect::<Vec<_>>(),
        [
            "request 7 ask [1,2]",
            "notification tell \"x\"",
            r#"result "a" {"ok":true}"#,
            "error \"a\" -32602 no \u{2028} \"way\"",
            "error null -32700 parse error",
        ]
    );
    assert!(lines[4].starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}"#));
}
