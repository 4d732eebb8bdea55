//! What happens while a session reads its log: nothing waits for that but what needs it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use store::MemoryStore;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use testkit::{Stage, slash_text};
use tokio::time::Instant;
use vocab::{Change, FaultKind, Reply, RetryPolicy, SessionVerb, Verb};

use crate::budgets::{resumed, shown};
use crate::recovery::life;
use crate::registry::{Lazy, named, on, past};
use crate::support::*;

/// Two peers on a session with a past, whose store takes five seconds for everything from now on.
async fn slow(player: Arc<Player>) -> (Arc<Lazy>, Stage, Actor, Actor) {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    past(&store).await;
    let stage = on(&store, &player);
    let (mut left, mut right) = (stage.actor(), stage.actor());
    left.open(named("x")).await.unwrap();
    right.open(named("x")).await.unwrap();
    store.wait_ms.store(5_000, Ordering::Relaxed);
    (store, stage, left, right)
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_for_the_log_holds_back_nobody_else() {
    let (_store, _stage, mut left, mut right) = slow(Player::new([say("hello")])).await;
    let since = Instant::now();
    let prompt = left.prompt("go").await;
    let behind = left.send(Verb::Session(SessionVerb::Set(Change::Retry(RetryPolicy::default())))).await;
    ask_for(&mut right, Verb::Session(SessionVerb::Set(Change::Retry(RetryPolicy::default())))).await.unwrap();
    assert!(since.elapsed().as_millis() < 100, "it took {:?}", since.elapsed());
    assert!(matches!(left.reply(prompt).await, Ok(Reply::Started { .. })));
    assert!(since.elapsed().as_secs() >= 5);
    left.reply(behind).await.unwrap();
    assert_eq!(left.turn_end().await.stop, vocab::Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_a_message_that_waits_for_the_log() {
    let (_store, _stage, mut left, _right) = slow(Player::new([])).await;
    let since = Instant::now();
    let prompt = left.prompt("go").await;
    let interrupted = ask_for(&mut left, Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    assert!(matches!(interrupted, Ok(Reply::Interrupted { was_running: true })));
    assert_eq!(left.reply(prompt).await.unwrap_err().kind, FaultKind::Cancelled);
    assert!(since.elapsed().as_millis() < 100, "it took {:?}", since.elapsed());
}

#[tokio::test(start_paused = true)]
async fn nothing_gets_in_between_the_steps_of_an_undo() {
    let (_store, stage, mut left, mut right) = slow(Player::new([say("again")])).await;
    let undo = left.send(slash("undo", "")).await;
    tokio::time::sleep(std::time::Duration::from_secs(7)).await;
    let prompt = right.prompt("behind it").await;
    // What must not wait does not.
    let since = Instant::now();
    let interrupted = ask_for(&mut right, Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    assert!(matches!(interrupted, Ok(Reply::Interrupted { .. })));
    assert!(since.elapsed().as_millis() < 100, "it took {:?}", since.elapsed());
    let Ok(Reply::Slash(undone)) = left.reply(undo).await else { panic!("no undo") };
    assert!(slash_text(&undone).starts_with("took back 2 message(s)"), "{}", slash_text(&undone));
    match right.reply(prompt).await {
        Ok(Reply::Started { .. }) => drop(right.turn_end().await),
        Err(fault) => assert_eq!(fault.kind, FaultKind::Cancelled, "the interrupt meant it"),
        other => panic!("{other:?}"),
    }
    let log = log_of(&stage, "x").await;
    let moved = log.find("Moved").or_else(|| log.find("moved")).expect("an undo is in the log");
    assert!(log.find("behind it").is_none_or(|at| at > moved), "{log}");
}

#[tokio::test(start_paused = true)]
async fn an_undo_whose_move_cannot_be_written_says_so() {
    let (store, _stage, mut left, mut right) = slow(Player::new([say("again")])).await;
    let undo = left.send(slash("undo", "")).await;
    store.fails.store(true, Ordering::Relaxed);
    let Ok(Reply::Slash(undone)) = left.reply(undo).await else { panic!("no answer to the undo") };
    assert!(undone.result.is_err(), "{undone:?}");
    let prompt = right.prompt("go on").await;
    assert!(matches!(right.reply(prompt).await, Ok(Reply::Started { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_store_hears_that_everything_ends() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    let stage = on(&store, &Player::new([]));
    assert!(!store.hurried.load(Ordering::Relaxed));
    stage.engine.shutdown().await;
    assert!(store.hurried.load(Ordering::Relaxed));
}

#[test]
fn the_first_thing_asked_after_a_resume_is_answered_from_the_log() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let on = |player: &Arc<Player>| {
        let store = store.clone();
        stage_with(player, |options| (options.store, options.model) = (store, "wide".into()))
    };
    let messages = |status: &str| status.lines().find(|line| line.starts_with("messages")).unwrap().to_owned();
    let mut live = String::new();
    life(&store, async || {
        let player = Player::new([say("one"), say("two"), say("three"), say("a summary")]);
        let stage = on(&player);
        let mut actor = stage.open().await;
        for _ in 0..3 {
            actor.prompt("go").await;
            actor.turn_end().await;
            actor.forget();
        }
        ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await.unwrap();
        live = messages(&shown(&mut actor, "status").await);
    });
    assert!(live.ends_with(" 1"), "{live}");
    life(&store, async || {
        let stage = on(&Player::new([]));
        assert_eq!(messages(&shown(&mut resumed(&stage).await, "status").await), live);
    });
}
