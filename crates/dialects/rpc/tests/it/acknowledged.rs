//! What a host is told of a message that it sent: taken, queued or handled; and, at the end, what became of it.

use serde_json::{Value, json};
use vocab::{
    Body, Event, Fault, FaultKind, Item, ItemEnd, Part, QueueEvent, Reply, Stop, TurnEnd, TurnEntry, Usage, UserFrom,
};

use crate::talk::{Talk, seed};

fn prompt(talk: &mut Talk, line: &str, reply: Reply) -> Vec<Value> {
    let (commands, _) = talk.hear(line);
    talk.reply(commands[0].tag, Ok(reply)).1
}

fn started() -> Reply {
    Reply::Started { turn: "t1".into() }
}

fn waiting() -> Reply {
    Reply::Waiting { item: "i1".into(), position: 1 }
}

/// The message that waits is taken up, or will never be.
fn item_ended(talk: &mut Talk, end: ItemEnd) -> Vec<Value> {
    talk.tell(Event::Queue(QueueEvent::Ended {
        tag: vocab::Tag(0),
        item: "i1".into(),
        end,
        why: vocab::SettleReason::Ran,
        turn: None,
        lane: None,
    }))
    .1
}

fn ended(stop: Stop, fault: Option<Fault>) -> Body {
    let (usage, mutations) = (Usage::default(), Vec::new());
    Body::Turn(TurnEntry::Ended(TurnEnd { turn: "t1".into(), stop, iterations: 0, usage, mutations, fault }))
}

/// A turn from its first entry to the moment when nothing follows.
fn turn(talk: &mut Talk, stop: Stop, fault: Option<Fault>) -> Vec<Value> {
    talk.log(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    talk.log(Body::User { turn: Some("t1".into()), parts: vec![Part::text("hi")], from: UserFrom::Prompt });
    talk.log(ended(stop, fault));
    talk.tell(Event::Settled).1
}

#[test]
fn a_message_is_acknowledged_with_what_happens_to_it() {
    for (line, reply, disposition) in [
        (r#"{"id":"d","type":"prompt","message":"say hi"}"#, started(), "started"),
        (r#"{"id":"d","type":"prompt","message":"x","streamingBehavior":"steer"}"#, waiting(), "queued"),
        (r#"{"id":"d","type":"steer","message":"x"}"#, waiting(), "queued"),
        (r#"{"id":"d","type":"follow_up","message":"x"}"#, waiting(), "queued"),
        (r#"{"id":"d","type":"prompt","message":"/known x"}"#, Reply::Done, "handled"),
    ] {
        for options in [crate::talk::options(), seed()] {
            let frames = prompt(&mut Talk::with(options), line, reply.clone());
            assert_eq!((&frames[0]["id"], &frames[0]["success"]), (&json!("d"), &json!(true)), "{frames:?}");
            assert_eq!(frames[0]["data"], json!({ "disposition": disposition }), "{line}");
        }
    }
}

#[test]
fn a_busy_session_queues_what_the_host_wants_queued() {
    let mut talk = Talk::open();
    let (commands, _) = talk.hear(r#"{"id":"p","type":"prompt","message":"x","streamingBehavior":"followUp"}"#);
    let (commands, frames) = talk.reply(commands[0].tag, Err(Fault::new(FaultKind::TurnInProgress, "busy")));
    assert!(frames.is_empty(), "{frames:?}");
    let (_, frames) = talk.reply(commands[0].tag, Ok(waiting()));
    assert_eq!(frames[0]["data"]["disposition"], "queued");
}

#[test]
fn a_message_is_sent_a_second_time_and_no_third() {
    let mut talk = Talk::open();
    let (commands, _) = talk.hear(r#"{"id":"p","type":"prompt","message":"x","streamingBehavior":"steer"}"#);
    let busy = || Err(Fault::new(FaultKind::TurnInProgress, "busy"));
    let (commands, _) = talk.reply(commands[0].tag, busy());
    let (commands, frames) = talk.reply(commands[0].tag, busy());
    assert!(commands.is_empty(), "{commands:?}");
    assert_eq!((&frames[0]["id"], &frames[0]["success"]), (&json!("p"), &json!(false)), "{frames:?}");
}

#[test]
fn who_works_for_another_session_is_no_matter_of_streaming_behavior() {
    for behavior in [r#","streamingBehavior":"steer""#, r#","streamingBehavior":"followUp""#, ""] {
        let mut talk = Talk::open();
        let (commands, _) = talk.hear(format!(r#"{{"id":"p","type":"prompt","message":"x"{behavior}}}"#));
        let fault = Fault::new(FaultKind::WorksForCall, "works for `s1`").hint("send it to `s1`");
        let (commands, frames) = talk.reply(commands[0].tag, Err(fault));
        assert!(commands.is_empty(), "{commands:?}");
        let told = (&frames[0]["id"], &frames[0]["success"], &frames[0]["error"]);
        assert_eq!(told, (&json!("p"), &json!(false), &json!("works for `s1` (send it to `s1`)")), "{frames:?}");
    }
}

#[test]
fn every_prompt_that_was_taken_has_one_result_when_everything_is_over() {
    let mut talk = Talk::open();
    prompt(&mut talk, r#"{"id":"a","type":"prompt","message":"x"}"#, started());
    prompt(&mut talk, r#"{"id":2,"type":"prompt","message":"y","streamingBehavior":"steer"}"#, waiting());
    item_ended(&mut talk, ItemEnd::Consumed);
    prompt(&mut talk, r#"{"id":"s","type":"steer","message":"z"}"#, waiting());
    let result = |id: Value| json!({"type":"prompt_result","id":id,"agentInvoked":true,"status":"completed","sessionSettled":true});
    let settled = json!({"type":"agent_settled","aborted":false});
    let last = turn(&mut talk, Stop::EndTurn, None);
    assert_eq!(last, [result(json!("a")), result(json!(2)), json!({"type":"session_settled"}), settled]);
    assert!(talk.tell(Event::Settled).1.is_empty(), "nothing is said twice");
}

#[test]
fn a_prompt_that_waits_has_its_result_when_it_has_run() {
    let mut talk = Talk::open();
    prompt(&mut talk, r#"{"id":"a","type":"prompt","message":"x"}"#, started());
    prompt(&mut talk, r#"{"id":"q","type":"prompt","message":"y","streamingBehavior":"followUp"}"#, waiting());
    let results = |frames: &[Value]| -> Vec<(Value, Value)> {
        let results = frames.iter().filter(|frame| frame["type"] == "prompt_result");
        results.map(|frame| (frame["id"].clone(), frame["status"].clone())).collect()
    };
    let aborted = turn(&mut talk, Stop::Interrupted, None);
    assert_eq!(results(&aborted), [(json!("a"), json!("aborted"))], "the other one still waits");
    prompt(&mut talk, r#"{"id":"b","type":"prompt","message":"z"}"#, started());
    assert!(results(&item_ended(&mut talk, ItemEnd::Consumed)).is_empty());
    let done = turn(&mut talk, Stop::EndTurn, None);
    assert_eq!(results(&done), [(json!("q"), json!("completed")), (json!("b"), json!("completed"))]);
}

#[test]
fn a_prompt_that_is_taken_out_of_the_queue_has_its_result_then() {
    let mut talk = Talk::open();
    prompt(&mut talk, r#"{"id":"q","type":"prompt","message":"y","streamingBehavior":"followUp"}"#, waiting());
    let frames = item_ended(&mut talk, ItemEnd::Cancelled);
    let result = json!({"type":"prompt_result","id":"q","agentInvoked":false,"status":"aborted","sessionSettled":true});
    assert_eq!(frames, [result]);
    assert!(turn(&mut talk, Stop::EndTurn, None).iter().all(|frame| frame["type"] != "prompt_result"), "only once");
}

#[test]
fn prompts_of_a_session_whose_process_ends_are_told_what_becomes_of_them() {
    for (fault, again) in [(Fault::suspended(), false), (Fault::suspended_without_waiting(), true)] {
        let mut talk = Talk::open();
        prompt(&mut talk, r#"{"id":"r","type":"prompt","message":"x"}"#, started());
        talk.log(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
        talk.log(Body::User { turn: Some("t1".into()), parts: vec![Part::text("hi")], from: UserFrom::Prompt });
        prompt(&mut talk, r#"{"id":"q","type":"prompt","message":"y","streamingBehavior":"followUp"}"#, waiting());
        let settled = talk.tell(Event::Settled).1;
        assert!(settled.iter().all(|frame| frame["type"] != "prompt_result"), "its turn goes on: {settled:?}");
        let (_, frames) = talk.tell(Event::Gone { fault: fault.clone() });
        let result = |id: &str, invoked: bool, retryable: bool| {
            let error = json!({"message": fault.explained(), "retryable": retryable});
            json!({"type":"prompt_result","id":id,"agentInvoked":invoked,"status":"error","sessionSettled":true,"error":error})
        };
        assert_eq!(frames[..2], [result("r", true, false), result("q", false, again)]);
    }
}

#[test]
fn a_failed_turn_says_so_in_the_result() {
    for (kind, retryable) in [(FaultKind::RateLimited, true), (FaultKind::Auth, false)] {
        let mut talk = Talk::open();
        prompt(&mut talk, r#"{"id":"a","type":"prompt","message":"x"}"#, started());
        let last = turn(&mut talk, Stop::Error, Some(Fault::new(kind, "it says no")));
        assert_eq!(
            (&last[0]["status"], &last[0]["error"]),
            (&json!("error"), &json!({"message":"it says no","retryable":retryable}))
        );
    }
}

#[test]
fn a_session_with_waiting_messages_is_not_settled() {
    let mut talk = Talk::open();
    prompt(&mut talk, r#"{"id":"a","type":"prompt","message":"x"}"#, started());
    let item = Item {
        id: "i1".into(),
        parts: vec![Part::text("later")],
        delivery: vocab::Delivery::Steer,
        sender: None,
        by: None,
        at_ms: 1,
        until_ms: None,
    };
    talk.tell(Event::Queue(QueueEvent::Waiting(vec![item])));
    let last = turn(&mut talk, Stop::Interrupted, None);
    let kinds: Vec<&str> = last.iter().filter_map(|frame| frame["type"].as_str()).collect();
    assert_eq!((kinds, &last[0]["sessionSettled"]), (vec!["prompt_result", "agent_settled"], &json!(false)));
}

#[test]
fn a_handled_command_has_its_result_at_once() {
    let frames = prompt(&mut Talk::open(), r#"{"id":"d","type":"prompt","message":"/known x"}"#, Reply::Done);
    let result =
        json!({"type":"prompt_result","id":"d","agentInvoked":false,"status":"completed","sessionSettled":true});
    assert_eq!(frames[1..], [result]);
}
