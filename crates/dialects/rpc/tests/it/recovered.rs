//! What a session closes of a turn that died with another process, just before the new one starts.

use serde_json::json;
use vocab::{Body, Event, Fault, FaultKind, Part, Reply, Stop, TurnEnd, TurnEntry, Usage, UserFrom};

use crate::talk::Talk;

fn ended(turn: &str, stop: Stop, fault: Option<Fault>) -> Body {
    let (usage, mutations) = (Usage::default(), Vec::new());
    Body::Turn(TurnEntry::Ended(TurnEnd { turn: turn.into(), stop, iterations: 0, usage, mutations, fault }))
}

#[test]
fn the_end_of_a_dead_turn_answers_no_abort_and_ends_no_run() {
    let mut talk = Talk::open();
    let (prompt, _) = talk.hear(r#"{"id":"1","type":"prompt","message":"hi"}"#);
    let (abort, _) = talk.hear(r#"{"id":"2","type":"abort"}"#);
    let fault = Fault::new(FaultKind::Internal, "the process ended during this turn, or could not write its end");
    let dead = || ended("dead", Stop::Error, Some(fault.clone()));
    assert_eq!(talk.log(dead()), Vec::<serde_json::Value>::new());
    talk.log(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    talk.reply(prompt[0].tag, Ok(Reply::Started { turn: "t1".into() }));
    talk.log(Body::User { turn: Some("t1".into()), parts: vec![Part::text("hi")], from: UserFrom::Prompt });
    talk.reply(abort[0].tag, Ok(Reply::Interrupted { was_running: true }));
    // Wherever it stands.
    assert_eq!(talk.log(dead()), Vec::<serde_json::Value>::new());
    let frames = talk.log(ended("t1", Stop::Interrupted, None));
    let kinds: Vec<&str> = frames.iter().filter_map(|frame| frame["type"].as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "agent_end").count(), 1, "{kinds:?}");
    assert!(frames.contains(&json!({"id":"2","type":"response","command":"abort","success":true})), "{frames:?}");
    let (_, settled) = talk.tell(Event::Settled);
    let result = json!({"type":"prompt_result","id":"1","agentInvoked":true,"status":"aborted","sessionSettled":true});
    let last = json!({"type":"agent_settled","aborted":true});
    assert_eq!(settled, [result, json!({"type":"session_settled"}), last]);
}
