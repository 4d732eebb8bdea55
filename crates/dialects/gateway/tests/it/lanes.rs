//! What lanes do with messages that come while they are busy.

use expect_test::expect;
use serde_json::json;

use crate::play::{Play, paused, shown};

/// Sets the lane, starts a slow run with id 10, and sends `11`, `12`, ...
async fn crowd(rules: &str, messages: &[&str]) -> String {
    let mut play = Play::new(|_| {});
    let a = play.connect();
    play.ask(a, 1, "agent.send", json!({"message": format!("/queue set {rules}")})).await;
    play.put(a, 10, "agent.send", json!({"message": "slow 50 say 4 words"})).await;
    let mut heard = play.heard_for(a, std::time::Duration::from_millis(20)).await;
    for (at, message) in messages.iter().enumerate() {
        play.put(a, 11 + at as u64, "agent.send", json!({"message": message})).await;
    }
    heard.extend(play.heard(a).await);
    shown(&heard)
}

#[test]
fn collect_keeps_all_in_order() {
    let heard = paused(crowd("mode=collect", &["say 1 words", "say 2 words"]));
    expect![[r#"
        10 run_state start
        10 content "w1 "
        10 content "w2 "
        10 content "w3 "
        10 content "w4"
        10 run_state complete
        10 done "w1 w2 w3 w4"
        10 = {"content":"w1 w2 w3 w4","sessionId":"ws:c1","stopReason":"end_turn"}
        11 run_state start
        11 content "w1"
        11 run_state complete
        11 done "w1"
        11 = {"content":"w1","sessionId":"ws:c1","stopReason":"end_turn"}
        12 run_state start
        12 content "w1 "
        12 content "w2"
        12 run_state complete
        12 done "w1 w2"
        12 = {"content":"w1 w2","sessionId":"ws:c1","stopReason":"end_turn"}
    "#]]
    .assert_eq(&heard);
}

#[test]
fn collect_with_coalesce_makes_one_run_of_all() {
    let heard = paused(crowd("mode=collect coalesce=always", &["say 1 words", "say 2 words"]));
    expect![[r#"
        10 run_state start
        10 content "w1 "
        10 content "w2 "
        10 content "w3 "
        10 content "w4"
        10 run_state complete
        10 done "w1 w2 w3 w4"
        10 = {"content":"w1 w2 w3 w4","sessionId":"ws:c1","stopReason":"end_turn"}
        11 run_state start
        12 run_state start
        11 content "w1"
        12 content "w1"
        11 content "w1 "
        12 content "w1 "
        11 content "w2"
        12 content "w2"
        11 run_state complete
        11 done "w1w1 w2"
        11 = {"collected":{"count":2,"leader":true,"runId":"t2"},"content":"w1w1 w2","sessionId":"ws:c1","stopReason":"end_turn"}
        12 run_state complete
        12 done "w1w1 w2"
        12 = {"collected":{"count":2,"leader":false,"runId":"t2"},"content":"w1w1 w2","sessionId":"ws:c1","stopReason":"end_turn"}
    "#]].assert_eq(&heard);
}

#[test]
fn a_full_lane_drops_the_oldest_or_the_new_one() {
    let heard = paused(crowd("mode=followup cap=1 overflow=drop_old", &["say 1 words", "say 2 words"]));
    expect![[r#"
        10 run_state start
        10 content "w1 "
        11 error 3
        11 ! 3 queue
        10 content "w2 "
        10 content "w3 "
        10 content "w4"
        10 run_state complete
        10 done "w1 w2 w3 w4"
        10 = {"content":"w1 w2 w3 w4","sessionId":"ws:c1","stopReason":"end_turn"}
        12 run_state start
        12 content "w1 "
        12 content "w2"
        12 run_state complete
        12 done "w1 w2"
        12 = {"content":"w1 w2","sessionId":"ws:c1","stopReason":"end_turn"}
    "#]]
    .assert_eq(&heard);
    let heard = paused(crowd("mode=followup cap=1 overflow=drop_new", &["say 1 words", "say 2 words"]));
    expect![[r#"
        10 run_state start
        10 content "w1 "
        12 error 3
        12 ! 3 queue
        10 content "w2 "
        10 content "w3 "
        10 content "w4"
        10 run_state complete
        10 done "w1 w2 w3 w4"
        10 = {"content":"w1 w2 w3 w4","sessionId":"ws:c1","stopReason":"end_turn"}
        11 run_state start
        11 content "w1"
        11 run_state complete
        11 done "w1"
        11 = {"content":"w1","sessionId":"ws:c1","stopReason":"end_turn"}
    "#]]
    .assert_eq(&heard);
}

#[test]
fn interrupt_stops_the_run_for_the_newest() {
    let heard = paused(crowd("mode=interrupt", &["say 1 words"]));
    expect![[r#"
        10 run_state start
        10 content "w1 "
        11 content transient
        10 run_state cancel_requested
        10 run_state cancelled
        10 error 4
        10 ! 4 preempted
        11 run_state start
        11 content "w1"
        11 run_state complete
        11 done "w1"
        11 = {"content":"w1","sessionId":"ws:c1","stopReason":"end_turn"}
    "#]]
    .assert_eq(&heard);
}

#[test]
fn steering_goes_into_the_run_and_gets_its_end() {
    let heard = paused(crowd("mode=steer", &["say 1 words"]));
    expect![[r#"
        10 run_state start
        10 content "w1 "
        10 content "w2 "
        10 content "w3 "
        10 content "w4"
        11 run_state start
        10 content "\n\nw1"
        11 content "\n\nw1"
        10 run_state complete
        10 done "w1 w2 w3 w4\n\nw1"
        10 = {"content":"w1 w2 w3 w4\n\nw1","sessionId":"ws:c1","stopReason":"end_turn"}
        11 run_state complete
        11 done "w1 w2 w3 w4\n\nw1"
        11 = {"content":"w1 w2 w3 w4\n\nw1","sessionId":"ws:c1","steered":true,"stopReason":"end_turn"}
    "#]]
    .assert_eq(&heard);
}
