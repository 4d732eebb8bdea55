use crate::{Floor, scratch, start_mock};

#[test]
fn a_turn_with_a_tool_is_told_in_the_order_of_serve() {
    let (_mock, base) = start_mock();
    let dir = scratch("order");
    std::fs::write(dir.join("a.txt"), "hello\n").unwrap();
    let mut floor = Floor::start(&base, &dir, &[]);
    assert_eq!(floor.hear()["type"], "ready");
    floor.say(r#"{"type":"prompt","text":"call read_file {\"path\":\"a.txt\"} then say 2 words"}"#);
    assert_eq!(floor.hear()["type"], "turn_started");
    let start = floor.hear();
    assert_eq!((&start["type"], &start["input"]["path"]), (&"tool_start".into(), &"a.txt".into()));
    let ask = floor.hear();
    assert_eq!((&ask["type"], &ask["required_mode"]), (&"permission_request".into(), &"read-only".into()));
    floor.say(r#"{"type":"permission_response","request_id":"r1","decision":"allow"}"#);
    let result = floor.hear();
    assert_eq!((&result["output"], &result["is_error"]), (&"hello\n".into(), &false.into()));
    assert_eq!(floor.hear()["delta"], "w1 ");
    assert_eq!(floor.hear()["delta"], "w2");
    let end = floor.hear();
    assert_eq!((&end["stop_reason"], &end["iterations"]), (&"end_turn".into(), &1.into()));
}

#[test]
fn a_denied_tool_does_not_run_and_a_bad_line_does_not_hurt() {
    let (_mock, base) = start_mock();
    let dir = scratch("deny");
    let mut floor = Floor::start(&base, &dir, &[]);
    floor.say("nonsense");
    assert_eq!(floor.until("error")["code"], "invalid_message");
    floor.say(r#"{"type":"prompt","text":"call bash {\"command\":\"touch ran\"}"}"#);
    floor.until("permission_request");
    floor.say(r#"{"type":"permission_response","request_id":"r1","decision":"deny"}"#);
    assert_eq!(floor.until("tool_result")["is_error"], true);
    assert_eq!(floor.until("turn_complete")["stop_reason"], "end_turn");
    assert!(!dir.join("ran").exists());
    floor.say(r#"{"type":"prompt","text":"dance"}"#);
    assert!(floor.until("error")["message"].as_str().unwrap().contains("not a script"));
    assert_eq!(floor.until("turn_complete")["stop_reason"], "error");
}

#[test]
fn a_resumed_session_goes_on_in_its_file() {
    let (_mock, base) = start_mock();
    let dir = scratch("resume");
    let mut first = Floor::start(&base, &dir, &[]);
    let id = first.hear()["session_id"].clone();
    first.say(r#"{"type":"prompt","text":"say 1 word"}"#);
    first.until("turn_complete");
    drop(first);
    let mut second = Floor::start(&base, &dir, &["--resume", "latest"]);
    assert_eq!(second.hear()["session_id"], id);
    second.say(r#"{"type":"prompt","text":"say 2 words"}"#);
    second.until("turn_complete");
    let file = dir.join("relay").join(format!("{}.jsonl", id.as_str().unwrap()));
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 4);
}
