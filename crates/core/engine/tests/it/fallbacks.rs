//! Another model answers for the rest of a turn when the chosen one cannot.

use std::sync::Arc;

use expect_test::{Expect, expect};
use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

/// The model `chain` has `m2`, `gone` (which nobody knows) and `far1` to stand in for it.
fn on(player: &Arc<Player>) -> Stage {
    stage_with(player, |options| {
        options.model = "chain".into();
        options.mode = Mode::DangerFullAccess;
        options.tune = Box::new(|settings| settings.retry.retries_max = 1);
    })
}

async fn prompt(actor: &mut Actor, text: &str) -> TurnEnd {
    actor.forget();
    actor.prompt(text).await;
    actor.turn_end().await
}

/// Plays one turn; the log, and who was called in it.
async fn check(plays: Vec<Play>, called: &[&str], expected: Expect) {
    let player = Player::new(plays);
    let stage = on(&player);
    prompt(&mut stage.open().await, "go").await;
    expected.assert_eq(&log(&stage).await);
    assert_eq!(callees(&player), called);
}

fn callees(player: &Player) -> Vec<String> {
    let sent = player.sent.lock().unwrap();
    sent.iter().map(|(sketch, _)| sketch.split(':').next().unwrap_or_default().to_owned()).collect()
}

/// Nobody tries this again.
fn refused() -> Play {
    fail(FaultKind::Auth)
}

#[tokio::test(start_paused = true)]
async fn the_next_of_the_chain_answers_after_the_tries_are_used_up() {
    let tries = || fail(FaultKind::Provider);
    check(
        vec![tries(), tries(), tries(), say("from the second")],
        &["chain", "chain", "m2", "m2"],
        expect![[r#"
            opened chain danger-full-access
            t1 started
              user (Prompt): go
              try 1 of 1 in 500 ms: Provider
              chain could not (Provider), m2 is asked
              try 1 of 1 in 500 ms: Provider
              assistant: from the second (Stop)
            t1 ended: EndTurn, 0 rounds
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_asked_is_passed_over_and_named() {
    check(
        vec![refused(), refused(), say("from far")],
        &["chain", "m2", "far1"],
        expect![[r#"
            opened chain danger-full-access
            t1 started
              user (Prompt): go
              chain could not (Auth), m2 is asked
              m2 could not (Auth), far1 is asked, not gone: unknown model: gone (there is: m1, m2)
              assistant: from far (Stop)
            t1 ended: EndTurn, 0 rounds
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn when_nobody_can_the_error_names_them_all() {
    let player = Player::new([refused(), refused(), refused()]);
    let stage = on(&player);
    let end = prompt(&mut stage.open().await, "go").await;
    assert_eq!((end.stop, end.fault.as_ref().unwrap().kind), (Stop::Error, FaultKind::Auth));
    expect!["no model could answer: chain: it failed; m2: it failed; gone: unknown model: gone (there is: m1, m2); far1: it failed"]
        .assert_eq(&end.fault.unwrap().message);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_twice_whatever_the_chain_says() {
    let player = Player::new([refused(), refused(), refused(), refused()]);
    let stage = stage_with(&player, |options| options.model = "loop".into());
    let end = prompt(&mut stage.open().await, "go").await;
    assert_eq!((end.stop, callees(&player)), (Stop::Error, vec!["loop".to_owned(), "m2".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn without_a_chain_the_error_is_the_models_own() {
    let stage = stage(&Player::new([refused()]));
    let end = prompt(&mut stage.open().await, "go").await;
    assert_eq!(end.fault.unwrap().message, "it failed");
}

#[tokio::test(start_paused = true)]
async fn nobody_stands_in_once_something_was_visible_or_for_what_was_asked() {
    let half = vec![text("half"), fail_step(FaultKind::Auth)];
    for play in [half, fail(FaultKind::BadRequest), fail(FaultKind::Cancelled)] {
        let player = Player::new([play]);
        let stage = on(&player);
        let end = prompt(&mut stage.open().await, "go").await;
        assert_eq!((end.stop, callees(&player).len()), (Stop::Error, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_context_is_compacted_and_not_given_to_another() {
    let player = Player::new([say("old"), fail(FaultKind::ContextOverflow), say("a summary"), say("ok")]);
    let stage = stage_with(&player, |options| {
        options.model = "chain".into();
        options.tune = Box::new(|settings| settings.compaction.keep_pct = 0);
    });
    let mut actor = stage.open().await;
    prompt(&mut actor, "a prompt that is older").await;
    let end = prompt(&mut actor, "go").await;
    assert_eq!((end.stop, callees(&player)), (Stop::EndTurn, vec!["chain".to_owned(); 4]));
}

#[tokio::test(start_paused = true)]
async fn a_tool_loop_goes_on_with_the_other_and_the_next_turn_with_the_first() {
    let player =
        Player::new([calls(&[("look", "{}")]), refused(), calls(&[("look", "{}")]), say("done"), say("again")]);
    let stage = on(&player);
    let mut actor = stage.open().await;
    prompt(&mut actor, "go").await;
    let state = actor.told.iter().rev().find_map(|told| match &told.event {
        Event::State(state) => Some(state.clone()),
        _ => None,
    });
    let state = state.expect("the state is told when a turn is over");
    assert_eq!((&*state.model, &*state.model_info.slug), ("chain", "chain"), "the choice stays");
    prompt(&mut actor, "and now").await;
    assert_eq!(callees(&player), ["chain", "chain", "m2", "m2", "chain"]);
    assert_eq!(
        player.last_sent(),
        "chain: user go | assistant  look(c1) | result c1 Ran done | assistant  look(c1_2) | result c1_2 Ran done \
         | assistant done | user and now"
    );
    let page = stage.store.read(&"s1".into(), 0, usize::MAX).await.unwrap();
    let spoke: Vec<Arc<str>> = page
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Assistant { message, .. } => Some(message.model.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(spoke, ["chain", "m2", "m2", "chain"].map(Arc::from), "whoever answered is named");
    assert_eq!(stage.store.summary(&"s1".into()).await.unwrap().unwrap().model, "chain".into());
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_it_while_the_other_answers_and_while_it_waits() {
    for second in [held("half"), fail(FaultKind::Provider)] {
        let player = Player::new([refused(), second]);
        let stage = on(&player);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        let comes = |event: &Event| {
            matches!(event, Event::Delta(Delta::Text { .. }))
                || matches!(event, Event::Logged(it) if matches!(it.body, Body::Model(ModelEntry::Retrying { .. })))
        };
        actor.until(comes).await;
        ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
        assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
        prompt(&mut actor, "again").await;
        assert_eq!(callees(&player), ["chain", "m2", "chain"], "the next turn begins with the first");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_called_off_asks_nobody_else() {
    let player = Player::new([fail(FaultKind::Provider)]);
    let stage = on(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor
        .until(
            |event| matches!(event, Event::Logged(it) if matches!(it.body, Body::Model(ModelEntry::Retrying { .. }))),
        )
        .await;
    ask_for(&mut actor, Verb::Session(SessionVerb::AbortRetry)).await.unwrap();
    assert_eq!(actor.turn_end().await.stop, Stop::Error);
    assert_eq!(callees(&player), ["chain"]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_chosen_meanwhile_comes_before_those_that_stand_in() {
    let player = Player::new([vec![Step::Wait(1000), fail_step(FaultKind::Auth)], say("chosen"), say("still")]);
    let stage = on(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::ModelCalled { .. }))).await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m1".into())))).await.unwrap();
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    prompt(&mut actor, "again").await;
    assert_eq!(callees(&player), ["chain", "m1", "m1"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_of_one_that_stood_in_is_no_reason_for_a_summary() {
    let player = Player::new([refused(), refused(), say("from far"), say("home again")]);
    let stage = stage_with(&player, |options| {
        options.model = "chain".into();
        options.tune = Box::new(|settings| settings.compaction.on_switch = true);
    });
    let mut actor = stage.open().await;
    prompt(&mut actor, "go").await;
    prompt(&mut actor, "again").await;
    assert!(!log(&stage).await.contains("compacted"), "{}", log(&stage).await);
}

/// What a peer was told of the reply's blocks, in order.
fn blocks(actor: &Actor) -> Vec<&'static str> {
    let word = |told: &Told| {
        Some(match &told.event {
            Event::Delta(Delta::Text { .. }) => "text",
            Event::Delta(Delta::Thinking { .. }) => "thinking",
            Event::Delta(Delta::CallInput { .. }) => "call",
            Event::Delta(Delta::Sealed { what: Sealed::Thinking, .. }) => "sealed",
            Event::Delta(Delta::Sealed { what: Sealed::Alone, .. }) => "alone",
            Event::Delta(Delta::Sealed { what: Sealed::Redacted, .. }) => "redacted",
            _ => return None,
        })
    };
    actor.told.iter().filter_map(word).collect()
}

#[tokio::test(start_paused = true)]
async fn blocks_without_words_are_told_where_they_stand_but_not_before_something_can_be_seen() {
    let event = |event| Step::Event(event);
    let (seal, redacted) = (|| ModelEvent::Seal("s".into()), || ModelEvent::Redacted("r".into()));
    let thought = || ModelEvent::Thinking("hm".into());
    let play = vec![
        event(redacted()),
        event(thought()),
        event(seal()),
        event(thought()),
        event(seal()),
        event(redacted()),
        text("a"),
        event(seal()),
        text("b"),
        event(redacted()),
        done(Finish::Stop),
    ];
    let failing = vec![event(redacted()), fail_step(FaultKind::Provider)];
    let stage = on(&Player::new([failing, play]));
    let mut actor = stage.open().await;
    assert_eq!(prompt(&mut actor, "go").await.stop, Stop::EndTurn, "nothing was visible of the first try");
    assert_eq!(
        blocks(&actor),
        ["redacted", "thinking", "sealed", "thinking", "sealed", "redacted", "text", "alone", "text"]
    );
}
