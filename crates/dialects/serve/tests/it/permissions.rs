//! Who may answer what, and how often.

use expect_test::expect;
use vocab::{Answer, Ask, AskEnd, AskEntry, AskKind, Body, CallEntry, Fault, FaultKind, Stop};
use wire::Parting;

use crate::talk::{Talk, call_ended, ended, permission, started};

fn asked() -> Talk {
    let mut talk = Talk::open();
    talk.log_entry(started("t1")).log_entry(permission("r1", "t1"));
    talk.log.clear();
    talk
}

fn answer(id: &str, rest: &str) -> String {
    format!(r#"{{"type":"permission_response","request_id":{},{rest}}}"#, serde_json::to_string(id).unwrap())
}

#[test]
fn an_allow_is_for_once_and_a_deny_has_a_reason() {
    for (rest, expected) in [
        (
            r#""decision":"allow""#,
            expect![[r#"
            ! 2 Current Answer { ask: "r1", answer: Allow(Once) }
        "#]],
        ),
        (
            r#""decision":"allow","reason":"sure""#,
            expect![[r#"
            ! 2 Current Answer { ask: "r1", answer: Allow(Once) }
        "#]],
        ),
        (
            r#""decision":"deny","reason":"not x""#,
            expect![[r#"
            ! 2 Current Answer { ask: "r1", answer: Deny(Some("not x")) }
        "#]],
        ),
        (
            r#""decision":"deny""#,
            expect![[r#"
            ! 2 Current Answer { ask: "r1", answer: Deny(Some("denied by remote controller")) }
        "#]],
        ),
        (
            r#""decision":"deny","reason":null"#,
            expect![[r#"
            ! 2 Current Answer { ask: "r1", answer: Deny(Some("denied by remote controller")) }
        "#]],
        ),
        (
            r#""decision":"deny","reason":" ""#,
            expect![[r#"
            ! 2 Current Answer { ask: "r1", answer: Deny(Some("denied by remote controller")) }
        "#]],
        ),
    ] {
        let mut talk = asked();
        talk.hear_bytes(answer("r1", rest).as_bytes());
        talk.check(expected);
    }
}

#[test]
fn a_deny_keeps_the_turn_going() {
    let mut talk = asked();
    talk.hear(&answer("r1", r#""decision":"deny","reason":"no""#));
    let Body::Call(CallEntry::Ended { turn, mut result }) = call_ended("t1", "c1", "no") else { unreachable!() };
    result.is_error = true;
    talk.log_entry(Body::Call(CallEntry::Ended { turn, result })).log_entry(ended("t1", Stop::EndTurn));
    talk.check(expect![[r#"
        > {"type":"permission_response","request_id":"r1","decision":"deny","reason":"no"}
        ! 2 Current Answer { ask: "r1", answer: Deny(Some("no")) }
        < {"type":"tool_result","turn_id":"t1","tool_id":"c1","output":"no","is_error":true,"duration_s":0.04}
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
    "#]]);
}

/// Everything that must not count as an answer. Each case ends with an answer that is refused.
#[test]
fn only_the_first_answer_to_an_open_question_counts() {
    let allow = |id: &str| answer(id, r#""decision":"allow""#);
    let close = |ask: &str, end: AskEnd| Body::Ask(AskEntry::Closed { ask: ask.into(), end });
    let answered = |answer| AskEnd::Answered { answer, by: None };
    type Setup<'a> = Box<dyn Fn(&mut Talk) + 'a>;
    let cases: Vec<(&str, Setup<'_>, &str)> = vec![
        ("never asked", Box::new(|_| {}), "nope"),
        ("empty", Box::new(|_| {}), ""),
        ("other case", Box::new(|_| {}), "R1"),
        ("a prefix", Box::new(|_| {}), "r"),
        ("longer", Box::new(|_| {}), "r1 "),
        ("a turn's id", Box::new(|_| {}), "t1"),
        ("a call's id", Box::new(|_| {}), "c1"),
        ("with NUL", Box::new(|_| {}), "r1\0"),
        ("half a pair", Box::new(|_| {}), "r\u{fffd}"),
        (
            "very long",
            Box::new(|_| {}),
            "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr",
        ),
        ("allowed before", Box::new(|talk| drop(talk.hear_bytes(allow("r1").as_bytes()))), "r1"),
        (
            "denied before",
            Box::new(|talk| drop(talk.hear_bytes(answer("r1", r#""decision":"deny""#).as_bytes()))),
            "r1",
        ),
        (
            "answered by another peer",
            Box::new(|talk| {
                talk.log_entry(close("r1", answered(Answer::Deny(None))));
            }),
            "r1",
        ),
        (
            "withdrawn",
            Box::new(|talk| {
                talk.log_entry(close("r1", AskEnd::Withdrawn));
            }),
            "r1",
        ),
        (
            "interrupted",
            Box::new(|talk| {
                talk.hear(r#"{"type":"interrupt"}"#).log_entry(close("r1", AskEnd::Withdrawn));
                talk.log_entry(ended("t1", Stop::Interrupted));
            }),
            "r1",
        ),
        (
            "of an old turn",
            Box::new(|talk| {
                talk.log_entry(close("r1", answered(Answer::Dismissed))).log_entry(ended("t1", Stop::EndTurn));
                talk.log_entry(started("t2")).log_entry(permission("r2", "t2"));
            }),
            "r1",
        ),
        (
            "answered twice while the second is open",
            Box::new(|talk| {
                talk.hear_bytes(allow("r1").as_bytes());
                talk.log_entry(permission("r2", "t1"));
            }),
            "r1",
        ),
        (
            "a dialog that was declined for it",
            Box::new(|talk| {
                let kind = AskKind::Confirm { title: "t".into(), message: "m".into() };
                talk.log_entry(Body::Ask(AskEntry::Opened(Ask {
                    id: "d1".into(),
                    turn: None,
                    kind,
                    timeout_ms: None,
                })));
            }),
            "d1",
        ),
        (
            "a host call that was declined for it",
            Box::new(|talk| {
                let (call, tool, input) = ("c9".into(), "x".into(), vocab::Json::empty_object());
                let kind = AskKind::HostCall { call, tool, input };
                talk.log_entry(Body::Ask(AskEntry::Opened(Ask {
                    id: "h1".into(),
                    turn: None,
                    kind,
                    timeout_ms: None,
                })));
            }),
            "h1",
        ),
        (
            "shown twice, answered once",
            Box::new(|talk| {
                talk.log_entry(permission("r1", "t1"));
                talk.hear_bytes(allow("r1").as_bytes());
            }),
            "r1",
        ),
    ];
    assert_eq!(cases.len(), 20);
    for (name, setup, id) in cases {
        let mut talk = asked();
        setup(&mut talk);
        let (commands, frames) = talk.hear_bytes(allow(id).as_bytes());
        assert_eq!((commands, frames.len()), (0, 1), "{name}");
        assert_eq!(frames[0]["code"], "unknown_request_id", "{name}");
        assert_eq!(frames[0].get("turn_id"), None, "{name}");
    }
}

#[test]
fn an_answer_that_the_engine_no_longer_knows_is_an_error() {
    let mut talk = asked();
    talk.hear(&answer("r1", r#""decision":"allow""#));
    talk.reply(2, Err(Fault::new(FaultKind::UnknownAsk, "the request was withdrawn")));
    talk.check(expect![[r#"
        > {"type":"permission_response","request_id":"r1","decision":"allow"}
        ! 2 Current Answer { ask: "r1", answer: Allow(Once) }
        < {"type":"error","code":"unknown_request_id","message":"the request was withdrawn","origin":"local"}
    "#]]);
}

#[test]
fn a_bad_answer_leaves_the_question_open() {
    let mut talk = asked();
    talk.hear(&answer("r1", r#""decision":"yes""#)).hear(&answer("r1", r#""decision":"allow""#));
    talk.check(expect![[r#"
        > {"type":"permission_response","request_id":"r1","decision":"yes"}
        < {"type":"error","code":"invalid_message","message":"permission_response.decision: expected \"allow\" or \"deny\"","origin":"local"}
        > {"type":"permission_response","request_id":"r1","decision":"allow"}
        ! 2 Current Answer { ask: "r1", answer: Allow(Once) }
    "#]]);
}

#[test]
fn questions_that_cannot_be_shown_are_declined_at_once() {
    let mut talk = Talk::open();
    for (id, kind) in [
        ("a1", AskKind::Select { title: "t".into(), options: vec![] }),
        ("a2", AskKind::Confirm { title: "t".into(), message: "m".into() }),
        ("a3", AskKind::Input { title: "t".into(), placeholder: None }),
        ("a4", AskKind::Editor { title: "t".into(), prefill: None }),
        ("a5", AskKind::HostCall { call: "c".into(), tool: "x".into(), input: vocab::Json::empty_object() }),
    ] {
        talk.log_entry(Body::Ask(AskEntry::Opened(Ask { id: id.into(), turn: None, kind, timeout_ms: None })));
    }
    talk.check(expect![[r#"
        ! 2 Current Answer { ask: "a1", answer: Dismissed }
        ! 3 Current Answer { ask: "a2", answer: Dismissed }
        ! 4 Current Answer { ask: "a3", answer: Dismissed }
        ! 5 Current Answer { ask: "a4", answer: Dismissed }
        ! 6 Current Answer { ask: "a5", answer: Deny(Some("this controller has no tools of its own")) }
    "#]]);
}

#[test]
fn eof_answers_open_questions_with_deny_and_shows_later_ones_first() {
    let mut talk = asked();
    talk.part(Parting::Eof).note("the engine finds nothing to say to our own denials");
    talk.reply(2, Err(Fault::new(FaultKind::UnknownAsk, "late")));
    talk.log_entry(call_ended("t1", "c1", "controller disconnected before responding"));
    talk.log_entry(permission("r2", "t1")).log_entry(ended("t1", Stop::EndTurn));
    talk.check(expect![[r#"
        -- Eof
        ! 2 Current Answer { ask: "r1", answer: Deny(Some("controller disconnected before responding")) }
        # the engine finds nothing to say to our own denials
        < {"type":"tool_result","turn_id":"t1","tool_id":"c1","output":"controller disconnected before responding","is_error":false,"duration_s":0.04}
        < {"type":"permission_request","request_id":"r2","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}
        ! 3 Current Answer { ask: "r2", answer: Deny(Some("controller disconnected before responding")) }
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        -- close Normal
    "#]]);
}
