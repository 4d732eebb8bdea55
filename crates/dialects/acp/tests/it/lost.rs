//! A turn whose end cannot be written: each call that was told has its last update all the same.

use expect_test::expect;
use serde_json::json;
use vocab::{Body, Call, CallEntry, CallInput, Event, Fault, FaultKind, Json, Stop};

use crate::talk::{AcpTalk, ended};

fn in_a_call() -> AcpTalk {
    let mut talk = AcpTalk::with(json!({}));
    let input = CallInput::Object(Json::empty_object());
    let call = Call { id: "c1".into(), name: "quick".into(), input, seal: None };
    talk.begin("t1").logged(Body::Call(CallEntry::Started { turn: "t1".into(), call, tool: "quick".into() }));
    talk.log.clear();
    talk
}

#[test]
fn a_call_of_a_turn_that_is_lost_fails_before_the_end() {
    in_a_call().tell("c1", Event::TurnLost(ended("t1", Stop::Error))).check(expect![[r#"
        < c1 call update t1-c1 failed "```\nno result: what came of this call could not be written; it may have run: check what it did before trying again\n```"
        < 3 ! -32603 it broke
    "#]]);
}

#[test]
fn a_call_of_a_session_that_is_gone_fails_before_the_end() {
    let fault = Fault::new(FaultKind::SessionBusy, "somebody else has it");
    in_a_call().tell("c1", Event::Gone { fault }).check(expect![[r#"
        < c1 call update t1-c1 failed "```\nno result: what came of this call could not be written; it may have run: check what it did before trying again\n```"
        < 3 ! -32603 somebody else has it
    "#]]);
}
