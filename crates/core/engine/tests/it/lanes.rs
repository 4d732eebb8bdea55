//! Messages that wait.

use expect_test::{Expect, expect};
use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

/// A session whose first turn is held after the word `w`, until the second play says how it goes on.
async fn busy(plays: Vec<Play>, tune: impl FnOnce(&mut LanePolicy) + 'static) -> (Stage, Actor) {
    let player = Player::new(plays);
    let stage = stage_with(&player, |options| options.tune = Box::new(|settings| tune(&mut settings.lane)));
    let mut actor = stage.open().await;
    actor.prompt("first").await;
    text_of(&mut actor, "w").await;
    (stage, actor)
}

fn slow_words() -> Play {
    vec![text("w"), Step::Wait(1000), text("x"), done(Finish::Stop)]
}

async fn rest(stage: &Stage, actor: &mut Actor, want: Expect) {
    tokio::time::sleep(std::time::Duration::from_secs(100)).await;
    actor.settle().await;
    want.assert_eq(&log(stage).await);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_does_not_wait_is_refused_and_leaves_no_trace() {
    let (stage, mut actor) = busy(vec![slow_words()], |_| {}).await;
    let tag = actor.prompt("second").await;
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::TurnInProgress);
    rest(
        &stage,
        &mut actor,
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): first
          assistant: wx (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_steer_does_not_cut_the_reply_and_is_the_next_user_message() {
    let (stage, mut actor) = busy(vec![slow_words(), say("turned")], |_| {}).await;
    actor.deliver("left", Delivery::Steer).await;
    rest(
        &stage,
        &mut actor,
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): first
          item2 waits (Steer): left
          assistant: wx (Stop)
          item2 Consumed
          user (Steer): left
          assistant: turned (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

async fn batch(point: SteerPoint, want: Expect) {
    let slow = r#"{"slow":1}"#;
    let play = calls(&[("look", slow), ("look", slow), ("look", slow)]);
    let (stage, mut actor) =
        busy(vec![[vec![text("w")], play].into_iter().flatten().collect(), say("turned")], move |lane| {
            lane.steer_point = point;
        })
        .await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    actor.deliver("left", Delivery::Steer).await;
    rest(&stage, &mut actor, want).await;
}

#[tokio::test(start_paused = true)]
async fn a_steer_over_a_batch_waits_for_all_three() {
    batch(
        SteerPoint::Wait,
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): first
          assistant: w [c1 look] [c2 look] [c3 look] (ToolUse)
          c1 look starts
          item2 waits (Steer): left
          c1 Ran: done
          c2 look starts
          c2 Ran: done
          c3 look starts
          c3 Ran: done
          item2 Consumed
          user (Steer): left
          assistant: turned (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_immediate_steer_skips_the_rest_of_the_batch() {
    batch(
        SteerPoint::Immediate,
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): first
          assistant: w [c1 look] [c2 look] [c3 look] (ToolUse)
          c1 look starts
          item2 waits (Steer): left
          c1 Ran: done
          c2 look starts
          c2 Skipped: Skipped due to queued user message.
          c3 look starts
          c3 Skipped: Skipped due to queued user message.
          item2 Consumed
          user (Steer): left
          assistant: turned (Stop)
        t1 ended: EndTurn, 1 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_steer_waits_for_the_next_turn() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    actor.deliver("later", Delivery::Steer).await;
    actor.settle().await;
    actor.prompt("now").await;
    rest(
        &stage,
        &mut actor,
        expect![[r#"
        opened m1 danger-full-access
          item1 waits (Steer): later
        t1 started
          user (Prompt): now
          item1 Consumed
          user (Steer): later
          assistant: ok (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

async fn follow_ups(drain: Drain, want: Expect) {
    let (stage, mut actor) = busy(vec![slow_words()], move |lane| lane.follow_up_drain = drain).await;
    actor.deliver("f1", Delivery::FollowUp).await;
    actor.deliver("f2", Delivery::FollowUp).await;
    actor.deliver("steer", Delivery::Steer).await;
    rest(&stage, &mut actor, want).await;
}

#[tokio::test(start_paused = true)]
async fn a_steer_goes_before_follow_ups_that_come_one_at_a_time() {
    follow_ups(
        Drain::OneAtATime,
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): first
          item2 waits (FollowUp): f1
          item3 waits (FollowUp): f2
          item4 waits (Steer): steer
          assistant: wx (Stop)
          item4 Consumed
          user (Steer): steer
          assistant: ok (Stop)
          item2 Consumed
          user (FollowUp): f1
          assistant: ok (Stop)
          item3 Consumed
          user (FollowUp): f2
          assistant: ok (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_steer_goes_before_follow_ups_that_come_together() {
    follow_ups(
        Drain::All,
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): first
          item2 waits (FollowUp): f1
          item3 waits (FollowUp): f2
          item4 waits (Steer): steer
          assistant: wx (Stop)
          item4 Consumed
          user (Steer): steer
          assistant: ok (Stop)
          item2 Consumed
          user (FollowUp): f1
          item3 Consumed
          user (FollowUp): f2
          assistant: ok (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_cancels_what_was_queued_and_keeps_what_was_enqueued() {
    let (stage, mut actor) = busy(vec![held("w")], |_| {}).await;
    actor.deliver("queued", Delivery::Queue).await;
    actor.deliver("enqueued", Delivery::Enqueue).await;
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    rest(
        &stage,
        &mut actor,
        expect![[r#"
            opened m1 danger-full-access
            t1 started
              user (Prompt): first
              item2 waits (Queue): queued
              item3 waits (Enqueue): enqueued
              item2 Cancelled
              assistant: w (cut by an interrupt)
            t1 cut: Asked
            t1 ended: Interrupted, 0 rounds
            t2 started
              item3 Consumed
              user (Prompt): enqueued
              assistant: ok (Stop)
            t2 ended: EndTurn, 0 rounds
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_message_is_answered_once_and_then_told_to_have_ended() {
    let (_stage, mut actor) = busy(vec![slow_words()], |_| {}).await;
    let tag = actor.deliver("second", Delivery::Enqueue).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    actor.settle().await;
    let replies = |told: &&Told| matches!(&told.event, Event::Reply { tag: got, .. } if *got == tag);
    assert_eq!(actor.told.iter().filter(replies).count(), 1);
    let ended = |told: &&Told| matches!(&told.event, Event::Queue(QueueEvent::Ended { tag: got, end: ItemEnd::Consumed, .. }) if *got == tag);
    assert_eq!(actor.told.iter().filter(ended).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn items_are_taken_back_and_cleared_and_never_run() {
    let (stage, mut actor) = busy(vec![slow_words()], |_| {}).await;
    for name in ["a", "b", "c"] {
        actor.deliver(name, Delivery::Enqueue).await;
    }
    ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack("item3".into())))).await.unwrap();
    let unknown = ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack("item3".into())))).await;
    assert_eq!(unknown.unwrap_err().kind, FaultKind::NotFound);
    let Reply::Queue(left) = ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::Clear))).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(left.len(), 2);
    rest(
        &stage,
        &mut actor,
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): first
          item2 waits (Enqueue): a
          item3 waits (Enqueue): b
          item4 waits (Enqueue): c
          item3 Cancelled
          item2 Cancelled
          item4 Cancelled
          assistant: wx (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

/// Three messages under a policy while the first turn runs.
async fn policy(mode: LaneMode, want: Expect) {
    let (stage, mut actor) = busy(vec![slow_words()], move |lane| {
        lane.mode = mode;
        lane.coalesce = Coalesce::Always;
    })
    .await;
    for name in ["a", "b", "c"] {
        actor.deliver(name, Delivery::Policy).await;
    }
    rest(&stage, &mut actor, want).await;
}

#[tokio::test(start_paused = true)]
async fn collect_makes_one_message_of_what_waited() {
    policy(
        LaneMode::Collect,
        expect![[r#"
            opened m1 danger-full-access
            t1 started
              user (Prompt): first
              item2 waits (Policy): a
              item3 waits (Policy): b
              item4 waits (Policy): c
              assistant: wx (Stop)
            t1 ended: EndTurn, 0 rounds
            t2 started
              takes item2 item3 item4
              item2 Consumed
              item3 Consumed
              item4 Consumed
              user (Prompt): a

            b

            c
              assistant: ok (Stop)
            t2 ended: EndTurn, 0 rounds
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn followup_runs_each_in_a_turn_of_its_own() {
    policy(
        LaneMode::Followup,
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): first
          item2 waits (Policy): a
          item3 waits (Policy): b
          item4 waits (Policy): c
          assistant: wx (Stop)
        t1 ended: EndTurn, 0 rounds
        t2 started
          item2 Consumed
          user (Prompt): a
          assistant: ok (Stop)
        t2 ended: EndTurn, 0 rounds
        t3 started
          item3 Consumed
          user (Prompt): b
          assistant: ok (Stop)
        t3 ended: EndTurn, 0 rounds
        t4 started
          item4 Consumed
          user (Prompt): c
          assistant: ok (Stop)
        t4 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn steer_joins_the_running_turn() {
    policy(
        LaneMode::Steer,
        expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): first
          item2 waits (Policy): a
          item3 waits (Policy): b
          item4 waits (Policy): c
          assistant: wx (Stop)
          item2 Consumed
          user (Steer): a
          assistant: ok (Stop)
          item3 Consumed
          user (Steer): b
          assistant: ok (Stop)
          item4 Consumed
          user (Steer): c
          assistant: ok (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn interrupt_runs_the_newest_at_once() {
    policy(
        LaneMode::Interrupt,
        expect![[r#"
            opened m1 danger-full-access
            t1 started
              user (Prompt): first
              item2 waits (Policy): a
              assistant: w (cut by an interrupt)
            t1 cut: Newer for item2
            t1 ended: Interrupted, 0 rounds
            t2 started
              item2 Consumed
              user (Prompt): a
              item3 waits (Policy): b
            t2 cut: Newer for item3
            t2 ended: Interrupted, 0 rounds
            t3 started
              item3 Consumed
              user (Prompt): b
              item4 waits (Policy): c
            t3 cut: Newer for item4
            t3 ended: Interrupted, 0 rounds
            t4 started
              item4 Consumed
              user (Prompt): c
              assistant: ok (Stop)
            t4 ended: EndTurn, 0 rounds
        "#]],
    )
    .await;
}
