//! An interrupt ends a turn wherever it stands, once, and the next prompt works.

use expect_test::{Expect, expect};
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

async fn interrupt(actor: &mut Actor) -> bool {
    match ask_for(actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap() {
        Reply::Interrupted { was_running } => was_running,
        other => panic!("{other:?}"),
    }
}

/// Prompts, waits for `until`, interrupts, and goes on with another prompt.
async fn check(mode: Mode, first: Play, until: impl FnMut(&Event) -> bool, want: Expect) {
    let player = Player::new([first, say("fine")]);
    let stage = stage_with(&player, |options| options.mode = mode);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(until).await;
    assert!(interrupt(&mut actor).await);
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    actor.forget();
    actor.prompt("again").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    want.assert_eq(&log(&stage).await);
}

fn logged(event: &Event, wanted: impl Fn(&Body) -> bool) -> bool {
    matches!(event, Event::Logged(entry) if wanted(&entry.body))
}

#[tokio::test(start_paused = true)]
async fn while_text_streams_the_partial_text_is_kept_and_marked() {
    let until = |event: &Event| matches!(event, Event::Delta(Delta::Text { .. }));
    check(
        Mode::Prompt,
        held("half a sen"),
        until,
        expect![[r#"
            opened m1 prompt
            t1 started
              user (Prompt): go
              assistant: half a sen (cut by an interrupt)
            t1 cut: Asked
            t1 ended: Interrupted, 0 rounds
            t2 started
              user (Prompt): again
              assistant: fine (Stop)
            t2 ended: EndTurn, 0 rounds
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_a_tool_runs_the_rest_of_the_batch_is_not_started() {
    let until = |event: &Event| matches!(event, Event::Delta(Delta::CallProgress { .. }));
    let play = calls(&[("look", r#"{"slow":1}"#), ("look", "{}")]);
    check(
        Mode::Prompt,
        play,
        until,
        expect![[r#"
            opened m1 prompt
            t1 started
              user (Prompt): go
              assistant:  [c1 look] [c2 look] (ToolUse)
              c1 look starts
              c1 Interrupted: interrupted
              c2 Interrupted: interrupted
            t1 cut: Asked
            t1 ended: Interrupted, 0 rounds
            t2 started
              user (Prompt): again
              assistant: fine (Stop)
            t2 ended: EndTurn, 0 rounds
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_a_question_is_open_it_is_withdrawn() {
    let until = |event: &Event| logged(event, |body| matches!(body, Body::Ask(AskEntry::Opened(_))));
    check(
        Mode::Prompt,
        calls(&[("change", "{}")]),
        until,
        expect![[r#"
            opened m1 prompt
            t1 started
              user (Prompt): go
              assistant:  [c1 change] (ToolUse)
              c1 change starts
              ask1 may change run?
              ask1 withdrawn
              c1 Interrupted: interrupted
            t1 cut: Asked
            t1 ended: Interrupted, 0 rounds
            t2 started
              user (Prompt): again
              assistant: fine (Stop)
            t2 ended: EndTurn, 0 rounds
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_a_retry_waits() {
    let until = |event: &Event| logged(event, |body| matches!(body, Body::Model(ModelEntry::Retrying { .. })));
    check(
        Mode::Prompt,
        fail(FaultKind::Provider),
        until,
        expect![[r#"
            opened m1 prompt
            t1 started
              user (Prompt): go
              try 1 of 3 in 500 ms: Provider
            t1 cut: Asked
            t1 ended: Interrupted, 0 rounds
            t2 started
              user (Prompt): again
              assistant: fine (Stop)
            t2 ended: EndTurn, 0 rounds
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_an_error() {
    let player = Player::new([calls(&[("change", "{}")])]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let ask = actor.ask().await.id;
    interrupt(&mut actor).await;
    actor.turn_end().await;
    let late =
        ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask, answer: Answer::Allow(Scope::Once) })).await;
    assert_eq!(late.unwrap_err().kind, FaultKind::UnknownAsk);
}

#[tokio::test(start_paused = true)]
async fn when_idle_and_when_repeated_it_does_nothing() {
    let player = Player::new([held("w")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    assert!(!interrupt(&mut actor).await);
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    // Both are under way before the first takes effect.
    let (first, second) = (
        actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await,
        actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await,
    );
    actor.reply(first).await.unwrap();
    actor.reply(second).await.unwrap();
    actor.settle().await;
    assert_eq!(log(&stage).await.matches("ended").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_means_another_turn_stops_nothing() {
    let stage = stage(&Player::new([held("w"), held("x")]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    let meant = |turn: &str| Verb::Session(SessionVerb::Interrupt { turn: Some(turn.into()) });
    let was_running = |reply| matches!(reply, Ok(Reply::Interrupted { was_running: true }));
    assert!(!was_running(ask_for(&mut actor, meant("t9")).await));
    actor.settle().await;
    assert!(!log(&stage).await.contains("ended"));
    assert!(was_running(ask_for(&mut actor, meant("t1")).await));
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    actor.prompt("again").await;
    text_of(&mut actor, "x").await;
    assert!(!was_running(ask_for(&mut actor, meant("t1")).await), "that one is over, and another runs");
    assert_eq!(log(&stage).await.matches("ended").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn during_a_compaction_it_is_cancelled_and_said_so() {
    let player = Player::new([say("one"), say("two"), held("sum")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    for _ in 0..2 {
        actor.prompt("a prompt of some length, so that there is something to compact").await;
        actor.turn_end().await;
        actor.forget();
    }
    let policy = CompactionPolicy { keep_pct: 1, ..CompactionPolicy::default() };
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Compaction(policy)))).await.unwrap();
    let compact = actor.send(Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await;
    actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Started { .. }))).await;
    assert!(interrupt(&mut actor).await);
    assert_eq!(actor.reply(compact).await.unwrap_err().kind, FaultKind::Cancelled);
    actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Failed { .. }))).await;
    actor.prompt("on").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_that_is_interrupted_ends_its_retry_aloud() {
    let player = Player::new([fail(FaultKind::Provider), held("w")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    interrupt(&mut actor).await;
    actor.turn_end().await;
    assert!(actor.told.iter().any(|told| matches!(told.event, Event::Retry(RetryEvent::Ended { ok: false, .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_cannot_be_written_is_told_at_once_and_written_later() {
    let store = std::sync::Arc::new(testkit::faulty::FaultyStore::new(std::sync::Arc::new(store::MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new([held("half a wo")]), |options| options.store = kept);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "half a wo").await;
    store.fail_append(1);
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    let lost = actor.until(|event| matches!(event, Event::TurnLost(_))).await;
    let Event::TurnLost(end) = lost else { panic!("{lost:?}") };
    assert_eq!((end.stop, end.fault), (Stop::Interrupted, None));
    let said = actor.told.iter().any(|told| {
        matches!(&told.event, Event::Extension(ExtensionEvent::Notice(Notice::Say { text, .. }))
            if text.starts_with("the turn is interrupted, and that could not be written yet: "))
    });
    assert!(said, "{:?}", actor.told);
    assert!(!log(&stage).await.contains("ended"));
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let log = log(&stage).await;
    assert!(log.ends_with("t1 ended: Interrupted, 0 rounds\n"), "{log}");
}
