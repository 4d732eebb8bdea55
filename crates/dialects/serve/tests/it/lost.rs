//! A turn whose end cannot be written: each call that was told has its one result all the same.

use expect_test::expect;
use vocab::{Event, Fault, FaultKind, Stop, TurnEnd, Usage};

use crate::talk::{Talk, call_ended, call_started, started};

fn full() -> Fault {
    Fault::new(FaultKind::Store, "the disk is full")
}

fn lost(turn: &str) -> TurnEnd {
    let (usage, mutations, fault) = (Usage::default(), vec![], Some(full()));
    TurnEnd { turn: turn.into(), stop: Stop::Error, iterations: 0, usage, mutations, fault }
}

fn with_two_calls() -> Talk {
    let mut talk = Talk::open();
    talk.log_entry(started("t1"));
    talk.log_entry(call_started("t1", "c1", "glob", "{}")).log_entry(call_started("t1", "c2", "bash", "{}"));
    talk.log_entry(call_ended("t1", "c1", "a.rs"));
    talk.log.clear();
    talk
}

#[test]
fn a_lost_turn_closes_its_calls_once() {
    let mut talk = with_two_calls();
    talk.tell(Event::TurnLost(lost("t1")));
    talk.note("what the log says later was told");
    talk.log_entry(call_ended("t1", "c2", "no result"));
    talk.check(expect![[r#"
        < {"type":"tool_result","turn_id":"t1","tool_id":"c2","output":"no result: what came of this call could not be written; it may have run: check what it did before trying again","is_error":true,"duration_s":0.0}
        < {"type":"error","code":"store_error","message":"the disk is full","origin":"local","turn_id":"t1"}
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"error","iterations":0,"input_tokens":0,"output_tokens":0,"mutations":[]}
        # what the log says later was told
    "#]]);
}

#[test]
fn a_session_that_is_gone_closes_the_calls_of_its_turn() {
    let mut talk = with_two_calls();
    talk.tell(Event::Gone { fault: full() });
    talk.check(expect![[r#"
        < {"type":"tool_result","turn_id":"t1","tool_id":"c2","output":"no result: what came of this call could not be written; it may have run: check what it did before trying again","is_error":true,"duration_s":0.0}
        < {"type":"error","code":"store_error","message":"the disk is full","origin":"local","turn_id":"t1"}
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"error","iterations":0,"input_tokens":0,"output_tokens":0,"mutations":[]}
        -- close Internal
    "#]]);
}
