//! Replies that come when nobody is left, and requests that come before a reply.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;
use vocab::{
    Body, BranchEntry, CompactReason, CompactedTo, Compaction, Delta, DirectoryVerb, Event, Fault, FaultKind, ItemEnd,
    QueueEntry, Reply, SessionVerb, SettingEntry, SlashCode, SlashFault, SlashOutcome, SlashReply, Stop, TurnEnd,
    TurnEntry, Usage, Verb,
};
use wire::Parting;

use crate::talk::{AcpTalk, ended, state};

fn fault() -> Fault {
    Fault::new(FaultKind::Internal, "it broke")
}
fn is_prompt(verb: &Verb) -> bool {
    matches!(verb, Verb::Session(SessionVerb::Prompt { .. }))
}

#[test]
fn a_prompt_is_answered_though_its_session_is_closed_before_the_engine_has_taken_it() {
    let mut talk = AcpTalk::with(json!({}));
    talk.prompt("x").ask("session/close", json!({ "sessionId": "c1" }));
    talk.logged(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    talk.reply_to(is_prompt, Ok(Reply::Started { turn: "t1".into() })).end("t1", Stop::Interrupted);
    talk.reply_to(|verb| matches!(verb, Verb::Leave), Ok(Reply::Done));
    talk.check(expect![[r#"
        > 3 session/prompt
        ! Prompt { parts: [Text("x")], delivery: Queue }
        > 4 session/close
        ! Interrupt { turn: None }
        < c1 context 0 of 1000
        < 3 = cancelled, 0 tokens
        ! Leave
        < 4 = {}
    "#]]);
}

#[test]
fn a_session_is_closed_when_a_prompt_that_was_on_its_way_is_refused() {
    let mut talk = AcpTalk::with(json!({}));
    talk.prompt("x").ask("session/close", json!({ "sessionId": "c1" })).reply_to(is_prompt, Err(fault()));
    talk.check(expect![[r#"
        > 3 session/prompt
        ! Prompt { parts: [Text("x")], delivery: Queue }
        > 4 session/close
        ! Interrupt { turn: None }
        < 3 ! -32603 it broke
        ! Leave
    "#]]);
}

#[test]
fn who_works_for_another_session_was_sent_it_by_mistake() {
    let mut talk = AcpTalk::with(json!({}));
    let fault = Fault::new(FaultKind::WorksForCall, "works for `c0`").hint("send it to `c0`");
    talk.prompt("x").reply_to(is_prompt, Err(fault));
    talk.check(expect![[r#"
        > 3 session/prompt
        ! Prompt { parts: [Text("x")], delivery: Queue }
        < 3 ! -32602 works for `c0` (send it to `c0`)
    "#]]);
}

#[test]
fn a_prompt_can_be_taken_back_before_the_engine_has_taken_it() {
    let mut talk = AcpTalk::with(json!({}));
    talk.prompt("x").notify("$/cancel_request", json!({ "requestId": 3 }));
    talk.logged(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    talk.reply_to(is_prompt, Ok(Reply::Started { turn: "t1".into() }));
    talk.prompt("y").notify("$/cancel_request", json!({ "requestId": 4 }));
    talk.reply_to(is_prompt, Ok(Reply::Waiting { item: "i1".into(), position: 1 }));
    talk.logged(Body::Queue(QueueEntry::Settled { item: "i1".into(), end: ItemEnd::Dropped, why: None }))
        .end("t1", Stop::Interrupted);
    talk.check(expect![[r#"
        > 3 session/prompt
        ! Prompt { parts: [Text("x")], delivery: Queue }
        > $/cancel_request {"requestId":3}
        ! Interrupt { turn: Some("t1") }
        > 4 session/prompt
        ! Prompt { parts: [Text("y")], delivery: Queue }
        > $/cancel_request {"requestId":4}
        ! Queue(TakeBack("i1"))
        < 4 = cancelled
        < c1 context 0 of 1000
        < 3 = cancelled, 0 tokens
    "#]]);
}

fn compacted(failed: Option<SlashCode>) -> Result<Reply, Fault> {
    let done = CompactedTo {
        nothing: Some("so it is".into()),
        messages_before: 1,
        messages_after: 1,
        tokens_before: 1,
        tokens_after: 1,
    };
    let result = match failed {
        Some(code) => Err(SlashFault { code, message: "so it is".into() }),
        None => Ok(SlashOutcome::Compacted(done)),
    };
    Ok(Reply::Slash(Box::new(SlashReply { command: "compact".into(), result })))
}

#[test]
fn a_command_that_is_cancelled_is_answered_so() {
    let is_slash = |verb: &Verb| matches!(verb, Verb::Session(SessionVerb::Slash { .. }));
    let cancelled = || compacted(Some(SlashCode::Cancelled));
    let mut talk = AcpTalk::with(json!({}));
    talk.prompt("/compact").notify("session/cancel", json!({ "sessionId": "c1" })).reply_to(is_slash, cancelled());
    talk.prompt("/compact").notify("$/cancel_request", json!({ "requestId": 4 })).reply_to(is_slash, cancelled());
    talk.prompt("/compact").reply_to(is_slash, compacted(None));
    talk.check(expect![[r#"
        > 3 session/prompt
        ! Slash { name: "compact", args: "" }
        > session/cancel {"sessionId":"c1"}
        ! Interrupt { turn: None }
        < c1 message s1 "so it is"
        < 3 = cancelled
        > 4 session/prompt
        ! Slash { name: "compact", args: "" }
        > $/cancel_request {"requestId":4}
        ! Interrupt { turn: None }
        < c1 message s2 "so it is"
        < 4 = cancelled
        > 5 session/prompt
        ! Slash { name: "compact", args: "" }
        < c1 message s3 "so it is"
        < 5 = end_turn
    "#]]);
    // The turn that runs beside it is not what was cancelled.
    let mut talk = AcpTalk::with(json!({}));
    talk.begin("t1").prompt("/compact").notify("$/cancel_request", json!({ "requestId": 4 }));
    talk.reply_to(is_slash, compacted(Some(SlashCode::TurnInProgress)));
    talk.check(expect![[r#"
        > 4 session/prompt
        ! Slash { name: "compact", args: "" }
        > $/cancel_request {"requestId":4}
        < c1 message s1 "so it is"
        < 4 = end_turn
    "#]]);
}

#[test]
fn a_compaction_says_how_full_the_context_is_now() {
    let mut talk = AcpTalk::with(json!({}));
    talk.logged(Body::Branch(BranchEntry::Compacted(Compaction {
        reason: CompactReason::Manual,
        summary: "s".into(),
        first_kept: 1,
        tokens_before: 900,
        tokens_after: 120,
        messages_before: 9,
        messages_after: 2,
        usage: Usage::default(),
        model: "m".into(),
    })));
    talk.check(expect![[r#"
        < c1 context 120 of 1000
    "#]]);
}

#[test]
fn a_request_that_its_server_does_not_take_is_not_to_be_tried_again() {
    let code = |kind: FaultKind| {
        let mut talk = AcpTalk::with(json!({}));
        let fault = Some(Fault::new(kind, "no"));
        talk.begin("t1").logged(Body::Turn(TurnEntry::Ended(TurnEnd { fault, ..ended("t1", Stop::Error) })));
        talk.tell("c1", Event::State(Arc::new(state("c1"))));
        let (_, error) = talk.log.split_once("< 3 ! ").expect("its prompt is refused");
        error.split(' ').next().unwrap().parse::<i64>().unwrap()
    };
    for (kind, want) in [
        (FaultKind::BadRequest, -32602),
        (FaultKind::ContextOverflow, -32602),
        (FaultKind::Auth, -32000),
        (FaultKind::RateLimited, -32603),
        (FaultKind::Provider, -32603),
        (FaultKind::Network, -32603),
    ] {
        assert_eq!(code(kind), want, "{kind:?}");
    }
}

#[test]
fn a_title_hides_nothing_and_keeps_its_writing() {
    let mut talk = AcpTalk::with(json!({}));
    talk.logged(Body::Setting(SettingEntry::Title { title: "a\u{1b}[2J\n\u{202e}b 👩\u{200d}👧".into() }));
    talk.check(expect![[r#"
        < c1 title "a␛[2J <U+202E>b 👩‍👧" at 1970-01-01T00:00:00.000Z
    "#]]);
}

#[test]
fn what_was_on_its_way_when_the_session_was_lost_is_refused() {
    let mut talk = AcpTalk::with(json!({}));
    talk.ask("session/set_mode", json!({ "sessionId": "c1", "modeId": "plan" })).prompt("x");
    talk.tell("c1", Event::Gone { fault: fault() });
    talk.reply(Ok(Reply::Done)).reply(Ok(Reply::Started { turn: "t1".into() }));
    talk.check(expect![[r#"
        > 3 session/set_mode
        ! Set(Mode(Plan))
        > 4 session/prompt
        ! Prompt { parts: [Text("x")], delivery: Queue }
        < 3 ! -32002 session not found: c1 {"sessionId":"c1"}
        < 4 ! -32002 session not found: c1 {"sessionId":"c1"}
    "#]]);
}

#[test]
fn a_load_is_answered_though_the_session_is_closed_meanwhile() {
    let mut talk = AcpTalk::with(json!({}));
    talk.ask("session/load", json!({ "sessionId": "c1", "cwd": "/w" })).reply(Ok(crate::talk::opened("c1")));
    talk.ask("session/close", json!({ "sessionId": "c1" }));
    talk.reply_to(
        |verb| matches!(verb, Verb::Directory(DirectoryVerb::Recall(_))),
        Err(Fault::new(FaultKind::NotFound, "nothing")),
    );
    let answered: Vec<&str> = talk.log.lines().filter(|line| line.starts_with("< 3 = ")).collect();
    assert_eq!(answered.len(), 1, "{}", talk.log);
    talk.log.clear();
    talk.reply_to(|verb| matches!(verb, Verb::Leave), Ok(Reply::Done));
    talk.check(expect![[r#"
        < 4 = {}
    "#]]);
}

#[test]
fn a_session_in_which_too_much_happens_while_it_is_loaded_is_given_up() {
    let mut talk = AcpTalk::with(json!({}));
    talk.ask("session/load", json!({ "sessionId": "c2", "cwd": "/w" })).reply(Ok(crate::talk::opened("c2")));
    talk.log.clear();
    let delta = || Event::Delta(Delta::Text { turn: "t1".into(), delta: "x".repeat(1024 * 1024).as_str().into() });
    (0..7).for_each(|_| _ = talk.tell("c2", delta()));
    assert_eq!(talk.log, "", "so much is kept");
    (0..3).for_each(|_| _ = talk.tell("c2", delta()));
    talk.reply_to(
        |verb| matches!(verb, Verb::Directory(DirectoryVerb::Recall(_))),
        Err(Fault::new(FaultKind::NotFound, "nothing")),
    );
    talk.check(expect![[r#"
        ! Leave
        < 3 ! -32002 session not found: c2 {"sessionId":"c2"}
    "#]]);
}

#[test]
fn a_list_that_was_taken_back_is_answered_once() {
    let mut talk = AcpTalk::new();
    talk.ask("session/list", json!({})).notify("$/cancel_request", json!({ "requestId": 1 })).reply(Err(fault()));
    talk.check(expect![[r#"
        > 1 session/list
        ! Sessions(Query { workspace: None, id_part: None, non_empty: true, children: false, child_of: None, unfinished: false, limit: Some(50), offset: 0, id_prefix: None, or_without: None, order: Used, text: None, behind: None })
        > $/cancel_request {"requestId":1}
        < 1 ! -32800 request cancelled
    "#]]);
}

#[test]
fn the_end_waits_for_what_runs_and_for_nobody_behind_a_second_signal() {
    let mut talk = AcpTalk::with(json!({}));
    talk.begin("t1").part(Parting::Eof);
    assert!(talk.out.close.is_none());
    talk.end("t1", Stop::Interrupted).reply(Ok(Reply::Done)).reply(Ok(Reply::Done));
    talk.check(expect![[r#"
        - Eof
        ! CancelSignIns
        ! Interrupt { turn: None }
        < c1 context 0 of 1000
        < 3 = cancelled, 0 tokens
        - close
    "#]]);
    let mut talk = AcpTalk::with(json!({}));
    talk.begin("t1").part(Parting::Asked { by: "sigterm" }).part(Parting::Asked { by: "sigterm" });
    assert!(talk.out.close.is_some());
}

#[test]
fn a_turn_that_is_lost_leaves_nobody_waiting_behind_it() {
    let mut talk = AcpTalk::with(json!({}));
    talk.begin("t1").prompt("y").reply_to(is_prompt, Ok(Reply::Waiting { item: "i1".into(), position: 1 }));
    talk.log.clear();
    talk.tell("c1", Event::TurnLost(ended("t1", Stop::Error)));
    // What the client was told is lost does not run when the session is found again.
    talk.logged(Body::Turn(TurnEntry::Started { turn: "t2".into() }));
    talk.logged(Body::Queue(QueueEntry::Settled { item: "i1".into(), end: ItemEnd::Consumed, why: None }));
    talk.check(expect![[r#"
        < 4 ! -32603 it broke
        < 3 ! -32603 it broke
        ! Interrupt { turn: Some("t2") }
    "#]]);
}

#[test]
fn the_end_of_a_turn_that_died_with_another_process_changes_nothing_of_the_new_one() {
    let mut talk = AcpTalk::with(json!({}));
    talk.prompt("x").logged(Body::Turn(TurnEntry::Ended(ended("dead", Stop::Error))));
    talk.logged(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    talk.reply_to(is_prompt, Ok(Reply::Started { turn: "t1".into() }));
    talk.tell("c1", Event::State(Arc::new(state("c1"))));
    talk.tell("c1", Event::Delta(Delta::Text { turn: "t1".into(), delta: "on we go".into() })).end("t1", Stop::EndTurn);
    talk.check(expect![[r#"
        > 3 session/prompt
        ! Prompt { parts: [Text("x")], delivery: Queue }
        < c1 message t1-0 "on we go"
        < c1 context 0 of 1000
        < 3 = end_turn, 0 tokens
    "#]]);
}

#[test]
fn a_session_is_opened_when_the_list_of_models_is_there() {
    let mut talk = AcpTalk::unlisted();
    talk.ask("initialize", json!({ "protocolVersion": 1 })).log.clear();
    talk.ask("session/new", json!({ "cwd": "/w" })).ask("session/load", json!({ "sessionId": "c2" }));
    assert_eq!(talk.open.len(), 1, "nothing but the list is wanted: {}", talk.log);
    talk.reply(Ok(Reply::Models(vec![])));
    talk.check(expect![[r#"
        > 2 session/new
        > 3 session/load
        ! Open New
        ! Open Id("c2")
    "#]]);
}

#[test]
fn a_session_is_opened_when_the_list_of_models_is_late_or_the_client_leaves() {
    let late = Fault::new(FaultKind::Network, "no list of models within 1500 ms");
    let mut talk = AcpTalk::unlisted();
    assert_eq!(talk.notes, [""; 0], "it may come in time");
    talk.ask("session/new", json!({ "cwd": "/w" })).reply(Err(late));
    assert_eq!(talk.notes, ["no list of models yet: no list of models within 1500 ms"]);
    talk.check(expect![[r#"
        ! ModelsWithin { limit_ms: 1500 }
        > 1 session/new
        ! Models
        ! Open New
    "#]]);
    let mut talk = AcpTalk::unlisted();
    talk.ask("session/new", json!({ "cwd": "/w" })).part(Parting::Eof);
    talk.check(expect![[r#"
        ! ModelsWithin { limit_ms: 1500 }
        > 1 session/new
        - Eof
        ! CancelSignIns
        ! Open New
    "#]]);
}
