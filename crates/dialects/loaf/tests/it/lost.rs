//! A turn whose end cannot be written: each call that was told to start is told to be complete all the same.

use vocab::{
    AssistantMessage, Block, Body, Call, CallEntry, CallInput, Event, Fault, FaultKind, Finish, Json, MessageEnd, Stop,
    Usage,
};

use crate::talk::{Talk, ended};

fn call() -> Call {
    Call { id: "c1".into(), name: "quick".into(), input: CallInput::Object(Json::empty_object()), seal: None }
}

fn in_a_call() -> Talk {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
    let (blocks, end) = (vec![Block::Call(call())], MessageEnd::Finished(Finish::ToolUse));
    let message = AssistantMessage { blocks, model: "alpha".into(), end, usage: Usage::default() };
    talk.logged("c1", Body::Assistant { turn: Some("e1".into()), message });
    talk.logged("c1", Body::Call(CallEntry::Started { turn: "e1".into(), call: call(), tool: "quick".into() }));
    talk
}

/// Where in the log each of these stands, which is once.
fn places(talk: &Talk) -> Vec<usize> {
    let kinds = [
        "session.tool.call.started",
        "session.tool.call.completed",
        wire::UNTOLD,
        "session.tool.results",
        "session.error",
    ];
    kinds.iter().map(|kind| talk.log.find(kind).unwrap_or_else(|| panic!("no {kind}: {}", talk.log))).collect()
}

#[test]
fn a_call_of_a_turn_that_is_lost_is_completed_before_the_end() {
    let gone = Event::Gone { fault: Fault::new(FaultKind::SessionBusy, "somebody else has it") };
    for end in [Event::TurnLost(ended("e1", Stop::Error)), gone] {
        let mut talk = in_a_call();
        talk.tell("c1", end);
        assert!(places(&talk).is_sorted(), "{}", talk.log);
        assert_eq!(talk.log.matches("session.tool.call.completed").count(), 1, "{}", talk.log);
        talk.watch.at_rest();
    }
}
