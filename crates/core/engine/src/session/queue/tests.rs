//! One table per promise: what is offered, what happens, what is left.

mod late_steering;
mod places;
mod sim;

use vocab::{
    Coalesce, Delivery, Drain, FaultKind, Image, Item, ItemEnd, LaneMode, LanePolicy, LateSteer, Overflow, Part,
    PeerId, Principal, SteerPoint, Tag,
};

use super::*;

fn item(id: &str, delivery: Delivery) -> Item {
    Item {
        id: id.into(),
        parts: vec![Part::text(format!("text of {id}"))],
        delivery,
        at_ms: 0,
        sender: Some((PeerId(1), Tag(1))),
        by: None,
        until_ms: None,
    }
}

fn lane(mode: LaneMode) -> Queue {
    Queue::new(LanePolicy { mode, ..LanePolicy::default() })
}

/// A lane with a turn running.
fn busy(policy: LanePolicy) -> Queue {
    let mut lane = Queue::new(policy);
    assert_eq!(show(&lane.offer(item("t0", Delivery::RejectIfBusy), 0)), "start t0");
    lane
}

/// Steering that comes too late is dropped.
fn strict() -> LanePolicy {
    LanePolicy { late_steer: LateSteer::Dropped, ..LanePolicy::default() }
}

/// Acts as one line a person can compare.
fn show(acts: &[QueueAct]) -> String {
    let ids = |items: &[Item]| items.iter().map(|item| item.id.to_string()).collect::<Vec<_>>().join("+");
    let act = |act: &QueueAct| match act {
        QueueAct::Start { items, note: None } => format!("start {}", ids(items)),
        QueueAct::Start { items, note: Some(note) } => format!("start {} [{note}]", ids(items)),
        QueueAct::Waiting { id, position } => format!("wait {id}@{position}"),
        QueueAct::Refuse { item, fault } => format!("refuse {} {:?}", item.id, fault.kind),
        QueueAct::Settle { item, end, why } => format!("{end:?} {} ({why:?})", item.id),
        QueueAct::InterruptTurn { item: None } => "interrupt".into(),
        QueueAct::InterruptTurn { item: Some(item) } => format!("interrupt for {item}"),
        QueueAct::Changed => "changed".into(),
    };
    acts.iter().map(act).collect::<Vec<_>>().join(", ")
}

fn ids(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item.id.as_str()).collect()
}
fn listed(lane: &Queue) -> Vec<&str> {
    lane.list().map(|item| item.id.as_str()).collect()
}

#[test]
fn an_idle_lane_starts_whatever_can_be_a_turn_and_keeps_the_rest() {
    for (delivery, then) in [
        (Delivery::RejectIfBusy, "start a"),
        (Delivery::Enqueue, "start a"),
        (Delivery::Queue, "start a"),
        (Delivery::Policy, "start a"),
        (Delivery::Steer, "wait a@1, changed"),
        (Delivery::FollowUp, "wait a@1, changed"),
    ] {
        let mut lane = lane(LaneMode::Collect);
        assert_eq!(show(&lane.offer(item("a", delivery), 0)), then, "{delivery:?}");
    }
}

#[test]
fn a_busy_lane_refuses_only_who_would_not_wait() {
    for (delivery, then) in [
        (Delivery::RejectIfBusy, "refuse a TurnInProgress"),
        (Delivery::Enqueue, "wait a@1, changed"),
        (Delivery::Queue, "wait a@1, changed"),
        (Delivery::Policy, "wait a@1, changed"),
        (Delivery::Steer, "wait a@1, changed"),
        (Delivery::FollowUp, "wait a@1, changed"),
    ] {
        let mut lane = busy(LanePolicy::default());
        assert_eq!(show(&lane.offer(item("a", delivery), 0)), then, "{delivery:?}");
        assert!(lane.is_busy());
    }
}

#[test]
fn each_mode_treats_two_messages_for_a_busy_lane_in_its_own_way() {
    // mode, how the turn ends; acts of the second offer, acts of the turn's end, and what waits then.
    use TurnOver::*;
    let wait = "wait b@2, changed";
    for (mode, how, second, end, left) in [
        (LaneMode::Collect, Completed, wait, "start a, changed", vec!["b"]),
        (LaneMode::Followup, Interrupted, wait, "start a, changed", vec!["b"]),
        (LaneMode::Steer, Failed, wait, "Superseded a (Newer), start b, changed", vec![]),
        (LaneMode::Steer, Interrupted, wait, "Superseded a (Newer), start b, changed", vec![]),
        (LaneMode::SteerBacklog, Failed, wait, "start a, changed", vec!["b"]),
        (LaneMode::Interrupt, Interrupted, "Superseded a (Newer), wait b@1, changed", "start b, changed", vec![]),
    ] {
        let mut lane = busy(LanePolicy { mode, ..LanePolicy::default() });
        lane.offer(item("a", Delivery::Policy), 0);
        assert_eq!(show(&lane.offer(item("b", Delivery::Policy), 0)), second, "{mode:?}");
        assert_eq!(show(&lane.turn_ended(how, 0)), end, "{mode:?} {how:?}");
        assert_eq!(listed(&lane), left, "{mode:?} {how:?}");
    }
}

#[test]
fn an_interrupting_message_stops_the_turn_once_and_overtakes_other_deliveries() {
    let mut lane = busy(LanePolicy { mode: LaneMode::Interrupt, ..LanePolicy::default() });
    lane.offer(item("e", Delivery::Enqueue), 0);
    lane.offer(item("q", Delivery::Queue), 0);
    assert_eq!(show(&lane.offer(item("a", Delivery::Policy), 0)), "interrupt for a, wait a@1, changed");
    assert_eq!(show(&lane.offer(item("b", Delivery::Policy), 0)), "Superseded a (Newer), wait b@1, changed");
    // The lane itself stopped the turn, nobody cancelled: the queued prompt of the other dialect stays.
    assert_eq!(show(&lane.turn_ended(TurnOver::Interrupted, 0)), "start b, changed");
    assert_eq!(listed(&lane), ["e", "q"]);
}

#[test]
fn missed_backlog_gets_turns_of_its_own_and_steers_nobody() {
    let mut lane = busy(LanePolicy { mode: LaneMode::SteerBacklog, steer_drain: Drain::All, ..LanePolicy::default() });
    lane.offer(item("a", Delivery::Policy), 0);
    lane.offer(item("b", Delivery::Policy), 0);
    assert_eq!(show(&lane.turn_ended(TurnOver::Failed, 0)), "start a, changed");
    lane.offer(item("c", Delivery::Policy), 0);
    assert_eq!(ids(&lane.take_steers()), ["c"]);
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 0)), "start b, changed");
}

#[test]
fn coalescing_makes_one_turn_of_all_whoever_sent_them() {
    for (coalesce, debounce_ms, first) in [
        (Coalesce::Auto, 0, "start a, changed"),
        (Coalesce::Auto, 5, "start a+b+c, changed"),
        (Coalesce::Always, 0, "start a+b+c, changed"),
        (Coalesce::Never, 5, "start a, changed"),
    ] {
        let mut lane = busy(LanePolicy { coalesce, debounce_ms, ..LanePolicy::default() });
        for (id, peer) in [("a", 1), ("b", 2), ("c", 1)] {
            lane.offer(Item { sender: Some((PeerId(peer), Tag(1))), ..item(id, Delivery::Policy) }, 0);
        }
        lane.offer(item("d", Delivery::Enqueue), 0);
        let acts = lane.turn_ended(TurnOver::Completed, 5);
        assert_eq!(show(&acts), first, "{coalesce:?} {debounce_ms}");
    }
}

#[test]
fn joined_items_keep_every_text_and_attachment() {
    let image = Part::Image(Image { mime: "image/png".into(), base64: "AAAA".into() });
    let mut first = item("a", Delivery::Policy);
    first.parts.push(image.clone());
    let second = item("b", Delivery::Policy);
    assert_eq!(
        opening(&[first.clone(), second], Some("note")),
        [Part::text("note\n\n"), Part::text("text of a\n\ntext of b"), image.clone()]
    );
    assert_eq!(opening(&[first.clone()], None), first.parts);
}

#[test]
fn a_debounce_counts_from_the_last_message_and_holds_only_policy_items() {
    let mut lane = busy(LanePolicy { debounce_ms: 100, coalesce: Coalesce::Never, ..LanePolicy::default() });
    lane.offer(item("a", Delivery::Policy), 10);
    lane.offer(item("b", Delivery::Policy), 50);
    assert_eq!(lane.due(), None, "a busy lane waits for its turn, not for the clock");
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 60)), "");
    assert_eq!(lane.due(), Some(150));
    assert_eq!(show(&lane.tick(149)), "");
    assert_eq!(show(&lane.offer(item("e", Delivery::Enqueue), 149)), "start e");
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 149)), "");
    assert_eq!(show(&lane.offer(item("c", Delivery::Policy), 149)), "wait c@3, changed");
    assert_eq!(lane.due(), Some(249));
    assert_eq!(show(&lane.tick(249)), "start a, changed");
}

#[test]
fn a_clock_that_runs_backwards_and_a_shorter_debounce_start_what_waits() {
    let policy = LanePolicy { debounce_ms: 1000, coalesce: Coalesce::Never, ..LanePolicy::default() };
    let mut lane = busy(policy);
    lane.offer(item("a", Delivery::Policy), 5000);
    lane.offer(item("b", Delivery::Policy), 5000);
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 5000)), "");
    assert_eq!(show(&lane.tick(4000)), "start a, changed");
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 5000)), "");
    assert_eq!(show(&lane.set_policy(LanePolicy { debounce_ms: 0, ..policy }, 5001)), "start b, changed");
}

#[test]
fn overflow_drops_the_oldest_or_refuses_the_newest_and_counts() {
    let policy = LanePolicy { cap: 2, mode: LaneMode::Followup, ..LanePolicy::default() };
    for (overflow, third, left) in [
        (Overflow::DropOld, "Dropped a (Overflow), wait c@2, changed", ["b", "c"]),
        (Overflow::DropNew, "refuse c QueueFull", ["a", "b"]),
    ] {
        let mut lane = busy(LanePolicy { overflow, ..policy });
        lane.offer(item("a", Delivery::Policy), 0);
        lane.offer(item("b", Delivery::Policy), 0);
        assert_eq!(lane.note().dropped, 0);
        assert_eq!(show(&lane.offer(item("c", Delivery::Policy), 0)), third);
        assert_eq!((listed(&lane), lane.note().dropped), (left.to_vec(), 1));
        lane.offer(item("d", Delivery::Policy), 0);
        assert_eq!(lane.note().dropped, 2);
        for _ in 0..3 {
            lane.turn_ended(TurnOver::Completed, 0);
        }
        lane.offer(item("e", Delivery::Policy), 0);
        assert_eq!(lane.note().dropped, 0, "an idle lane counts anew");
    }
}

#[test]
fn only_policy_items_agreed_to_be_dropped() {
    let mut lane = busy(LanePolicy { cap: 2, ..LanePolicy::default() });
    lane.offer(item("s", Delivery::Steer), 0);
    lane.offer(item("e", Delivery::Enqueue), 0);
    for delivery in [Delivery::Policy, Delivery::Steer, Delivery::FollowUp, Delivery::Enqueue, Delivery::Queue] {
        assert_eq!(show(&lane.offer(item("x", delivery), 0)), "refuse x QueueFull", "{delivery:?}");
    }
    assert_eq!(listed(&lane), ["s", "e"]);
}

#[test]
fn the_hard_bound_holds_whatever_the_cap_says() {
    let mut lane = busy(LanePolicy { cap: usize::MAX, ..LanePolicy::default() });
    for n in 0..WAITING_MAX {
        lane.offer(item(&format!("{n}"), Delivery::Enqueue), 0);
    }
    let acts = lane.offer(item("x", Delivery::Enqueue), 0);
    assert!(matches!(&acts[..], [QueueAct::Refuse { fault, .. }] if fault.kind == FaultKind::QueueFull));
    assert_eq!(lane.list().len(), WAITING_MAX);
}

#[test]
fn the_next_turn_is_told_once_what_was_dropped() {
    let policy = LanePolicy { cap: 1, mode: LaneMode::Followup, summarise: true, ..LanePolicy::default() };
    let mut lane = busy(policy);
    for n in 0..13 {
        let mut long = item(&format!("{n}"), Delivery::Policy);
        long.parts = vec![Part::text(format!("m{n}\n{}", "ä".repeat(200)))];
        lane.offer(long, 0);
    }
    assert_eq!(lane.note().texts.len(), 10);
    assert!(lane.note().texts.iter().all(|text| text.chars().count() == 120 && text.ends_with('…')));
    let acts = lane.turn_ended(TurnOver::Completed, 0);
    let QueueAct::Start { note: Some(note), .. } = &acts[0] else { panic!("{acts:?}") };
    assert!(note.starts_with("12 earlier messages were dropped: m2 ää"), "{note}");
    lane.offer(item("z", Delivery::Policy), 0);
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 0)), "start z, changed");
}

#[test]
fn steering_is_taken_as_told_and_before_follow_ups() {
    for (steer_drain, follow_up_drain, takes) in [
        (Drain::OneAtATime, Drain::OneAtATime, vec![vec!["s1"], vec!["s2"], vec!["f1"], vec!["f2"]]),
        (Drain::All, Drain::All, vec![vec!["s1", "s2"], vec!["f1", "f2"]]),
    ] {
        let mut lane = busy(LanePolicy { steer_drain, follow_up_drain, ..LanePolicy::default() });
        for id in ["f1", "f2"] {
            lane.offer(item(id, Delivery::FollowUp), 0);
        }
        for id in ["s1", "s2"] {
            lane.offer(item(id, Delivery::Steer), 0);
        }
        for take in takes {
            let taken = match lane.has_steer() {
                true => {
                    assert_eq!(ids(&lane.take_follow_ups()), Vec::<&str>::new(), "steering goes first");
                    lane.take_steers()
                }
                false => lane.take_follow_ups(),
            };
            assert_eq!(ids(&taken), take);
        }
        assert_eq!(lane.list().len(), 0);
    }
}

#[test]
fn only_immediate_steering_cuts_a_batch() {
    for (steer_point, cuts) in [(SteerPoint::Wait, false), (SteerPoint::Immediate, true)] {
        let mut lane = busy(LanePolicy { steer_point, ..LanePolicy::default() });
        assert!(!lane.cuts_batch(true));
        lane.offer(item("s", Delivery::Steer), 0);
        assert_eq!((lane.cuts_batch(true), lane.cuts_batch(false)), (cuts, cuts));
        let strict = LanePolicy { steer_point, ..strict() };
        lane.set_policy(strict, 0);
        assert_eq!((lane.cuts_batch(true), lane.cuts_batch(false)), (cuts, false));
    }
}

#[test]
fn an_abort_keeps_steering_and_follow_ups_for_the_next_prompt() {
    let mut lane = busy(LanePolicy::default());
    lane.offer(item("s", Delivery::Steer), 0);
    lane.offer(item("f", Delivery::FollowUp), 0);
    assert_eq!(show(&lane.interrupt()), "interrupt");
    assert!(!lane.has_steer(), "a turn that stops takes no more steering");
    assert_eq!((lane.take_steers(), lane.take_follow_ups()), (vec![], vec![]));
    assert_eq!(show(&lane.turn_ended(TurnOver::Interrupted, 0)), "");
    assert_eq!(show(&lane.offer(item("p", Delivery::RejectIfBusy), 0)), "start p");
    assert_eq!(ids(&lane.take_steers()), ["s"]);
    assert_eq!(ids(&lane.take_follow_ups()), ["f"]);
}

#[test]
fn an_interrupt_cancels_queued_prompts_but_not_enqueued_ones() {
    let mut lane = busy(LanePolicy::default());
    lane.offer(item("q1", Delivery::Queue), 0);
    lane.offer(item("e", Delivery::Enqueue), 0);
    assert_eq!(show(&lane.interrupt()), "Cancelled q1 (Interrupted), changed, interrupt");
    lane.offer(item("q2", Delivery::Queue), 0);
    assert_eq!(show(&lane.turn_ended(TurnOver::Interrupted, 0)), "start e, changed");
    assert_eq!(listed(&lane), ["q2"], "sent after the interrupt, so it runs");
    // A turn that was interrupted from below, without anybody calling `interrupt`.
    assert_eq!(show(&lane.turn_ended(TurnOver::Interrupted, 0)), "Cancelled q2 (Interrupted), changed");
}

#[test]
fn an_interrupt_with_nothing_running_or_a_second_one_does_nothing() {
    let mut lane = lane(LaneMode::Collect);
    assert_eq!(show(&lane.interrupt()), "");
    assert_eq!(show(&lane.turn_ended(TurnOver::Interrupted, 0)), "");
    lane.offer(item("a", Delivery::Enqueue), 0);
    assert_eq!(show(&lane.interrupt()), "interrupt");
    assert_eq!(show(&lane.interrupt()), "");
}

#[test]
fn a_waiting_item_can_be_taken_back_once() {
    let mut lane = busy(LanePolicy::default());
    lane.offer(item("a", Delivery::Enqueue), 0);
    lane.offer(item("b", Delivery::Steer), 0);
    assert_eq!(lane.take_back(&"a".into()).map(|item| item.id), Ok("a".into()));
    assert_eq!(lane.take_back(&"a".into()).unwrap_err().kind, FaultKind::NotFound);
    assert_eq!(ids(&lane.clear()), ["b"]);
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 0)), "");
}

#[test]
fn restored_items_wait_until_a_message_or_a_release_wakes_them() {
    let restored = || {
        let mut lane = lane(LaneMode::Followup);
        let items = [("s", Delivery::Steer), ("a", Delivery::Policy), ("b", Delivery::Enqueue)];
        assert_eq!(lane.restore(items.map(|(id, delivery)| item(id, delivery)).into(), false), []);
        assert_eq!((show(&lane.tick(10)).as_str(), lane.due()), ("", None));
        lane
    };
    assert_eq!(show(&restored().release(10)), "start a, changed");
    assert_eq!(show(&restored().offer(item("c", Delivery::Enqueue), 10)), "start a, wait c@3, changed");
    let mut lane = restored();
    assert_eq!(show(&lane.offer(item("c", Delivery::Steer), 10)), "wait c@4, changed");
    lane.occupy().unwrap();
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 10)), "", "a compaction is no message");
    assert_eq!(show(&lane.offer(item("d", Delivery::RejectIfBusy), 10)), "start a, wait d@4, changed");
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 10)), "start b, changed");
}

#[test]
fn what_would_only_join_a_turn_goes_on_after_a_restart_and_is_not_overtaken() {
    let restored = || {
        let mut lane = lane(LaneMode::Followup);
        let items = [("s", Delivery::Steer), ("f", Delivery::FollowUp), ("b", Delivery::Enqueue)];
        lane.restore(items.map(|(id, delivery)| item(id, delivery)).into(), false);
        lane
    };
    assert_eq!(show(&restored().offer(item("n", Delivery::RejectIfBusy), 0)), "start f, wait n@3, changed");
    assert_eq!(show(&restored().go_on(0)), "start b, changed", "the others join it");
    let mut lane = lane(LaneMode::Followup);
    lane.restore(vec![item("f", Delivery::FollowUp)], false);
    assert_eq!((show(&lane.release(0)).as_str(), show(&lane.go_on(0)).as_str()), ("", "start f, changed"));
    let mut lane = self::lane(LaneMode::Followup);
    lane.restore(vec![item("s", Delivery::Steer)], false);
    assert_eq!(show(&lane.offer(item("n", Delivery::RejectIfBusy), 0)), "start n", "steering joins whatever comes");
}

#[test]
fn a_full_lane_that_rests_is_woken_even_by_a_message_it_refuses() {
    let mut lane = Queue::new(LanePolicy { cap: 1, overflow: Overflow::DropNew, ..LanePolicy::default() });
    lane.restore(vec![item("a", Delivery::Policy)], false);
    assert_eq!(show(&lane.offer(item("b", Delivery::Policy), 0)), "refuse b QueueFull, start a, changed");
}

#[test]
fn a_restore_beyond_the_hard_bound_hands_the_rest_back() {
    let mut lane = lane(LaneMode::Collect);
    let items = (0..WAITING_MAX + 2).map(|n| item(&format!("{n}"), Delivery::Enqueue)).collect();
    assert_eq!(ids(&lane.restore(items, false)), ["1000", "1001"]);
}

#[test]
fn an_occupied_lane_makes_messages_wait() {
    let mut lane = lane(LaneMode::Collect);
    lane.occupy().unwrap();
    assert_eq!(lane.occupy().unwrap_err().kind, FaultKind::TurnInProgress);
    assert_eq!(show(&lane.offer(item("a", Delivery::Enqueue), 0)), "wait a@1, changed");
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 0)), "start a, changed");
}

#[test]
fn what_would_join_a_turn_begins_one_when_the_lane_is_free_again() {
    for delivery in [Delivery::Steer, Delivery::FollowUp] {
        let mut lane = lane(LaneMode::Collect);
        lane.occupy().unwrap();
        assert_eq!(show(&lane.offer(item("a", delivery), 0)), "wait a@1, changed");
        lane.offer(item("b", Delivery::FollowUp), 0);
        assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 0)), "start a, changed");
        assert_eq!(ids(&lane.take_follow_ups()), ["b"]);
    }
}

#[test]
fn what_would_join_a_turn_waits_on_when_it_came_before_or_somebody_stopped_the_rest() {
    let mut idle = lane(LaneMode::Collect);
    idle.offer(item("a", Delivery::FollowUp), 0);
    idle.occupy().unwrap();
    assert_eq!(show(&idle.turn_ended(TurnOver::Completed, 0)), "", "it waits for a message");
    let mut stopped = lane(LaneMode::Collect);
    stopped.occupy().unwrap();
    stopped.offer(item("a", Delivery::FollowUp), 0);
    stopped.interrupt();
    assert_eq!(show(&stopped.turn_ended(TurnOver::Completed, 0)), "");
    stopped.occupy().unwrap();
    assert_eq!(show(&stopped.turn_ended(TurnOver::Completed, 0)), "", "nor does the next one start it");
}

#[test]
fn ends_are_what_the_sender_is_told() {
    let mut lane = busy(LanePolicy { mode: LaneMode::Interrupt, ..LanePolicy::default() });
    lane.offer(item("a", Delivery::Policy), 0);
    let acts = lane.offer(item("b", Delivery::Policy), 0);
    assert!(
        matches!(&acts[0], QueueAct::Settle { item, end: ItemEnd::Superseded, .. } if item.sender == Some((PeerId(1), Tag(1))))
    );
}

#[test]
fn a_steady_trickle_cannot_hold_a_debounce_open_for_ever() {
    let mut lane = Queue::new(LanePolicy { debounce_ms: 100, ..LanePolicy::default() });
    lane.offer(item("runs", Delivery::Policy), 0);
    lane.offer(item("first", Delivery::Policy), 10);
    lane.turn_ended(TurnOver::Completed, 20);
    let mut now_ms = 20;
    let mut started = None;
    while started.is_none() && now_ms < 10_000 {
        now_ms += 50;
        let acts = lane.offer(item(&format!("at {now_ms}"), Delivery::Policy), now_ms);
        started = acts.into_iter().find_map(|act| match act {
            QueueAct::Start { items, .. } => Some(items.len()),
            _ => None,
        });
    }
    assert_eq!((started, now_ms), (Some(21), 1020), "ten lengths of the debounce behind the first that it held");
}

#[test]
fn follow_ups_without_end_let_others_have_their_turn() {
    let mut lane = Queue::new(LanePolicy::default());
    lane.offer(item("runs", Delivery::Enqueue), 0);
    for number in 0..40 {
        lane.offer(item(&format!("f{number}"), Delivery::FollowUp), 0);
    }
    let mut taken = 0;
    while !lane.take_follow_ups().is_empty() {
        taken += 1;
        if taken == 20 {
            lane.offer(item("waits", Delivery::Enqueue), 0);
        }
    }
    assert_eq!(taken, 20, "as many as there are, until somebody waits");
    let acts = lane.turn_ended(TurnOver::Completed, 0);
    assert!(acts.iter().any(|act| matches!(act, QueueAct::Start { items, .. } if items[0].id.as_str() == "waits")));
    assert_eq!(std::iter::repeat_with(|| lane.take_follow_ups().len()).take_while(|count| *count > 0).count(), 20);
}

#[test]
fn behind_a_restart_what_waited_is_one_turn_too() {
    let mut lane = Queue::new(LanePolicy { coalesce: Coalesce::Always, ..LanePolicy::default() });
    let from =
        |id: &str, who: &str| Item { by: Some(Principal::user(who)), sender: None, ..item(id, Delivery::Policy) };
    lane.restore(vec![from("a1", "ann"), from("b1", "bob"), from("a2", "ann")], false);
    let acts = lane.release(0);
    let started = acts.iter().find_map(|act| match act {
        QueueAct::Start { items, .. } => Some(items.iter().map(|item| item.id.to_string()).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(started, Some(vec!["a1".to_owned(), "b1".to_owned(), "a2".to_owned()]));
}
