//! Messages that wait because no place is free.

use super::*;

#[test]
fn without_a_place_a_lane_keeps_what_leaves_it_to_the_policy_and_starts_the_rest() {
    let mut lane = lane(LaneMode::Collect);
    lane.set_has_place(false);
    assert_eq!(show(&lane.offer(item("a", Delivery::Policy), 5)), "wait a@1, changed");
    assert!(lane.awaits_place(5), "a place is all that it waits for");
    assert_eq!(show(&lane.offer(item("b", Delivery::Policy), 5)), "wait b@2, changed");
    assert_eq!(show(&lane.tick(5)), "");
    assert_eq!(show(&lane.offer(item("c", Delivery::RejectIfBusy), 5)), "start c");
    assert!(!lane.awaits_place(5), "the turn that runs is before them");
    assert_eq!(show(&lane.turn_ended(TurnOver::Completed, 6)), "");
    lane.set_has_place(true);
    assert_eq!(show(&lane.tick(6)), "start a, changed");
}

#[test]
fn a_debounce_comes_before_the_line_for_a_place() {
    let mut lane = Queue::new(LanePolicy { debounce_ms: 10, ..LanePolicy::default() });
    lane.set_has_place(false);
    assert_eq!(show(&lane.offer(item("a", Delivery::Policy), 0)), "wait a@1, changed");
    assert_eq!((lane.awaits_place(9), lane.awaits_place(10), lane.due()), (false, true, Some(10)));
}

#[test]
fn an_interrupting_message_takes_the_place_in_line_of_those_before_it() {
    let mut lane = lane(LaneMode::Interrupt);
    lane.set_has_place(false);
    assert_eq!(show(&lane.offer(item("a", Delivery::Policy), 0)), "wait a@1, changed");
    assert_eq!(show(&lane.offer(item("b", Delivery::Policy), 0)), "Superseded a (Newer), wait b@1, changed");
}
