//! The end of an engine: at once, or when what runs can be stopped; of many sessions as of one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use store::MemoryStore;
use testkit::Stage;
use testkit::stage::Actor;
use tokio::time::Instant;
use vocab::*;

use crate::registry::Lazy;
use crate::support::*;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

async fn drain(stage: &Stage, limit: Duration) -> Duration {
    let since = Instant::now();
    stage.engine.drain(limit).await;
    assert_eq!(stage.engine.live().len(), 0);
    since.elapsed()
}

async fn begun(stage: &Stage) -> Actor {
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::ModelCalled { .. }))).await;
    actor
}

#[tokio::test(start_paused = true)]
async fn a_drain_lets_a_reply_come_to_its_end_and_begins_nothing_new() {
    let slow = vec![text("half "), Step::Wait(5_000), text("whole"), done(Finish::Stop)];
    let player = Player::new([slow, say("never")]);
    let stage = stage(&player);
    let mut actor = begun(&stage).await;
    actor.deliver("wait for it", Delivery::Enqueue).await;
    actor.deliver("and this", Delivery::FollowUp).await;
    let (took, ()) = tokio::join!(drain(&stage, seconds(60)), async {
        tokio::time::sleep(seconds(1)).await;
        let late = actor.deliver("too late", Delivery::Enqueue).await;
        assert_eq!(actor.reply(late).await.unwrap_err().kind, FaultKind::ShuttingDown);
        let mut other = stage.actor();
        assert_eq!(other.open(Open::new(Which::New)).await.unwrap_err().kind, FaultKind::ShuttingDown);
    });
    assert!(took >= seconds(5) && took < seconds(6), "{took:?}");
    let log = log(&stage).await;
    assert!(log.contains("assistant: half whole (Stop)") && log.contains("ended: EndTurn"), "{log}");
    assert!(log.contains("wait for it") && log.contains("and this") && !log.contains("Consumed"), "they wait: {log}");
    assert_eq!(player.calls_made(), 1);
    assert!(stage.store.acquire(&"s1".into()).await.is_ok(), "the lease was given back");
}

#[tokio::test(start_paused = true)]
async fn a_drain_stops_a_turn_when_the_results_of_its_calls_are_in_the_log() {
    let player = Player::new([calls(&[("look", r#"{"slow":1}"#), ("look", "{}")]), say("never")]);
    let stage = stage(&player);
    let _actor = begun(&stage).await;
    let took = drain(&stage, seconds(600)).await;
    assert!(took >= seconds(30) && took < seconds(31), "{took:?}");
    let log = log(&stage).await;
    assert!(log.contains("c1 Ran: done") && log.contains("c2 Ran: done"), "{log}");
    assert!(log.contains("ended: Interrupted, 1 rounds"), "{log}");
    assert_eq!(player.calls_made(), 1, "the model is not asked again");
}

#[tokio::test(start_paused = true)]
async fn a_drain_has_a_limit() {
    let player = Player::new([held("on and on")]);
    let stage = stage(&player);
    let _actor = begun(&stage).await;
    let took = drain(&stage, seconds(20)).await;
    assert!(took >= seconds(20) && took < seconds(21), "{took:?}");
    assert!(log(&stage).await.contains("ended: Interrupted"));
}

#[tokio::test(start_paused = true)]
async fn many_sessions_end_in_the_time_of_one() {
    let mut times = Vec::new();
    for count in [1, 1000] {
        let store = Lazy::new(Arc::new(MemoryStore::new()));
        let player = Player::new((0..count).map(|_| held("on and on")));
        let lazy = store.clone();
        let stage = stage_with(&player, |options| options.store = lazy);
        let mut actors = Vec::new();
        for _ in 0..count {
            actors.push(begun(&stage).await);
        }
        store.wait_ms.store(1_000, Ordering::Relaxed);
        let since = Instant::now();
        stage.engine.shutdown().await;
        times.push(since.elapsed());
        assert_eq!(stage.engine.live().len(), 0);
    }
    assert!(times[1] <= times[0] + seconds(1), "{times:?}");
}
