//! The time that a message has: it is the message's, and not its sender's.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use testkit::Stage;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::continuing::{faulty, log_from, on_with, resume};
use crate::recovery::life;
use crate::support::*;

async fn send(actor: &mut Actor, text: &str, limit_ms: Option<u64>) -> Tag {
    let verb = SessionVerb::Prompt { parts: vec![Part::text(text)], delivery: Delivery::Policy };
    actor.send_with(Verb::Session(verb), |command| command.limit_ms = limit_ms).await
}

#[tokio::test(start_paused = true)]
async fn it_holds_for_what_runs_and_for_what_waits_when_the_sender_is_gone() {
    let stage = stage_with(&Player::new([held("half"), say("fine")]), |_| {});
    let mut actor = stage.open().await;
    let mut other = stage.actor();
    other.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    for (text, limit_ms) in [("runs", Some(5000)), ("waits in vain", Some(3000)), ("waits", None)] {
        let tag = send(&mut actor, text, limit_ms).await;
        actor.reply(tag).await.unwrap();
    }
    drop(actor);
    let began = tokio::time::Instant::now();
    assert_eq!(other.turn_end().await.stop, Stop::Interrupted);
    assert!(began.elapsed() <= Duration::from_secs(5), "{:?}", began.elapsed());
    other.settle().await;
    expect![[r#"
        opened m1 danger-full-access
        t1 started
          takes item1
          user (Prompt): runs
          item2 waits (Policy): waits in vain
          item3 waits (Policy): waits
          item2 Cancelled
          assistant: half (cut by an interrupt)
        t1 cut: TimedOut
        t1 ended: Interrupted, 0 rounds
        t2 started
          item3 Consumed
          user (Prompt): waits
          assistant: fine (Stop)
        t2 ended: EndTurn, 0 rounds
    "#]]
    .assert_eq(&log(&stage).await);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_ends_in_time_leaves_no_limit_to_the_next() {
    let slow = vec![text("slow"), Step::Wait(10_000), done(Finish::Stop)];
    let stage = stage_with(&Player::new([say("quick"), slow]), |_| {});
    let mut actor = stage.open().await;
    for (text, limit_ms) in [("a", Some(5000)), ("b", None)] {
        send(&mut actor, text, limit_ms).await;
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn, "{text}");
    }
}

/// A process that ends while the message's turn runs and another message waits.
fn cut_off(store: &Arc<FaultyStore>, limit_ms: u64) {
    life(store, async || {
        let stage = on_with(store, &Player::new([held("half a wo")]), "ask1", |_| {});
        let mut actor = stage.open().await;
        send(&mut actor, "go", Some(limit_ms)).await;
        text_of(&mut actor, "half a wo").await;
        let tag = send(&mut actor, "later", Some(limit_ms - 1000)).await;
        actor.reply(tag).await.unwrap();
    });
}

/// The next process, so much later.
fn after(store: &Arc<FaultyStore>, player: &Arc<Player>, ms: i64) -> Stage {
    let store = store.clone();
    stage_with(player, |options| {
        options.clock.jump(ms);
        options.store = store;
        options.mode = Mode::Prompt;
        options.tune = Box::new(|settings| settings.on_restart = OnRestart::Continue);
    })
}

#[test]
fn a_turn_that_goes_on_after_a_restart_has_the_time_that_is_left() {
    let store = faulty();
    cut_off(&store, 60_000);
    life(&store, async || {
        let stage = after(&store, &Player::new([held("again")]), 50_000);
        let began = tokio::time::Instant::now();
        let (mut actor, opened) = resume(&stage).await;
        assert_eq!(opened.state.turn, Some("t1".into()));
        assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
        assert!((9..=10).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
        expect![[r#"
            recovered: the process ended during this turn, which goes on now: the model is asked again
              item2 Cancelled
              assistant: again (cut by an interrupt)
            t1 cut: TimedOut
            t1 ended: Interrupted, 0 rounds
        "#]]
        .assert_eq(&log_from(&stage, "recovered").await);
    });
}

#[test]
fn what_is_late_by_the_time_of_the_restart_does_not_go_on() {
    let store = faulty();
    cut_off(&store, 5000);
    life(&store, async || {
        let stage = after(&store, &Player::new([]), 10_000);
        let (mut actor, _) = resume(&stage).await;
        actor.settle().await;
        expect![[r#"
            opened m1 prompt
            t1 started
              takes item1
              user (Prompt): go
              item2 waits (Policy): later
            t1 cut: TimedOut
            t1 ended: Interrupted, 0 rounds
              item2 Cancelled
        "#]]
        .assert_eq(&log(&stage).await);
    });
}

/// Whoever steers a turn wants it to the end of their own time, in the next process, too.
#[test]
fn who_comes_into_a_turn_later_gives_it_their_time() {
    // The time of the steering, and for how long the next process, 70 s later, goes on; the turn itself had 60 s.
    for (limit_ms, goes_on_s) in [(None, Some(300)), (Some(100_000), Some(30)), (Some(50_000), None)] {
        let store = faulty();
        life(&store, async || {
            let plays = [calls(&[("look", r#"{"slow":1}"#)]), held("half")];
            let stage = on_with(&store, &Player::new(plays), "ask1", |_| {});
            let mut actor = stage.open().await;
            send(&mut actor, "go", Some(60_000)).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            let verb = SessionVerb::Prompt { parts: vec![Part::text("more")], delivery: Delivery::Steer };
            actor.send_with(Verb::Session(verb), |command| command.limit_ms = limit_ms).await;
            text_of(&mut actor, "half").await;
            let is_cut = tokio::time::timeout(Duration::from_secs(35), actor.turn_end()).await.is_ok();
            assert_eq!(is_cut, goes_on_s.is_none(), "{limit_ms:?}");
        });
        if goes_on_s.is_none() {
            continue;
        }
        life(&store, async || {
            let stage = after(&store, &Player::new([held("again")]), 70_000);
            let began = tokio::time::Instant::now();
            let (mut actor, _) = resume(&stage).await;
            let patience = Duration::from_secs(300);
            let _ = tokio::time::timeout(patience, actor.turn_end()).await;
            assert_eq!(Some(began.elapsed().as_secs_f64().round() as u64), goes_on_s, "{limit_ms:?}");
        });
    }
}
