//! Calls that were told, and the results they get where no log has them.

use std::sync::Arc;

use vocab::{
    Body, Call, CallEnd, CallEntry, CallInput, CallResult, Entry, Event, Fault, FaultKind, Json, Present, Stop,
    TurnEnd, TurnEntry, Usage,
};
use wire::{OpenCalls, UNTOLD};

fn entry(body: Body) -> Entry {
    Entry { seq: 7, parent: 6, at_ms: 5, body, by: None }
}

fn started(turn: &str, call: &str) -> Entry {
    let input = CallInput::Object(Json::empty_object());
    let call = Call { id: call.into(), name: "run".into(), input, seal: None };
    entry(Body::Call(CallEntry::Started { turn: turn.into(), call, tool: "bash".into() }))
}

fn lost(turn: &str) -> Event {
    let (usage, mutations) = (Usage::default(), vec![]);
    Event::TurnLost(TurnEnd { turn: turn.into(), stop: Stop::Error, iterations: 0, usage, mutations, fault: None })
}

fn gone() -> Event {
    Event::Gone { fault: Fault::new(FaultKind::SessionBusy, "somebody else has it") }
}

fn entries(events: Vec<Event>) -> Vec<Arc<Entry>> {
    let entry = |event| match event {
        Event::Logged(entry) => entry,
        other => panic!("{other:?}"),
    };
    events.into_iter().map(entry).collect()
}

#[test]
fn each_open_call_gets_one_result_before_an_end_that_no_log_has() {
    for end in [lost("t1"), gone()] {
        let mut calls = OpenCalls::default();
        for call in ["c1", "c2", "c3"] {
            calls.logged(&started("t1", call));
        }
        let first = entries(calls.lost_by(&end)).remove(0);
        calls.logged(&first);
        assert_eq!(calls.lost_by(&Event::Settled), []);
        let results = entries(calls.lost_by(&end));
        let told: Vec<_> = results
            .iter()
            .map(|entry| match &entry.body {
                Body::Call(CallEntry::Ended { turn, result }) => {
                    assert!(result.is_error && entry.seq == 0 && entry.at_ms == 5, "{entry:?}");
                    (turn.as_str(), result.call.as_str(), &*result.tool, result.text())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(told, [("t1", "c2", "bash", UNTOLD.into()), ("t1", "c3", "bash", UNTOLD.into())]);
        results.iter().for_each(|entry| calls.logged(entry));
        assert_eq!(calls.lost_by(&end), [], "each has its result by now");
    }
}

#[test]
fn what_an_older_turn_left_open_is_not_the_new_ones() {
    let mut calls = OpenCalls::default();
    calls.logged(&started("t1", "c1"));
    calls.logged(&entry(Body::Turn(TurnEntry::Started { turn: "t2".into() })));
    calls.logged(&started("t2", "c1"));
    assert!(calls.is_open(&"t2".into(), &"c1".into()) && !calls.is_open(&"t1".into(), &"c1".into()));
    assert_eq!(calls.lost_by(&lost("t2")).len(), 1);
}

#[test]
fn calls_that_run_while_a_peer_comes_in_have_their_starts() {
    let result = |call: &str| CallResult {
        call: call.into(),
        tool: "bash".into(),
        end: CallEnd::Ran,
        parts: Vec::new(),
        is_error: false,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    };
    let ended = |call: &str| entry(Body::Call(CallEntry::Ended { turn: "t1".into(), result: result(call) }));
    let round = [started("t1", "c1"), ended("c1"), started("t1", "c2"), ended("c3")].map(Arc::new).to_vec();
    let present = Present { round: round.clone(), ..Present::default() };
    assert_eq!(OpenCalls::running(&present).collect::<Vec<_>>(), [&round[2]]);
}
