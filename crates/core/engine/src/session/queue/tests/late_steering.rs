//! Steering that comes too late for the turn that it was meant for, where the policy has it dropped.

use super::*;

#[test]
fn steering_that_would_come_too_late_is_refused_where_no_turn_runs() {
    let mut lane = Queue::new(strict());
    let acts = lane.offer(item("s", Delivery::Steer), 0);
    let [QueueAct::Refuse { fault, .. }] = &acts[..] else { panic!("{acts:?}") };
    assert_eq!((fault.kind, &*fault.message, fault.hints.len()), (FaultKind::NothingToDo, "no turn is running", 1));
    // Neither is a compaction a turn; a turn that nobody asked for is one.
    lane.occupy().unwrap();
    assert_eq!(show(&lane.offer(item("s", Delivery::Steer), 0)), "refuse s NothingToDo");
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 0)), "");
    lane.run_unasked().unwrap();
    assert_eq!(show(&lane.offer(item("s", Delivery::Steer), 0)), "wait s@1, changed");
    assert_eq!(ids(&lane.take_steers()), ["s"]);
}

#[test]
fn a_turn_that_would_end_takes_late_steering_or_leaves_it() {
    for (late_steer, late, then) in [(LateSteer::Joins, vec!["s"], vec![]), (LateSteer::Dropped, vec![], vec!["s"])] {
        let mut lane = busy(LanePolicy { late_steer, ..LanePolicy::default() });
        lane.offer(item("s", Delivery::Steer), 0);
        assert_eq!(ids(&lane.take_late_steers()), late, "{late_steer:?}");
        assert_eq!(ids(&lane.take_steers()), then, "{late_steer:?}");
    }
    let mut lane = busy(strict());
    lane.offer(item("s", Delivery::Steer), 0);
    lane.offer(item("f", Delivery::FollowUp), 0);
    assert_eq!(ids(&lane.take_follow_ups()), ["f"], "it is not held back by what will not be taken");
}

#[test]
fn late_steering_is_dropped_however_the_turn_ends_and_before_the_next_starts() {
    for how in [TurnOver::Completed, TurnOver::Interrupted, TurnOver::Failed] {
        let mut lane = busy(strict());
        for (id, delivery) in [("s1", Delivery::Steer), ("e", Delivery::Enqueue), ("s2", Delivery::Steer)] {
            lane.offer(item(id, delivery), 0);
        }
        let acts = lane.turn_ended(how, 0);
        assert_eq!(show(&acts), "Dropped s1 (TooLate), Dropped s2 (TooLate), start e, changed", "{how:?}");
        assert_eq!(lane.note().dropped, 0, "that is no overflow");
    }
}

#[test]
fn a_policy_message_that_steered_nobody_keeps_its_own_end() {
    let mut lane = busy(LanePolicy { mode: LaneMode::Steer, ..strict() });
    for (id, delivery) in [("s", Delivery::Steer), ("a", Delivery::Policy), ("b", Delivery::Policy)] {
        lane.offer(item(id, delivery), 0);
    }
    assert_eq!(ids(&lane.take_late_steers()), Vec::<&str>::new());
    let acts = lane.turn_ended(TurnOver::Completed, 0);
    assert_eq!(show(&acts), "Dropped s (TooLate), Superseded a (Newer), start b, changed");
    assert_eq!(lane.note().dropped, 1, "the one that a newer one took the place of");
}

#[test]
fn steering_of_a_dead_process_comes_too_late() {
    let mut lane = Queue::new(strict());
    let items = [("s", Delivery::Steer), ("e", Delivery::Enqueue)].map(|(id, delivery)| item(id, delivery));
    assert_eq!(ids(&lane.restore(items.into(), false)), ["s"]);
    assert_eq!(listed(&lane), ["e"]);
}

#[test]
fn a_lane_that_closes_drops_late_steering_and_keeps_the_rest() {
    for (late_steer, acts, left) in
        [(LateSteer::Joins, "", vec!["s", "e"]), (LateSteer::Dropped, "Dropped s (TooLate), changed", vec!["e"])]
    {
        let mut lane = busy(LanePolicy { late_steer, ..LanePolicy::default() });
        lane.offer(item("s", Delivery::Steer), 0);
        lane.offer(item("e", Delivery::Enqueue), 0);
        assert_eq!((show(&lane.close()).as_str(), listed(&lane)), (acts, left));
        assert!(lane.is_busy());
    }
}

#[test]
fn a_lane_that_is_handed_over_settles_and_starts_nobody_until_that_is_over() {
    let mut lane = busy(strict());
    for (id, delivery) in [("s", Delivery::Steer), ("q", Delivery::Queue), ("e", Delivery::Enqueue)] {
        lane.offer(item(id, delivery), 0);
    }
    let acts = lane.hand_over(TurnOver::Interrupted);
    assert_eq!(show(&acts), "Cancelled q (Interrupted), Dropped s (TooLate), changed");
    assert!(lane.is_busy() && !lane.has_steer());
    assert_eq!(show(&lane.interrupt()), "interrupt", "what came instead can be stopped, too");
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 0)), "start e, changed");
}
