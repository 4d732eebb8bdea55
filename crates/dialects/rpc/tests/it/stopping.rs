//! Commands that first stop what runs. A run tells its end later; a compaction is over when the engine says it was stopped.

use serde_json::{Value, json};
use vocab::{
    Body, Command, CompactReason, CompactionEvent, Event, Fault, FaultKind, Reply, SessionVerb, Stop, Tag, TurnEnd,
    TurnEntry, Usage, Verb,
};

use crate::talk::Talk;

const COMPACT: &str = r#"{"id":2,"type":"compact"}"#;

/// A host whose compaction writes its summary.
fn compacting() -> (Talk, Tag) {
    let mut talk = Talk::open();
    let (stop, _) = talk.hear(COMPACT);
    let (compact, _) = talk.reply(stop[0].tag, Ok(Reply::Interrupted { was_running: false }));
    assert!(matches!(compact[0].verb, Verb::Session(SessionVerb::Compact { .. })));
    talk.tell(Event::Compaction(CompactionEvent::Started { reason: CompactReason::Manual }));
    (talk, compact[0].tag)
}

/// What the engine says when somebody stops a compaction: all of it, before the answer to whoever did.
fn stop(talk: &mut Talk, compaction: Tag, interrupt: Tag) -> (Vec<Command>, Vec<Value>) {
    let fault = Fault::new(FaultKind::Cancelled, "Compaction cancelled");
    let (_, mut frames) =
        talk.tell(Event::Compaction(CompactionEvent::Failed { reason: CompactReason::Manual, fault: fault.clone() }));
    frames.extend(talk.reply(compaction, Err(fault)).1);
    let (commands, last) = talk.reply(interrupt, Ok(Reply::Interrupted { was_running: true }));
    frames.extend(last);
    (commands, frames)
}

fn answer<'a>(frames: &'a [Value], id: &Value) -> Option<&'a Value> {
    frames.iter().find(|frame| frame["type"] == "response" && frame["id"] == *id)
}

#[test]
fn an_abort_of_a_compaction_is_answered_when_it_has_stopped() {
    let (mut talk, compaction) = compacting();
    let (commands, _) = talk.hear(r#"{"id":3,"type":"abort"}"#);
    let (_, frames) = stop(&mut talk, compaction, commands[0].tag);
    assert_eq!(answer(&frames, &json!(2)).unwrap()["success"], false);
    assert_eq!(answer(&frames, &json!(3)).unwrap()["success"], true, "{frames:?}");
}

#[test]
fn what_stops_a_compaction_first_goes_on_when_it_has_stopped() {
    for (line, next) in [
        (r#"{"id":3,"type":"new_session"}"#, "Open"),
        (r#"{"id":3,"type":"switch_session","sessionPath":"/tmp/x.jsonl"}"#, "Open"),
        (r#"{"id":3,"type":"clone"}"#, "Fork"),
        (r#"{"id":3,"type":"handoff"}"#, "Fork"),
        (r#"{"id":3,"type":"fork","entryId":"0a0a0a0a"}"#, "Read"),
        (r#"{"id":3,"type":"branch","entryId":"0a0a0a0a"}"#, "Read"),
        (r#"{"id":3,"type":"abort_and_prompt","message":"instead"}"#, "Prompt"),
        (COMPACT, "Compact"),
    ] {
        let (mut talk, compaction) = compacting();
        let (commands, _) = talk.hear(line);
        let (commands, frames) = stop(&mut talk, compaction, commands[0].tag);
        let verbs: Vec<String> = commands.iter().map(|command| testkit::verb_text(&command.verb)).collect();
        assert!(verbs.iter().any(|verb| verb.starts_with(next)), "{line}: {verbs:?} {frames:?}");
    }
}

#[test]
fn an_abort_of_a_handoff_answers_both_and_the_host_goes_on() {
    let mut talk = Talk::open();
    let (commands, _) = talk.hear(r#"{"id":2,"type":"handoff"}"#);
    let (commands, _) = talk.reply(commands[0].tag, Ok(Reply::Interrupted { was_running: false }));
    let copy = Reply::Forked { session: "s1".into(), text: String::new() };
    let (commands, _) = talk.reply(commands[0].tag, Ok(copy));
    let (commands, _) = talk.reply(commands[0].tag, Ok(crate::talk::opened(crate::talk::state("s1"))));
    assert!(matches!(commands[0].verb, Verb::Session(SessionVerb::Compact { .. })), "{commands:?}");
    let (abort, _) = talk.hear(r#"{"id":3,"type":"abort"}"#);
    let (_, frames) = stop(&mut talk, commands[0].tag, abort[0].tag);
    assert!(answer(&frames, &json!(2)).is_some() && answer(&frames, &json!(3)).is_some(), "{frames:?}");
    assert_eq!(talk.hear(r#"{"id":4,"type":"get_state"}"#).0.len(), 1, "it is asked at once");
}

#[test]
fn a_run_that_is_stopped_is_waited_for() {
    let mut talk = Talk::open();
    talk.log(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    let (commands, _) = talk.hear(r#"{"id":3,"type":"abort"}"#);
    let (_, frames) = talk.reply(commands[0].tag, Ok(Reply::Interrupted { was_running: true }));
    assert!(frames.is_empty(), "{frames:?}");
    let (stop, usage, mutations) = (Stop::Interrupted, Usage::default(), Vec::new());
    let end = TurnEnd { turn: "t1".into(), stop, iterations: 0, usage, mutations, fault: None };
    assert!(answer(&talk.log(Body::Turn(TurnEntry::Ended(end))), &json!(3)).is_some());
}

#[test]
fn every_one_of_two_compactions_in_one_write_is_answered() {
    let mut talk = Talk::open();
    let (first, _) = talk.hear(COMPACT);
    let (second, _) = talk.hear(r#"{"id":3,"type":"compact"}"#);
    let (commands, _) = talk.reply(first[0].tag, Ok(Reply::Interrupted { was_running: false }));
    talk.reply(second[0].tag, Ok(Reply::Interrupted { was_running: false }));
    assert_eq!(commands.len(), 2, "{commands:?}");
    let busy = Fault::new(FaultKind::TurnInProgress, "a compaction is already running");
    let (_, frames) = talk.reply(commands[1].tag, Err(busy));
    let told = answer(&frames, &json!(3)).unwrap();
    assert_eq!((&told["success"], &told["error"]), (&json!(false), &json!("a compaction is already running")));
}

#[test]
fn a_session_that_works_for_another_is_stopped_for_nothing_else() {
    for (line, next) in [
        (r#"{"id":2,"type":"new_session"}"#, Some("Open")),
        (r#"{"id":2,"type":"switch_session","sessionPath":"/tmp/x.jsonl"}"#, Some("Open")),
        (r#"{"id":2,"type":"clone"}"#, Some("Fork")),
        (r#"{"id":2,"type":"handoff"}"#, Some("Fork")),
        (r#"{"id":2,"type":"fork","entryId":"0a0a0a0a"}"#, Some("Read")),
        (r#"{"id":2,"type":"branch","entryId":"0a0a0a0a"}"#, Some("Read")),
        (r#"{"id":2,"type":"abort_and_prompt","message":"instead"}"#, None),
        (COMPACT, None),
    ] {
        let mut talk = Talk::open();
        talk.log(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
        let state = vocab::State { works_for: Some("p".into()), ..crate::talk::state("s") };
        talk.tell(Event::State(state.into()));
        let (commands, frames) = talk.hear(line);
        let verbs: Vec<String> = commands.iter().map(|command| testkit::verb_text(&command.verb)).collect();
        match next {
            // The host goes; the session that it was on works on.
            Some(next) => assert!(verbs[0].starts_with(next), "{line}: {verbs:?} {frames:?}"),
            None => {
                assert!(verbs.is_empty(), "{line}: {verbs:?}");
                let told = answer(&frames, &json!(2)).unwrap();
                assert_eq!(told["success"], false);
                assert!(told["error"].as_str().unwrap().contains("works for a call of the session `p`"), "{told}");
            }
        }
        let (commands, _) = talk.hear(r#"{"id":4,"type":"abort"}"#);
        assert!(matches!(commands[0].verb, Verb::Session(SessionVerb::Interrupt { .. })), "an abort is meant as one");
    }
}
