//! A turn whose end cannot be written: each execution that was told has its one end all the same.

use serde_json::Value;
use vocab::{
    AssistantMessage, Block, Body, Call, CallEnd, CallEntry, CallInput, CallResult, Event, Fault, FaultKind, Finish,
    Json, MessageEnd, Part, Stop, TurnEnd, TurnEntry, Usage, UserFrom,
};

use crate::talk::Talk;

fn call(id: &str) -> Call {
    Call { id: id.into(), name: "bash".into(), input: CallInput::Object(Json::empty_object()), seal: None }
}

fn in_a_call() -> Talk {
    let mut talk = Talk::open();
    talk.log(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    talk.log(Body::User { turn: Some("t1".into()), parts: vec![Part::text("hi")], from: UserFrom::Prompt });
    let (blocks, end) = (vec![Block::Call(call("c1"))], MessageEnd::Finished(Finish::ToolUse));
    let message = AssistantMessage { blocks, model: "mock/alpha".into(), end, usage: Usage::default() };
    talk.log(Body::Assistant { turn: Some("t1".into()), message });
    let told = talk.log(Body::Call(CallEntry::Started { turn: "t1".into(), call: call("c1"), tool: "bash".into() }));
    assert_eq!(kinds(&told), ["tool_execution_start"]);
    talk
}

fn full() -> Fault {
    Fault::new(FaultKind::Store, "the disk is full")
}

fn lost() -> Event {
    let (usage, mutations, fault) = (Usage::default(), vec![], Some(full()));
    Event::TurnLost(TurnEnd { turn: "t1".into(), stop: Stop::Error, iterations: 0, usage, mutations, fault })
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().filter_map(|frame| frame["type"].as_str()).collect()
}

#[test]
fn a_lost_turn_ends_its_executions_once() {
    let mut talk = in_a_call();
    let (_, frames) = talk.tell(lost());
    let all = kinds(&frames);
    assert_eq!(all[..4], ["tool_execution_end", "message_start", "message_end", "turn_end"], "{frames:?}");
    assert_eq!(all.last(), Some(&"agent_end"), "{frames:?}");
    assert_eq!((&frames[0]["toolCallId"], &frames[0]["isError"]), (&"c1".into(), &true.into()));
    assert_eq!(frames[0]["result"]["content"][0]["text"], wire::UNTOLD);
    // What the log says later was told.
    let result = CallResult {
        call: "c1".into(),
        tool: "bash".into(),
        end: CallEnd::Lost,
        parts: vec![Part::text("no result")],
        is_error: true,
        duration_ms: 0,
        mutation: None,
        edits: vec![],
        details: None,
    };
    assert_eq!(talk.log(Body::Call(CallEntry::Ended { turn: "t1".into(), result })), Vec::<Value>::new());
}

#[test]
fn a_session_that_is_gone_ends_the_executions_of_its_turn() {
    let (_, frames) = in_a_call().tell(Event::Gone { fault: full() });
    assert_eq!(kinds(&frames)[0], "tool_execution_end", "{frames:?}");
    assert_eq!(frames[0]["result"]["content"][0]["text"], wire::UNTOLD);
}
