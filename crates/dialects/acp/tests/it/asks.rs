//! Questions to the client: answered, withdrawn, overtaken.

use expect_test::expect;
use serde_json::{Value, json};
use vocab::{
    Answer, Ask, AskEnd, AskEntry, AskKind, Body, Fault, FaultKind, Json, Mode, PermissionAsk, Required, Scope,
};
use vocab::{Event, Reply, Stop, TurnEntry};

use crate::talk::AcpTalk;

fn permission(id: &str) -> Body {
    let ask = PermissionAsk {
        call: "k1".into(),
        tool: "write_file".into(),
        input: Json::empty_object(),
        active: Mode::Prompt,
        required: Required::WorkspaceWrite,
        reason: None,
        summary: "write a.txt".into(),
        preview: None,
        may_have_run: false,
    };
    Body::Ask(AskEntry::Opened(Ask {
        id: id.into(),
        turn: Some("t1".into()),
        kind: AskKind::Permission(ask),
        timeout_ms: None,
    }))
}
fn asked(id: &str, kind: AskKind) -> Body {
    Body::Ask(AskEntry::Opened(Ask { id: id.into(), turn: None, kind, timeout_ms: None }))
}
fn closed(id: &str, end: AskEnd) -> Body {
    Body::Ask(AskEntry::Closed { ask: id.into(), end })
}
fn client(what: Value) -> AcpTalk {
    let mut talk = AcpTalk::with(what);
    talk.begin("t1");
    talk
}

#[test]
fn a_question_that_is_withdrawn_is_taken_back_and_its_late_answer_is_nothing() {
    let mut talk = client(json!({}));
    talk.logged(permission("a1")).logged(closed("a1", AskEnd::Withdrawn));
    talk.answer(0, json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }));
    talk.check(expect![[r#"
        < 0 session/request_permission t1-k1 pending edit "Write a file" input {} "```\nin short: write a.txt\n```": allow_once, allow_session, deny
        < $/cancel_request {"requestId":0}
        > answer 0 {"outcome":{"optionId":"allow_once","outcome":"selected"}}
    "#]]);
}

#[test]
fn who_leaves_a_session_in_which_others_go_on_has_its_question_taken_back() {
    for method in ["session/close", "session/delete"] {
        let mut talk = AcpTalk::remote();
        talk.hear(&wire::FlowWord::Credit { session: String::new(), bytes: 10_000 }.frame());
        talk.ask("session/new", json!({ "cwd": "/w" })).reply(Ok(crate::talk::opened("c1")));
        talk.logged(Body::Turn(TurnEntry::Started { turn: "t1".into() })).logged(permission("a1")).log.clear();
        talk.ask(method, json!({ "sessionId": "c1" }));
        let (taken_back, left) = (r#"< $/cancel_request {"requestId":0}"#, "! Leave");
        let places = [taken_back, left].map(|line| talk.log.find(line));
        assert!(places[0].is_some() && places[0] < places[1], "{}", talk.log);
    }
}

#[test]
fn a_question_that_somebody_else_has_answered_is_taken_back() {
    let mut talk = client(json!({}));
    talk.logged(permission("a1")).logged(permission("a2")).log.clear();
    let end = AskEnd::Answered { answer: Answer::Allow(Scope::Once), by: None };
    talk.logged(closed("a2", end)).answer(1, json!({ "outcome": { "outcome": "selected", "optionId": "deny" } }));
    talk.answer(0, json!({ "outcome": { "outcome": "selected", "optionId": "deny" } }));
    talk.check(expect![[r#"
        < $/cancel_request {"requestId":1}
        > answer 1 {"outcome":{"optionId":"deny","outcome":"selected"}}
        > answer 0 {"outcome":{"optionId":"deny","outcome":"selected"}}
        ! Answer { ask: "a1", answer: Deny(None) }
    "#]]);
}

#[test]
fn a_question_that_is_told_again_is_asked_once() {
    let mut talk = client(json!({}));
    talk.logged(permission("a1")).log.clear();
    talk.logged(permission("a1")).logged(closed("a1", AskEnd::Withdrawn));
    talk.check(expect![[r#"
        < $/cancel_request {"requestId":0}
    "#]]);
}

#[test]
fn one_answer_counts() {
    let mut talk = client(json!({}));
    talk.logged(permission("a1")).log.clear();
    talk.answer(0, json!({ "outcome": { "outcome": "selected", "optionId": "deny" } }));
    talk.answer(0, json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }));
    talk.check(expect![[r#"
        > answer 0 {"outcome":{"optionId":"deny","outcome":"selected"}}
        ! Answer { ask: "a1", answer: Deny(None) }
        > answer 0 {"outcome":{"optionId":"allow_once","outcome":"selected"}}
    "#]]);
}

#[test]
fn a_session_that_is_lost_takes_its_questions_back() {
    let mut talk = client(json!({}));
    talk.logged(permission("a1")).log.clear();
    talk.tell("c1", Event::Gone { fault: Fault::new(FaultKind::Store, "the disk is full") });
    talk.check(expect![[r#"
        < $/cancel_request {"requestId":0}
        < 3 ! -32603 the disk is full
    "#]]);
}

#[test]
fn dialogs_are_forms_where_the_client_knows_forms() {
    let mut talk = client(json!({ "elicitation": { "form": {} } }));
    talk.logged(asked("a1", AskKind::Select { title: "Which?".into(), options: vec!["a".into(), "b".into()] }));
    talk.answer(0, json!({ "action": "accept", "content": { "value": "b" } }));
    talk.logged(asked("a2", AskKind::Confirm { title: "Sure?".into(), message: "It is gone then.".into() }));
    talk.answer(1, json!({ "action": "accept", "content": { "value": true } }));
    talk.logged(asked("a3", AskKind::Input { title: "Name".into(), placeholder: Some("yours".into()) }));
    talk.answer(2, json!({ "action": "decline" }));
    talk.logged(asked("a4", AskKind::Editor { title: "Text".into(), prefill: Some("old".into()) }));
    talk.fail(3, -32601);
    talk.check(expect![[r#"
        < 0 elicitation/create "Which?" {"enum":["a","b"],"type":"string"}
        > answer 0 {"action":"accept","content":{"value":"b"}}
        ! Answer { ask: "a1", answer: Text("b") }
        < 1 elicitation/create "Sure?\nIt is gone then." {"type":"boolean"}
        > answer 1 {"action":"accept","content":{"value":true}}
        ! Answer { ask: "a2", answer: Confirmed(true) }
        < 2 elicitation/create "Name" {"description":"yours","type":"string"}
        > answer 2 {"action":"decline"}
        ! Answer { ask: "a3", answer: Dismissed }
        < 3 elicitation/create "Text" {"default":"old","type":"string"}
        > answer 3 error -32601
        ! Answer { ask: "a4", answer: Dismissed }
    "#]]);
}

#[test]
fn a_dialog_is_dismissed_where_the_client_knows_no_forms() {
    let mut talk = client(json!({ "elicitation": {} }));
    talk.logged(asked("a1", AskKind::Confirm { title: "Sure?".into(), message: "Really".into() }));
    talk.check(expect![[r#"
        ! Answer { ask: "a1", answer: Dismissed }
    "#]]);
}

#[test]
fn the_prompt_is_answered_after_everything_of_its_turn() {
    let mut talk = client(json!({}));
    talk.logged(permission("a1")).notify("session/cancel", json!({ "sessionId": "c1" })).log.clear();
    talk.reply(Ok(Reply::Done)).logged(closed("a1", AskEnd::Withdrawn)).end("t1", Stop::Interrupted);
    talk.check(expect![[r#"
        < $/cancel_request {"requestId":0}
        < c1 context 0 of 1000
        < 3 = cancelled, 0 tokens
    "#]]);
}
