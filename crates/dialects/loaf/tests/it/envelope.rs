//! The JSON-RPC envelope: what is a request, what is none, and how an `id` comes back.

use serde_json::{Value, json};

use crate::talk::Talk;

/// One line in, at most one line out.
fn answer(line: &str) -> Option<String> {
    let mut talk = Talk::new();
    talk.loaf_hears(line)
}

impl Talk {
    fn loaf_hears(&mut self, line: &str) -> Option<String> {
        use wire::Dialect;
        self.loaf.hear(wire::Frame::Whole(line.as_bytes()), &mut self.out);
        let text = String::from_utf8(self.out.frames.as_bytes().to_vec()).unwrap();
        self.out.frames.clear();
        assert!(self.out.commands.is_empty(), "nothing is carried out");
        assert!(text.lines().count() <= 1, "{text}");
        text.lines().next().map(str::to_owned)
    }
}

fn error(line: &str) -> (Value, Value, String, Value) {
    let value: Value = serde_json::from_str(&answer(line).unwrap()).unwrap();
    let error = &value["error"];
    assert_eq!(value.as_object().unwrap().len(), 3, "{value}");
    assert_eq!(error.as_object().unwrap().len(), 3, "{value}");
    (value["id"].clone(), error["code"].clone(), error["message"].as_str().unwrap().to_owned(), error["data"].clone())
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    for line in [
        "{bad",
        "{\"a\":1,}",
        "{}{}",
        "\u{feff}{}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"system.ping\"}",
        "\u{1}",
    ] {
        let (id, code, message, data) = error(line);
        assert_eq!((id, code, data), (Value::Null, json!(-32700), json!({"reason": "parse_error"})), "{line}");
        assert!(message.starts_with("parse error: ") && message.len() > 15, "{message}");
    }
}

#[test]
fn blank_lines_are_passed_over() {
    for line in ["", " ", "\t  \r", "\r"] {
        assert_eq!(answer(line), None, "{line:?}");
    }
    assert!(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"system.ping\"}\r").is_some());
}

#[test]
fn a_batch_is_refused_whole() {
    for line in ["[]", r#"[{"jsonrpc":"2.0","id":1,"method":"system.shutdown"}]"#, "[1,2]", " [ ] "] {
        let want = (Value::Null, json!(-32600), "batch requests are not supported".to_owned());
        let (id, code, message, data) = error(line);
        assert_eq!((id, code, message), want, "{line}");
        assert_eq!(data, json!({"reason": "batch_not_supported"}));
    }
}

#[test]
fn what_is_no_request_is_answered_with_the_id_null() {
    for line in [
        "null",
        "true",
        "17",
        "\"text\"",
        "{}",
        r#"{"id":7,"method":"system.ping"}"#,
        r#"{"jsonrpc":"1.0","id":7,"method":"system.ping"}"#,
        r#"{"jsonrpc":2.0,"id":7,"method":"system.ping"}"#,
        r#"{"jsonrpc":null,"id":7,"method":"system.ping"}"#,
        r#"{"jsonrpc":"2.0","id":7}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":""}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"  "}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"system.ping"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"system.ping"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"system.ping"}"#,
        r#"{"jsonrpc":"2.0","id":"\ud800","method":"system.ping"}"#,
        r#"{"jsonrpc":"2.0","id":"a\udc00\ud83d","method":"nope"}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
    ] {
        let want = (Value::Null, json!(-32600), "invalid request".to_owned(), json!({"reason": "invalid_request"}));
        assert_eq!(error(line), want, "{line}");
    }
}

#[test]
fn a_notification_does_nothing() {
    for method in ["system.shutdown", "session.create", "onboarding.complete", "nope", " x"] {
        for params in ["", r#","params":{"x":1}"#, r#","params":7"#] {
            assert_eq!(answer(&format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#)), None, "{method}");
        }
    }
}

#[test]
fn ids_come_back_byte_for_byte() {
    for id in [
        "null",
        "0",
        "-1",
        "1.5",
        "1.50",
        "1e3",
        "12345678901234567890",
        "123456789012345678901234567890",
        "1e999",
        r#""""#,
        r#""a\"b\\c\u00e9\/""#,
        r#""\u0000""#,
        r#""é😀""#,
    ] {
        let line = answer(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"onboarding.status"}}"#)).unwrap();
        assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"completed":false}}}}"#));
        let line = answer(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nope"}}"#)).unwrap();
        assert!(line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)), "{line}");
    }
}

#[test]
fn more_members_are_ignored_and_methods_are_not_trimmed() {
    assert!(
        answer(r#"{"extra":[1],"method":"system.ping","id":1,"jsonrpc":"2.0","result":7}"#).unwrap().contains("ok")
    );
    for method in ["nope", " system.ping", "system.ping ", "System.ping", "system.ping\\n"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}"}}"#);
        let method = method.replace("\\n", "\n");
        let (id, code, message, data) = error(&line);
        assert_eq!((id, code), (json!("x"), json!(-32601)));
        assert_eq!(message, format!("method not found: {method}"));
        assert_eq!(data, json!({"reason": "method_not_found", "method": method}));
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_is_heard() {
    use wire::Dialect;
    let mut talk = Talk::new();
    talk.loaf.hear(wire::Frame::TooLong { limit: 99 }, &mut talk.out);
    let (_, frames) = talk.drain();
    assert_eq!(frames[0]["error"]["code"], -32600);
    assert_eq!(frames[0]["error"]["data"], json!({"reason": "line_too_long"}));
    assert!(talk.loaf_hears(r#"{"jsonrpc":"2.0","id":1,"method":"system.ping"}"#).is_some());
}

#[test]
fn params_that_are_no_object() {
    for method in ["session.get", "debug.set", "model.select", "command.execute", "history.clear_session"] {
        for params in ["", r#","params":null"#, r#","params":[]"#, r#","params":7"#, r#","params":"x""#] {
            let (id, code, message, data) =
                error(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#));
            assert_eq!((id, code), (json!(1), json!(-32602)), "{method} {params}");
            assert_eq!(message, format!("invalid params for {method}: expected object"));
            assert_eq!(data, json!({"reason": "invalid_params"}));
        }
    }
    for method in ["rpc.handshake", "session.create", "history.list", "model.list", "system.shutdown"] {
        let (_, code, message, _) = error(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#));
        assert_eq!((code, message), (json!(-32602), format!("invalid params for {method}: expected object")));
    }
}

#[test]
fn a_number_that_no_machine_has_is_not_finite() {
    for field in ["limit", "cursor"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"history.list","params":{{"{field}":1e999,"x":[]}}}}"#);
        let (_, code, message, data) = error(&line);
        assert_eq!((code, data["field"].as_str()), (json!(-32602), Some(field)));
        assert_eq!(message, format!("invalid params for history.list: `{field}` must be a finite number"));
    }
    // Where nobody asks for it, it does no harm.
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"debug.set","params":{"super_debug":true,"x":{"y":1e999}}}"#;
    assert!(answer(line).unwrap().ends_with(r#""result":{"super_debug":true}}"#));
}
