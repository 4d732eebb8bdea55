//! A peer that moves from one session to another, and what is on its way to it meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use store::MemoryStore;
use vocab::*;

use crate::registry::{Lazy, named, on, past};
use crate::support::*;

#[tokio::test(start_paused = true)]
async fn whoever_moves_to_a_session_it_is_on_gets_every_answer_of_it() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    past(&store).await;
    let stage = on(&store, &Player::new([say("one"), say("two")]));
    let mut actor = stage.actor();
    actor.open(named("x")).await.unwrap();
    actor.open(named("a")).await.unwrap();
    store.wait_ms.store(1_000, Ordering::Relaxed);
    let moved = actor.send(slash("resume", "x")).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    // Answered when it is written, and by then the peer has moved in.
    let parts = vec![Part::text("by its name")];
    let prompt = Verb::Session(SessionVerb::Prompt { parts, delivery: Delivery::Enqueue });
    let prompt = actor.send_to(Target::Session("x".into()), prompt).await;
    actor.reply(moved).await.unwrap();
    actor.reply(prompt).await.unwrap();
}
