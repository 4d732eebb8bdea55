//! A few lines as they are, byte for byte: members stand in the order of their names, but for deltas.

use expect_test::{Expect, expect};
use serde_json::json;
use vocab::{
    Ask, AskEntry, AskKind, Body, Call, CallEnd, CallEntry, CallInput, CallResult, Delta, Event, Json, Mode, Part,
    PermissionAsk, Required, Stop,
};

use crate::talk::AcpTalk;

fn in_turn() -> AcpTalk {
    let mut talk = AcpTalk::with(json!({}));
    talk.begin("t1").said.clear();
    talk
}

#[track_caller]
fn check(talk: &AcpTalk, expected: Expect) {
    expected.assert_eq(&talk.said.join("\n"));
}

#[test]
fn deltas_and_their_end() {
    let mut talk = in_turn();
    let delta = |text: &str| Event::Delta(Delta::Text { turn: "t1".into(), delta: text.into() });
    talk.tell("c1", delta("one \"two\"\n")).tell("c1", delta("\u{1b}é")).end("t1", Stop::EndTurn);
    check(
        &talk,
        expect![[r#"
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one \"two\"\n"},"messageId":"t1-0"}}}
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\u001bé"},"messageId":"t1-0"}}}
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c1","update":{"sessionUpdate":"usage_update","size":1000,"used":0}}}
            {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"cachedReadTokens":0,"cachedWriteTokens":0,"inputTokens":0,"outputTokens":0,"totalTokens":0}}}"#]],
    );
}

#[test]
fn a_call_from_its_start_to_its_end() {
    let mut talk = in_turn();
    let input = CallInput::Object(Json::trusted(r#"{"path":"a.txt","offset":3}"#));
    let call = Call { id: "k1".into(), name: "read_file".into(), input, seal: None };
    talk.logged(Body::Call(CallEntry::Started { turn: "t1".into(), call, tool: "read_file".into() }));
    let result = CallResult {
        call: "k1".into(),
        tool: "read_file".into(),
        end: CallEnd::Ran,
        parts: vec![Part::text("# x")],
        is_error: false,
        duration_ms: 0,
        mutation: None,
        edits: vec![],
        details: None,
    };
    talk.logged(Body::Call(CallEntry::Ended { turn: "t1".into(), result }));
    check(
        &talk,
        expect![[r##"
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c1","update":{"kind":"read","locations":[{"line":3,"path":"/w/a.txt"}],"rawInput":{"offset":3,"path":"a.txt"},"sessionUpdate":"tool_call","status":"pending","title":"Read a.txt","toolCallId":"t1-k1"}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c1","update":{"content":[{"content":{"text":"```\n# x\n```","type":"text"},"type":"content"}],"rawOutput":{"output":"# x"},"sessionUpdate":"tool_call_update","status":"completed","toolCallId":"t1-k1"}}}"##]],
    );
}

#[test]
fn a_question() {
    let mut talk = in_turn();
    let permission = PermissionAsk {
        call: "k1".into(),
        tool: "write_file".into(),
        input: Json::trusted(r#"{"path":"a.txt"}"#),
        active: Mode::Prompt,
        required: Required::WorkspaceWrite,
        reason: None,
        summary: "write a.txt".into(),
        preview: None,
        may_have_run: false,
    };
    let kind = AskKind::Permission(permission);
    let ask = Ask { id: "a1".into(), turn: Some("t1".into()), kind, timeout_ms: None };
    talk.logged(Body::Ask(AskEntry::Opened(ask)));
    check(
        &talk,
        expect![[
            r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"options":[{"kind":"allow_once","name":"Allow once","optionId":"allow_once"},{"kind":"allow_always","name":"Allow every write_file that needs workspace-write for this session","optionId":"allow_session"},{"kind":"reject_once","name":"Deny","optionId":"deny"}],"sessionId":"c1","toolCall":{"content":[{"content":{"text":"```\npath: a.txt\nin short: write a.txt\n```","type":"text"},"type":"content"}],"kind":"edit","locations":[{"path":"/w/a.txt"}],"rawInput":{"path":"a.txt"},"status":"pending","title":"Write a.txt","toolCallId":"t1-k1"}}}"#
        ]],
    );
}

#[test]
fn an_error() {
    let mut talk = in_turn();
    talk.ask("session/close", json!({ "sessionId": "nowhere" }));
    check(
        &talk,
        expect![[
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32002,"message":"session not found: nowhere","data":{"details":"session not found: nowhere","sessionId":"nowhere"}}}"#
        ]],
    );
}
