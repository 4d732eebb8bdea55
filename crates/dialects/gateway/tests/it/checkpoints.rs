//! A run whose context is nearly full waits for its checkpoint, and for nothing else.

use std::sync::Arc;

use dialect_gateway::results::Budget;
use dialect_gateway::{GatewayAnswer, GatewayRefusal};
use serde_json::{Value, json};
use vocab::{Event, Fault, FaultKind, Reply, State, Stop};

use crate::talk::{Talk, ended, opened, started};

/// A run of the request 1 that has ended with a full context; its checkpoint is asked for.
fn nearly_full() -> Talk {
    full_to(900)
}
/// The same with so many tokens, of 1000.
fn full_to(context_tokens: u64) -> Talk {
    let mut talk = Talk::on(None);
    talk.send(1, json!({}));
    talk.log([started("t")]);
    talk.reply(Ok(Reply::Started { turn: "t".into() }));
    talk.log([ended("t", Stop::EndTurn)]);
    talk.out.frames.clear();
    let Ok(Reply::Opened(opened)) = opened("s", None) else { unreachable!() };
    talk.tell(Event::State(Arc::new(State { context_tokens, ..opened.state })));
    assert_eq!(format!("{:?}", talk.out.own[0].call), r#"Checkpoint { session: "s", turn: "t" }"#);
    assert!(talk.frames().is_empty());
    talk
}

fn frames(talk: &mut Talk) -> Vec<Value> {
    let frames = talk.out.frames.frames().map(|it| serde_json::from_slice(it).unwrap()).collect();
    talk.out.frames.clear();
    frames
}

#[test]
fn a_session_that_goes_meanwhile_takes_no_complete_run_with_it() {
    for kind in [FaultKind::UnknownSession, FaultKind::Store] {
        let mut talk = nearly_full();
        talk.tell(Event::Gone { fault: Fault::new(kind, "gone") });
        let heard = frames(&mut talk);
        let last = heard.iter().rfind(|frame| frame["id"] == 1).unwrap();
        assert!(last.get("result").is_some(), "{kind:?}: {heard:?}");
        let warning = heard.iter().find(|frame| frame["event"] == "context_warning").unwrap();
        assert_eq!(warning["data"]["actions"]["checkpointSaved"], false, "nobody knows that it was");
        // What comes of it later is nobody's any more.
        talk.own(Ok(GatewayAnswer::Checkpointed { namespace: Some("n".into()) }));
        assert!(frames(&mut talk).iter().all(|frame| frame["id"] != 1));
    }
}

/// As `system.contextUsage` says it: a smaller model may have been chosen since.
#[test]
fn a_context_that_is_more_than_full_is_told_as_that() {
    let mut talk = full_to(1230);
    talk.own(Ok(GatewayAnswer::Checkpointed { namespace: None }));
    let budget = frames(&mut talk)[0]["data"]["budget"].take();
    let told = serde_json::to_value(Budget::of(1230, 1000, 85)).unwrap();
    assert_eq!(
        (&budget["usagePct"], &budget["remainingTokens"], &budget["estimatedTokens"]),
        (&json!(123.0), &json!(0), &json!(1230))
    );
    assert_eq!((&budget["usagePct"], &budget["remainingTokens"]), (&told["usagePct"], &told["remainingTokens"]));
}

#[test]
fn what_cannot_be_saved_holds_up_nobody_and_a_cancel_comes_too_late() {
    let mut talk = nearly_full();
    talk.ask(2, "agent.cancel", json!({"requestId": 1}));
    talk.reply(Ok(Reply::Interrupted { was_running: false }));
    assert_eq!(talk.frames(), [r#"2 = {"active":false,"cancelled":false,"queued":0}"#]);
    talk.own(Err(GatewayRefusal::internal("store", "the disk is full")));
    let heard = frames(&mut talk);
    let order: Vec<&str> = heard.iter().map(|frame| frame["event"].as_str().unwrap_or("result")).collect();
    assert_eq!(order, ["context_warning", "run_state", "done", "result"]);
    assert_eq!(heard[0]["data"]["actions"], json!({"checkpointSaved": false, "autoCompacted": false}));
}
