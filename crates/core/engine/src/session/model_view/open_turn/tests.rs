//! Logs that end in the middle of a turn, and where it stands by them.

use vocab::{
    Answer, AssistantMessage, Block, CallEnd, CallInput, CallResult, Json, Mode, PermissionAsk, Requested, Required,
    Scope, Stop, TurnEnd, UserFrom,
};

use super::*;
use crate::session::turn::synthetic;

fn entries(bodies: Vec<Body>) -> Vec<Arc<Entry>> {
    let numbered = (1..).zip(bodies);
    numbered.map(|(seq, body)| Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, by: None, body })).collect()
}

fn turn() -> TurnId {
    "t1".into()
}
fn started() -> Body {
    Body::Turn(TurnEntry::Started { turn: turn() })
}
fn user(from: UserFrom) -> Body {
    Body::User { turn: Some(turn()), parts: vec![Part::text("go")], from }
}
fn call(id: &str) -> Call {
    Call { id: id.into(), name: "look".into(), input: CallInput::Object(Json::empty_object()), seal: None }
}
fn reply(calls: &[&str], finish: Finish) -> Body {
    let message = AssistantMessage {
        blocks: calls.iter().map(|id| Block::Call(call(id))).collect(),
        model: "m".into(),
        end: MessageEnd::Finished(finish),
        usage: Usage { input: 10, ..Usage::default() },
    };
    Body::Assistant { turn: Some(turn()), message }
}
fn begun(id: &str) -> Body {
    Body::Call(CallEntry::Started { turn: turn(), call: call(id), tool: "look".into() })
}
fn result(id: &str) -> Body {
    let result = synthetic(id.into(), "look".into(), CallEnd::Ran, "done");
    Body::Call(CallEntry::Ended { turn: turn(), result: CallResult { mutation: Some("file".into()), ..result } })
}
fn asked(id: &str, about: &str) -> Body {
    let kind = AskKind::Permission(PermissionAsk {
        call: about.into(),
        tool: "look".into(),
        input: Json::empty_object(),
        active: Mode::Prompt,
        required: Required::ReadOnly,
        reason: None,
        summary: "look".into(),
        preview: None,
        may_have_run: false,
    });
    Body::Ask(AskEntry::Opened(Ask { id: id.into(), turn: Some(turn()), kind, timeout_ms: None }))
}
fn answered(id: &str) -> Body {
    let end = AskEnd::Answered { answer: Answer::Allow(Scope::Once), by: None };
    Body::Ask(AskEntry::Closed { ask: id.into(), end })
}
fn requested() -> Body {
    let (turn, model) = (Some(turn()), "m".into());
    Body::Model(ModelEntry::Requested(Requested { turn, model, summary: None, sent: None, bytes: 0 }))
}

/// Where it stands, its rounds, and what is still to be done.
fn stands(more: Vec<Body>) -> (Standing, u32, Vec<String>) {
    let log = entries([vec![started(), user(UserFrom::Prompt)], more].concat());
    let open = OpenTurn::read(&log).expect("the turn has no end");
    (open.stands, open.iterations, open.pending.iter().map(|call| call.id.to_string()).collect())
}

#[test]
fn a_turn_stands_where_its_log_ends() {
    use Standing::*;
    let none = Vec::<String>::new;
    let two = || reply(&["a", "b"], Finish::ToolUse);
    let steer = || user(UserFrom::Steer);
    assert_eq!(stands(vec![]), (Start, 0, none()));
    assert_eq!(stands(vec![user(UserFrom::Extension)]), (Asking, 0, none()), "extensions were heard");
    assert_eq!(stands(vec![requested()]), (Asking, 0, none()));
    assert_eq!(stands(vec![two()]), (Calls(false), 0, vec!["a".into(), "b".into()]));
    assert_eq!(stands(vec![two(), begun("a"), result("a")]), (Calls(true), 0, vec!["b".into()]));
    let done = || vec![two(), result("a"), result("b")];
    assert_eq!(stands(done()), (Calls(true), 0, none()), "the round is counted when the turn goes on");
    assert_eq!(stands([done(), vec![steer()]].concat()), (AfterCalls, 1, none()));
    let next = [done(), vec![reply(&[], Finish::Stop)]].concat();
    assert_eq!(stands(next.clone()), (Replied(Finish::Stop), 1, none()));
    assert_eq!(stands([next, vec![steer()]].concat()), (Asking, 1, none()), "it goes on behind a reply without calls");
    assert_eq!(stands(vec![reply(&["a"], Finish::Length)]), (Replied(Finish::Length), 0, vec!["a".into()]));
}

#[test]
fn a_turn_that_has_ended_or_has_no_message_does_not_go_on() {
    let end = TurnEnd {
        turn: turn(),
        stop: Stop::EndTurn,
        iterations: 0,
        usage: Usage::default(),
        mutations: Vec::new(),
        fault: None,
    };
    let ended = Body::Turn(TurnEntry::Ended(end));
    assert!(OpenTurn::read(&entries(vec![started(), user(UserFrom::Prompt), ended])).is_none());
    assert!(OpenTurn::read(&entries(vec![started()])).is_none());
    assert!(OpenTurn::read(&[]).is_none());
}

#[test]
fn what_it_has_done_and_cost_and_tried_is_counted() {
    let retrying = Body::Model(ModelEntry::Retrying {
        turn: turn(),
        attempt: 2,
        attempts_max: 3,
        wait_ms: 1,
        fault: vocab::Fault::new(vocab::FaultKind::Network, "x"),
    });
    let bodies = vec![
        started(),
        user(UserFrom::Prompt),
        reply(&["a"], Finish::ToolUse),
        begun("a"),
        result("a"),
        user(UserFrom::Steer),
        retrying,
    ];
    let open = OpenTurn::read(&entries(bodies)).unwrap();
    assert_eq!((open.usage.input, open.mutations.len(), open.retried), (10, 1, 2));
    assert!(open.call_ids.contains(&"a".into()), "no later call gets this id");
    assert_eq!(vocab::parts_text(&open.opening), "go");
}

#[test]
fn a_call_that_was_begun_knows_the_newest_question_about_it() {
    let begun_and_asked = vec![started(), user(UserFrom::Prompt), reply(&["a", "b"], Finish::ToolUse), begun("a")];
    let open = |more: Vec<Body>| OpenTurn::read(&entries([begun_and_asked.clone(), more].concat())).unwrap();
    assert!(open(vec![]).begun[&"a".into()].ask.is_none());
    assert!(open(vec![asked("q1", "a")]).is_asking(&"q1".into()));
    let again = open(vec![asked("q1", "a"), answered("q1"), asked("q2", "a")]);
    let newest = again.begun[&"a".into()].ask.as_ref().unwrap();
    assert_eq!((newest.ask.id.as_str(), newest.end.is_none()), ("q2", true));
    assert!(!again.is_asking(&"q1".into()) && !again.begun.contains_key(&"b".into()));
}
