//! Steering that its turn takes, and steering that comes too late where none may wait for the next turn.

use expect_test::expect;
use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

async fn strict(plays: Vec<Play>) -> (Stage, Actor) {
    strict_with(plays, |_| {}).await
}
async fn strict_with(plays: Vec<Play>, tune: impl FnOnce(&mut Settings) + 'static) -> (Stage, Actor) {
    let stage = stage_with(&Player::new(plays), |options| {
        options.tune = Box::new(|settings| {
            settings.lane.late_steer = LateSteer::Dropped;
            tune(settings);
        });
    });
    let actor = stage.open().await;
    (stage, actor)
}

fn slow_words() -> Play {
    vec![text("w"), Step::Wait(1000), text("x"), done(Finish::Stop)]
}
fn slow_call() -> Play {
    calls(&[("look", r#"{"slow":1}"#)])
}

async fn running_call(actor: &mut Actor) {
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
}
async fn settled(actor: &mut Actor) {
    actor.until(|event| *event == Event::Settled).await;
}

#[tokio::test(start_paused = true)]
async fn steering_during_a_call_is_the_next_rounds_message() {
    let (stage, mut actor) = strict(vec![slow_call(), say("turned")]).await;
    actor.prompt("go").await;
    running_call(&mut actor).await;
    let tag = actor.deliver("left", Delivery::Steer).await;
    assert!(matches!(actor.reply(tag).await, Ok(Reply::Waiting { .. })));
    settled(&mut actor).await;
    expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant:  [c1 look] (ToolUse)
          c1 look starts
          item2 waits (Steer): left
          c1 Ran: done
          item2 Consumed
          user (Steer): left
          assistant: turned (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]]
    .assert_eq(&log(&stage).await);
}

#[tokio::test(start_paused = true)]
async fn steering_during_the_last_reply_is_dropped_and_told_before_the_next_turn() {
    let (stage, mut actor) = strict(vec![slow_words()]).await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    let steer = actor.deliver("left", Delivery::Steer).await;
    actor.deliver("next", Delivery::Enqueue).await;
    actor.deliver("right", Delivery::Steer).await;
    settled(&mut actor).await;
    assert_eq!(
        order(&actor),
        [
            "t1 started",
            "user go",
            "t1 calls",
            "reply",
            "t1 ended",
            "item2 Dropped",
            "item4 Dropped",
            "t2 started",
            "item3 Consumed",
            "user next",
            "t2 calls",
            "reply",
            "t2 ended",
            "settled"
        ]
    );
    let told = |told: &&Told| matches!(&told.event, Event::Queue(QueueEvent::Ended { tag, end: ItemEnd::Dropped, .. }) if *tag == steer);
    assert_eq!(actor.told.iter().filter(told).count(), 1);
    let log = log(&stage).await;
    assert!(log.contains("t1 ended: EndTurn, 0 rounds\n  item2 Dropped\n  item4 Dropped\nt2 started"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn it_is_dropped_when_the_turn_is_interrupted_or_fails() {
    for fails in [false, true] {
        let play = if fails { vec![text("w"), Step::Wait(1000), fail_step(FaultKind::Auth)] } else { held("w") };
        let (_stage, mut actor) = strict(vec![play]).await;
        actor.prompt("go").await;
        text_of(&mut actor, "w").await;
        actor.deliver("left", Delivery::Steer).await;
        if !fails {
            actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
        }
        settled(&mut actor).await;
        let order = order(&actor);
        assert_eq!(order[order.len() - 3..], ["t1 ended", "item2 Dropped", "settled"], "fails: {fails}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_turn_it_is_refused_and_leaves_no_trace() {
    let (stage, mut actor) = strict(vec![]).await;
    for turns in 0..2 {
        let tag = actor.deliver("left", Delivery::Steer).await;
        let fault = actor.reply(tag).await.unwrap_err();
        assert_eq!((fault.kind, &*fault.message), (FaultKind::NothingToDo, "no turn is running"));
        assert!(!fault.hints.is_empty());
        if turns == 0 {
            actor.prompt("go").await;
            settled(&mut actor).await;
        }
    }
    assert!(!log(&stage).await.contains("left"));
}

#[tokio::test(start_paused = true)]
async fn the_last_round_that_is_allowed_takes_none() {
    for steer_point in [SteerPoint::Wait, SteerPoint::Immediate] {
        let slow = r#"{"slow":1}"#;
        let (stage, mut actor) = strict_with(vec![calls(&[("look", slow), ("look", slow)])], move |settings| {
            settings.max_iterations = 1;
            settings.lane.steer_point = steer_point;
        })
        .await;
        actor.prompt("go").await;
        running_call(&mut actor).await;
        actor.deliver("left", Delivery::Steer).await;
        settled(&mut actor).await;
        let log = log(&stage).await;
        let end = "  c2 Ran: done\nt1 ended: MaxIterations, 1 rounds\n  item2 Dropped\n";
        assert!(log.ends_with(end), "{steer_point:?}: no call is skipped for it\n{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn follow_ups_join_all_the_same() {
    let (_stage, mut actor) = strict(vec![slow_words(), slow_call()]).await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    actor.deliver("left", Delivery::Steer).await;
    actor.deliver("more", Delivery::FollowUp).await;
    settled(&mut actor).await;
    let users: Vec<_> = order(&actor).into_iter().filter(|word| word.starts_with("user")).collect();
    assert_eq!(users, ["user go", "user more", "user left"], "the round that the follow-up began takes the steering");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_drops_and_tells_it() {
    let (stage, mut actor) = strict(vec![held("w")]).await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    actor.deliver("left", Delivery::Steer).await;
    actor.deliver("next", Delivery::Enqueue).await;
    actor.settle().await;
    stage.engine.shutdown().await;
    actor.settle().await;
    assert!(order(&actor).contains(&"item2 Dropped".to_owned()), "{:?}", order(&actor));
    let log = log(&stage).await;
    assert!(log.contains("item2 Dropped") && !log.contains("item3 Consumed"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_died_dropped_it() {
    let (stage, mut actor) = strict(vec![held("w")]).await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    actor.deliver("left", Delivery::Steer).await;
    actor.settle().await;
    // What another process finds: the log as far as it is written.
    let entries = stage.store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries;
    let again = stage_with(&Player::new([]), |options| {
        options.tune = Box::new(|settings| settings.lane.late_steer = LateSteer::Dropped);
    });
    let new = NewSession {
        id: "old".into(),
        workspace: again.workspace().into(),
        model: "m1".into(),
        mode: Mode::DangerFullAccess,
        at_ms: 0,
        parent: None,
    };
    let lease = again.store.create(new);
    again.store.append(&lease, entries, Durability::Now).await.unwrap();
    again.store.release(lease).await.unwrap();
    let mut actor = again.actor();
    actor.open(Open::new(Which::Id("old".into()))).await.unwrap();
    actor.prompt("on").await;
    settled(&mut actor).await;
    let log = log_of(&again, "old").await;
    assert!(log.contains("item2 Dropped\nt1 started") && !log.contains("(Steer): left\n  assistant"), "{log}");
}
