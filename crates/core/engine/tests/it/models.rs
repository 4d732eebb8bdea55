//! Failing, full and switched models.

use expect_test::{Expect, expect};
use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

async fn check(plays: Vec<Play>, want: Expect) {
    let stage = stage(&Player::new(plays));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    want.assert_eq(&log(&stage).await);
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_visible_and_the_turn_goes_on() {
    let mut asked = ModelFault::new(FaultKind::RateLimited, "slow down");
    asked.retry_after_ms = Some(7000);
    let limited = vec![Step::Event(ModelEvent::Failed(asked))];
    check(
        vec![fail(FaultKind::Provider), limited, say("at last")],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          try 1 of 3 in 500 ms: Provider
          try 2 of 3 in 7000 ms: RateLimited
          assistant: at last (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn tries_are_used_up() {
    check(
        (0..9).map(|_| fail(FaultKind::Provider)).collect(),
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          try 1 of 3 in 500 ms: Provider
          try 2 of 3 in 1000 ms: Provider
          try 3 of 3 in 2000 ms: Provider
        t1 ended: Error, 0 rounds, Provider: it failed
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_too_long_a_wait_is_not_waited_for() {
    let mut asked = ModelFault::new(FaultKind::RateLimited, "slow down");
    asked.retry_after_ms = Some(500_000);
    check(
        vec![vec![Step::Event(ModelEvent::Failed(asked))]],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
        t1 ended: Error, 0 rounds, RateLimited: slow down (the server asks to wait 500 s; the limit is 120 s)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_after_visible_output() {
    check(
        vec![vec![text("half"), fail_step(FaultKind::Provider)], say("never played")],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant: half (cut by Provider)
        t1 ended: Error, 0 rounds, Provider: it failed
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_just_ends_was_cut() {
    check(
        vec![vec![text("half"), call_step(0, "look", "{")]],
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant: half [c1 look] (cut by StreamCut)
          c1 Interrupted: interrupted
        t1 ended: Error, 0 rounds, StreamCut: the model stream ended without a finish
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_given_up() {
    check(
        vec![held("w")],
        expect![[r#"
            opened m1 danger-full-access
            t1 started
              user (Prompt): go
              assistant: w (cut by an interrupt)
            t1 cut: Stalled
            t1 ended: Error, 0 rounds, Network: nothing happened for 660 s
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_can_be_aborted() {
    let stage = stage(&Player::new([fail(FaultKind::Provider)]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor
        .until(
            |event| matches!(event, Event::Logged(it) if matches!(it.body, Body::Model(ModelEntry::Retrying { .. }))),
        )
        .await;
    ask_for(&mut actor, Verb::Session(SessionVerb::AbortRetry)).await.unwrap();
    let end = actor.turn_end().await;
    assert_eq!((end.stop, end.fault.unwrap().kind), (Stop::Error, FaultKind::Provider));
}

/// A session with two turns behind it.
async fn with_past(plays: Vec<Play>) -> (Stage, Actor, std::sync::Arc<Player>) {
    let player = Player::new([say("one"), say("two")].into_iter().chain(plays));
    let stage = stage_with(&player, |options| {
        options.tune = Box::new(|settings| settings.compaction.keep_pct = 1);
    });
    let mut actor = stage.open().await;
    for _ in 0..2 {
        actor.prompt("a prompt of some length, so that there is something to compact").await;
        actor.turn_end().await;
        actor.forget();
    }
    (stage, actor, player)
}

#[tokio::test(start_paused = true)]
async fn an_overflow_is_compacted_and_the_same_prompt_goes_on() {
    let (stage, mut actor, player) = with_past(vec![fail(FaultKind::ContextOverflow), say("SUMMARY"), say("on")]).await;
    actor.prompt("third").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): a prompt of some length, so that there is something to compact
          assistant: one (Stop)
        t1 ended: EndTurn, 0 rounds
        t2 started
          user (Prompt): a prompt of some length, so that there is something to compact
          assistant: two (Stop)
        t2 ended: EndTurn, 0 rounds
        t3 started
          user (Prompt): third
          compacted (Overflow), 5 -> 2
          assistant: on (Stop)
        t3 ended: EndTurn, 0 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    expect![[r#"
        m1: user Summary of the conversation so far (earlier messages were compacted):

        SUMMARY | user third"#]]
    .assert_eq(&player.last_sent());
}

#[tokio::test(start_paused = true)]
async fn a_full_context_is_compacted_before_the_call() {
    let (stage, mut actor, _) =
        with_past(vec![vec![used(900, 1), text("big"), done(Finish::Stop)], say("SUMMARY")]).await;
    for name in ["third", "fourth"] {
        actor.prompt(name).await;
        actor.turn_end().await;
        actor.forget();
    }
    expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): a prompt of some length, so that there is something to compact
          assistant: one (Stop)
        t1 ended: EndTurn, 0 rounds
        t2 started
          user (Prompt): a prompt of some length, so that there is something to compact
          assistant: two (Stop)
        t2 ended: EndTurn, 0 rounds
        t3 started
          user (Prompt): third
          assistant: big (Stop)
        t3 ended: EndTurn, 0 rounds
        t4 started
          user (Prompt): fourth
          compacted (Threshold), 7 -> 2
          assistant: ok (Stop)
        t4 ended: EndTurn, 0 rounds
    "#]]
    .assert_eq(&log(&stage).await);
}

#[tokio::test(start_paused = true)]
async fn a_manual_compaction_says_what_it_did_or_that_there_is_nothing_to_do() {
    let (_stage, mut actor, _) = with_past(vec![vec![used(40, 2), text("SUMMARY"), done(Finish::Stop)]]).await;
    let Reply::Compacted(done) =
        ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await.unwrap()
    else {
        panic!()
    };
    assert_eq!((&*done.summary, done.messages_before, done.messages_after, done.usage.input), ("SUMMARY", 4, 3, 40));
    let again = ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await;
    assert_eq!(again.unwrap_err().kind, FaultKind::NothingToDo);
}

#[tokio::test(start_paused = true)]
async fn a_model_switched_in_a_turn_answers_the_next_call() {
    let player = Player::new([calls(&[("look", r#"{"slow":1}"#)]), say("from the other")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    let unknown = ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m9".into())))).await.unwrap_err();
    assert_eq!(unknown.kind, FaultKind::UnknownModel);
    assert!(unknown.message.contains("m2"), "the refusal names what exists: {unknown}");
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m2".into())))).await.unwrap();
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Mode(Mode::Plan)))).await.unwrap();
    // A look at the context loads the history while the call is still open.
    ask_for(&mut actor, slash("context", "")).await.unwrap();
    actor.turn_end().await;
    expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant:  [c1 look] (ToolUse)
          c1 look starts
        model m2
        mode plan
          c1 Ran: done
          assistant: from the other (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    expect!["m2: user go | assistant  look(c1) | result c1 Ran done"].assert_eq(&player.last_sent());
}

#[tokio::test(start_paused = true)]
async fn a_model_switched_before_an_overflow_can_still_be_compacted() {
    let overflow = vec![Step::Wait(1000), fail_step(FaultKind::ContextOverflow)];
    let (stage, mut actor, _) =
        with_past(vec![overflow, vec![Step::Wait(1000), text("SUMMARY"), done(Finish::Stop)]]).await;
    actor.prompt("third").await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m2".into())))).await.unwrap();
    actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Started { .. }))).await;
    // And again while the summary is being written.
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m1".into())))).await.unwrap();
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    assert!(log(&stage).await.contains("compacted (Overflow)"));
}

#[tokio::test(start_paused = true)]
async fn a_mode_switched_in_a_turn_judges_the_next_call() {
    let first = calls(&[("look", r#"{"slow":1}"#), ("change", "{}")]);
    let stage = stage(&Player::new([first]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    ask_for(&mut actor, slash("mode", "read-only")).await.unwrap();
    actor.turn_end().await;
    let log = log(&stage).await;
    assert!(log.contains("c2 Denied: not allowed"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_fork_and_its_origin_go_their_own_ways() {
    let (stage, mut actor, _) = with_past(vec![]).await;
    let second = stage.store.read(&"s1".into(), 0, 99).await.unwrap().entries;
    let at = second.iter().filter(|entry| matches!(entry.body, Body::User { .. })).nth(1).unwrap().seq;
    let Reply::Forked { session, .. } = ask_for(&mut actor, Verb::Fork { at: Some(at) }).await.unwrap() else {
        panic!()
    };
    let nothing = ask_for(&mut actor, Verb::Fork { at: Some(1) }).await;
    assert_eq!(nothing.unwrap_err().kind, FaultKind::NotFound);
    let mut other = stage.actor();
    other.open(Open::new(Which::Id(session.to_string()))).await.unwrap();
    for (actor, name) in [(&mut actor, "here"), (&mut other, "there")] {
        actor.prompt(name).await;
        actor.turn_end().await;
    }
    expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): a prompt of some length, so that there is something to compact
          assistant: one (Stop)
        t1 ended: EndTurn, 0 rounds
        t2 started
          user (Prompt): a prompt of some length, so that there is something to compact
          assistant: two (Stop)
        t2 ended: EndTurn, 0 rounds
        t3 started
          user (Prompt): here
          assistant: ok (Stop)
        t3 ended: EndTurn, 0 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    expect![[r#"
        opened m1 danger-full-access, from s1 at 7
        t1 started
          user (Prompt): a prompt of some length, so that there is something to compact
          assistant: one (Stop)
        t1 ended: EndTurn, 0 rounds
        t4 started
          user (Prompt): there
          assistant: ok (Stop)
        t4 ended: EndTurn, 0 rounds
    "#]]
    .assert_eq(&log_of(&stage, session.as_str()).await);
}

#[tokio::test(start_paused = true)]
async fn an_undo_takes_back_messages_and_files() {
    let (stage, mut actor, player) = with_past(vec![calls(&[("change", "{}")]), say("changed")]).await;
    actor.prompt("third").await;
    actor.turn_end().await;
    let Reply::Slash(reply) = ask_for(&mut actor, slash("undo", "")).await.unwrap() else { panic!() };
    expect![[r#"
        took back 3 message(s)
          removed file
        Ok(Undone(Undone { messages: 3, files: [UndoneFile { path: "file", end: Removed }], commands: [] }))
    "#]]
    .assert_eq(&format!("{}\n{:?}\n", testkit::slash_text(&reply), reply.result));
    actor.forget();
    actor.prompt("fourth").await;
    actor.turn_end().await;
    assert!(!player.last_sent().contains("third"), "{}", player.last_sent());
    let _ = stage;
}
