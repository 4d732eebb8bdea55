//! A message for which there is no place among the runs that go on at once.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use serde_json::json;
use testkit::StageOptions;

use crate::play::{Play, paused, settle, shown};

/// One run at a time. Session `a` has it, under the id 10; message 20 is for session `b`.
async fn full() -> (Play, usize) {
    let models = vec![tour::model("mock/alpha", 128_000)];
    let mut play = Play::with(StageOptions {
        provider: Arc::new(tour::Tour::new(tour::TourOptions { models, word_delay_ms: 0 })),
        model: "mock/alpha".into(),
        toolbox: Some(Arc::new(crate::tools::Tools)),
        turns_max: Some(1),
        tune: Box::new(settle),
        ..StageOptions::default()
    });
    let a = play.connect();
    play.put(a, 10, "agent.send", json!({"sessionId": "a", "message": "slow 50 say 3 words"})).await;
    play.heard_for(a, Duration::from_millis(20)).await;
    play.put(a, 20, "agent.send", json!({"sessionId": "b", "message": "say 2 words"})).await;
    (play, a)
}

#[test]
fn a_message_without_a_place_starts_when_it_has_one() {
    let heard = paused(async {
        let (mut play, a) = full().await;
        shown(&play.heard(a).await)
    });
    expect![[r#"
        10 content "w2 "
        10 content "w3"
        10 run_state complete
        10 done "w1 w2 w3"
        10 = {"content":"w1 w2 w3","sessionId":"a","stopReason":"end_turn"}
        20 run_state start
        20 content "w1 "
        20 content "w2"
        20 run_state complete
        20 done "w1 w2"
        20 = {"content":"w1 w2","sessionId":"b","stopReason":"end_turn"}
    "#]]
    .assert_eq(&heard);
}

#[test]
fn it_waits_in_its_lane_and_is_cancelled_as_what_never_began() {
    for whom in [json!({"requestId": 20}), json!({"sessionId": "b"})] {
        let heard = paused(async {
            let (mut play, a) = full().await;
            play.heard_for(a, Duration::from_millis(10)).await;
            play.put(a, 30, "queue.list", json!({"sessionId": "b"})).await;
            let listed = play.heard_for(a, Duration::from_millis(5)).await;
            assert_eq!(listed[0]["result"]["items"][0]["text"], "say 2 words", "{listed:?}");
            play.put(a, 31, "agent.cancel", whom).await;
            let mut heard = shown(&play.heard(a).await);
            // Its place in the line goes with it, and does not stay with a session that wants none.
            heard += &shown(&play.ask(a, 40, "agent.send", json!({"sessionId": "c", "message": "say 1 words"})).await);
            heard
        });
        expect![[r#"
            20 error 4
            20 ! 4 cancelled_before_start
            31 = {"active":false,"cancelled":true,"queued":1}
            10 content "w2 "
            10 content "w3"
            10 run_state complete
            10 done "w1 w2 w3"
            10 = {"content":"w1 w2 w3","sessionId":"a","stopReason":"end_turn"}
            40 run_state start
            40 content "w1"
            40 run_state complete
            40 done "w1"
            40 = {"content":"w1","sessionId":"c","stopReason":"end_turn"}
        "#]]
        .assert_eq(&heard);
    }
}

#[test]
fn where_nothing_is_stopped_for_it_nobody_says_so() {
    let heard = paused(async {
        let (mut play, a) = full().await;
        play.ask(a, 30, "agent.send", json!({"sessionId": "c", "message": "/queue interrupt"})).await;
        play.put(a, 31, "agent.send", json!({"sessionId": "a", "message": "slow 50 say 3 words"})).await;
        play.heard_for(a, Duration::from_millis(20)).await;
        play.put(a, 32, "agent.send", json!({"sessionId": "c", "message": "say 1 words"})).await;
        shown(&play.heard_for(a, Duration::from_millis(20)).await)
    });
    assert_eq!(heard, "", "it waits for a place, and no run of its lane does it hold up");
}
