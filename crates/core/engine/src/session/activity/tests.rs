//! What excludes each other, and the watchdog.

use std::future::pending;
use std::task::Context;

use vocab::{Json, PeerId, RetryPolicy};

use super::*;
use crate::outbox::Slow;
use crate::session::turn::TurnRules;

const STALL: Duration = Duration::from_millis(vocab::STALL_MS_DEFAULT);

fn turn() -> Turn {
    let rules = TurnRules {
        max_iterations: 1,
        retry: RetryPolicy::default(),
        compact_on_overflow: false,
        read: |text| Ok(Json::trusted(text)),
    };
    Turn::new("t".into(), "m".into(), rules)
}

fn summarising() -> Summarising {
    let (reason, trace) = (CompactReason::Manual, Arc::default());
    Summarising { job: Box::pin(pending()), reason, model: "m".into(), trace, meanwhile: Vec::new() }
}

fn asker() -> AfterCompaction {
    AfterCompaction::Answer(CompactionAsker {
        outbox: Outbox::new(PeerId(1), Slow::Wait),
        tag: Tag(1),
        by: None,
        slash: false,
    })
}

fn stalls(activity: &mut Activity, is_awaited: bool) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    activity.poll_watchdog(STALL, &mut context).is_ready() && activity.is_stalled(is_awaited, STALL, &mut context)
}

#[tokio::test(start_paused = true)]
async fn without_a_turn_nothing_waits_and_nothing_is_wanted() {
    let mut activity = Activity::default();
    activity.wait(TurnWaits::Host { since: Instant::now() });
    assert!(matches!(activity.waiting(), TurnWaits::Nothing) && activity.is_idle());
    assert!(activity.with_turn(|_, _| ()).is_none() && !activity.end_turn());
    activity.compact(summarising(), AfterCompaction::Turn(BeforeCall::CallModel));
    assert!(activity.is_idle(), "a turn that is gone makes no room");
}

#[tokio::test(start_paused = true)]
async fn a_turn_begins_waits_and_ends() {
    let mut activity = Activity::default();
    activity.begin_turn(turn());
    assert!(activity.has_effects() && activity.unsettled && !activity.is_idle());
    assert_eq!(activity.take_effects().len(), 1);
    activity.wait(TurnWaits::Host { since: Instant::now() });
    assert!(activity.stop_waiting_if(|waiting| matches!(waiting, TurnWaits::Retry(_))).is_none());
    assert!(matches!(activity.waiting(), TurnWaits::Host { .. }), "what is not meant is not dropped");
    assert!(matches!(activity.stop_waiting(), TurnWaits::Host { .. }));
    assert!(activity.end_turn() && activity.is_idle() && activity.turn_id().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_compaction_is_the_turns_or_of_its_own() {
    let mut activity = Activity::default();
    activity.compact(summarising(), asker());
    assert!(activity.is_compacting() && activity.turn().is_none());
    assert!(matches!(activity.end_compaction(), Some((_, AfterCompaction::Answer(_)))));
    assert!(activity.is_idle() && activity.end_compaction().is_none());

    activity.begin_turn(turn());
    activity.compact(summarising(), AfterCompaction::Turn(BeforeCall::ResumeTurn));
    assert!(activity.is_compacting() && activity.summarising().is_some());
    let ended = activity.end_compaction();
    assert!(matches!(ended, Some((_, AfterCompaction::Turn(BeforeCall::ResumeTurn)))));
    assert!(activity.turn().is_some(), "the turn goes on");
    assert!(activity.take_undo().is_none() && activity.turn().is_some(), "and nothing else takes it away");
}

#[tokio::test(start_paused = true)]
async fn the_next_compaction_comes_when_nothing_stands_before_it() {
    let mut activity = Activity::default();
    activity.begin_turn(turn());
    let (outbox, tag, instructions) = (Outbox::new(PeerId(1), Slow::Wait), Tag(1), None);
    activity.next = Some(NextCompaction { outbox, tag, by: None, instructions });
    assert!(!activity.is_compaction_next());
    activity.end_turn();
    assert!(activity.is_compaction_next());
}

#[tokio::test(start_paused = true)]
async fn the_watchdog_bites_who_stands_still_and_nobody_else() {
    let mut activity = Activity::default();
    tokio::time::advance(STALL * 2).await;
    assert!(!stalls(&mut activity, false), "nothing runs");
    activity.begin_turn(turn());
    assert!(!stalls(&mut activity, false), "it has just begun");
    tokio::time::advance(STALL / 2).await;
    activity.moved();
    tokio::time::advance(STALL / 2).await;
    assert!(!stalls(&mut activity, false), "it moved in between");
    tokio::time::advance(STALL).await;
    assert!(!stalls(&mut activity, true), "what it waits for has a clock, or is a person");
    tokio::time::advance(STALL).await;
    assert!(stalls(&mut activity, false));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_the_end_is_told() {
    let mut activity = Activity::default();
    assert!(!activity.is_ending());
    let (stopped, done) = oneshot::channel();
    activity.end(stopped);
    assert!(activity.is_ending());
    activity.tell_ended();
    assert!(done.await.is_ok());
}
