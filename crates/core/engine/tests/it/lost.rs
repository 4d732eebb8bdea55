//! A session that another owner has taken: it ends at once, before it does anything more.

use std::sync::Arc;

use store::suite::{TwoOwners, run_owners};
use store::{MemoryStore, suite};
use testkit::Stage;
use testkit::lossy::LossyStore;
use testkit::sim::Dice;
use testkit::stage::Actor;
use vocab::*;

use crate::registry::named;
use crate::support::*;

/// A stage whose sessions another owner can take, and that owner.
fn shared(player: &Arc<Player>) -> (Stage, Arc<MemoryStore>, MemoryStore) {
    let store = Arc::new(MemoryStore::new());
    let (ours, other) = (store.clone(), store.another());
    let stage = stage_with(player, |options| {
        options.store = ours;
        options.mode = Mode::Prompt;
    });
    (stage, store, other)
}

/// Our process was not heard of for its time to live, and somebody wanted the session.
async fn take(store: &MemoryStore, other: &MemoryStore) -> Lease {
    store.lapse();
    other.acquire(&"x".into()).await.unwrap().lease
}

async fn is_told(actor: &mut Actor, stage: &Stage) {
    let since = tokio::time::Instant::now();
    actor.until(|event| matches!(event, Event::Gone { fault } if fault.kind == FaultKind::SessionBusy)).await;
    assert!(since.elapsed().as_secs() < 1, "after {:?}", since.elapsed());
    actor.settle().await;
    assert_eq!(stage.engine.live().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_that_was_taken_ends_without_a_write() {
    let player = Player::new([say("one")]);
    let (stage, store, other) = shared(&player);
    let mut actor = stage.actor();
    actor.open(named("x")).await.unwrap();
    actor.prompt("first").await;
    actor.turn_end().await;
    let before = log_of(&stage, "x").await;
    let thief = take(&store, &other).await;
    is_told(&mut actor, &stage).await;
    assert_eq!(log_of(&stage, "x").await, before);
    assert_eq!(actor.open(named("x")).await.unwrap_err().kind, FaultKind::SessionBusy);
    other.release(thief).await.unwrap();
    actor.open(named("x")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_session_was_taken_calls_neither_a_tool_nor_the_model() {
    // What a tool that reads has found goes to the model before it is written.
    let player = Player::new([calls(&[("look", r#"{"slow":1}"#), ("change", "{}")]), say("never said")]);
    let (stage, store, other) = shared(&player);
    let mut actor = stage.actor();
    actor.open(named("x")).await.unwrap();
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    actor.settle().await;
    let (asked, before) = (player.calls_made(), log_of(&stage, "x").await);
    actor.forget();
    take(&store, &other).await;
    is_told(&mut actor, &stage).await;
    let lost = |told: &Told| matches!(&told.event, Event::TurnLost(end) if end.fault.is_some());
    assert_eq!(actor.told.iter().filter(|told| lost(told)).count(), 1, "the turn that was told has an end");
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(player.calls_made(), asked, "a session that is not ours asks no model");
    assert_eq!(log_of(&stage, "x").await, before, "and nothing was written");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_being_told_stops() {
    let player = Player::new([held("half a wo")]);
    let (stage, store, other) = shared(&player);
    let mut actor = stage.actor();
    actor.open(named("x")).await.unwrap();
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::Text { .. }))).await;
    take(&store, &other).await;
    is_told(&mut actor, &stage).await;
}

/// Two processes have begun the same session, and only one of them has written: what that one loses is not the other's loss. The
/// other is told that there is such a session when it writes, and that is all there is to find.
#[tokio::test(start_paused = true)]
async fn of_two_who_begin_a_session_one_has_not_lost_what_the_other_had() {
    let one = LossyStore::new(None);
    let other = one.another();
    let begin = |store: &LossyStore| {
        let (id, workspace, model) = ("x".into(), "/w".into(), "m".into());
        store.create(NewSession { id, workspace, model, mode: Mode::Prompt, at_ms: 1, parent: None })
    };
    let (mine, theirs) = (begin(&one), begin(&other));
    let word = |seq| {
        let body = Body::Note(NoteEntry::Recovered { text: "a word".into() });
        vec![Arc::new(Entry { seq, parent: seq - 1, at_ms: 1, body, by: None })]
    };
    one.append(&mine, word(1), Durability::Now).await.unwrap();
    assert!(one.steal(&"x".into()), "a third one takes it");
    assert!(mine.signal.lost().is_some() && theirs.signal.lost().is_none());
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    let refused = other.append(&theirs, word(1), Durability::Now).await.unwrap_err();
    assert_eq!(refused.kind, FaultKind::SessionBusy, "{refused}");
    assert_eq!(other.findings(), Vec::<String>::new());
    let stale = one.append(&mine, word(2), Durability::Now).await.unwrap_err();
    assert_eq!(stale.kind, FaultKind::SessionBusy, "{stale}");
    assert_eq!(one.findings().len(), 1, "whoever goes on with what it was told is gone is found");
}

#[tokio::test]
async fn the_store_of_the_simulation_keeps_the_promises() {
    for seed in 0..4 {
        let made = || LossyStore::new((seed > 0).then(|| Dice::new(seed)));
        suite::run(made).await;
        run_owners(|| {
            let one = made();
            let other = one.another();
            TwoOwners { one, other, lapse: Box::new(LossyStore::lapse), other_is_called: "owner 1".to_owned() }
        })
        .await;
    }
}
