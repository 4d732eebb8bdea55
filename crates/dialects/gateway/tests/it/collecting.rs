//! Messages of several connections that wait for one lane and become one run: each request is told of it, and each settles once.

use std::time::Duration;

use dialect_gateway::{GatewayOptions, OnDisconnect};
use expect_test::expect;
use serde_json::{Value, json};
use testkit::fakes::{CountedIds, TickingClock};

use crate::play::{Play, paused, prices, shown};
use crate::talk::{Talk, started};

/// Two connections on one session, on which a slow run of the first is under way, with id 1.
async fn two_on_one(play: &mut Play) -> (usize, usize) {
    let (a, b) = (play.connect(), play.connect());
    let queue = json!({"mode": "collect", "coalesce": "always"});
    play.ask(a, 90, "sessions.create", json!({"sessionId": "s:1", "queue": queue})).await;
    // Both are on it, so that messages come in the order in which they are sent.
    play.ask(b, 91, "tools.list", json!({"sessionId": "s:1"})).await;
    play.put(a, 1, "agent.send", send("slow 50 say 4 words")).await;
    play.heard_for(a, Duration::from_millis(20)).await;
    (a, b)
}

fn send(message: &str) -> Value {
    json!({"message": message, "sessionId": "s:1"})
}

/// What is told of these ids, without text; ids of runs stay.
fn told(frames: &[Value], ids: &[u64]) -> Vec<String> {
    let of = frames.iter().filter(|it| it["event"] != "content" && ids.iter().any(|id| it["id"] == *id)).cloned();
    shown(&of.collect::<Vec<_>>()).lines().map(str::to_owned).collect()
}

/// The run that took them has begun for both.
async fn collected(play: &mut Play, a: usize, b: usize, message: &str) {
    play.put(a, 2, "agent.send", send(message)).await;
    play.put(b, 3, "agent.send", send(message)).await;
    let mut heard = Vec::new();
    while !told(&heard, &[3]).iter().any(|it| it.ends_with("start")) {
        heard = play.heard_for(b, Duration::from_millis(20)).await;
    }
    play.heard_for(a, Duration::from_millis(20)).await;
}

#[test]
fn what_waits_of_several_connections_becomes_one_run() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b) = two_on_one(&mut play).await;
        for (on, id, message) in [(a, 2, "say 1 words"), (b, 3, "say 2 words"), (a, 4, "say 1 words")] {
            play.put(on, id, "agent.send", send(message)).await;
        }
        let of_a: Vec<_> = play.heard(a).await.into_iter().filter(|it| it["id"] != 1).collect();
        expect![[r#"
            2 run_state start
            4 run_state start
            2 content "w1"
            4 content "w1"
            2 content "w1"
            4 content "w1"
            2 content "w1 "
            4 content "w1 "
            2 content "w2"
            4 content "w2"
            2 run_state complete
            2 done "w1w1w1 w2"
            2 = {"collected":{"count":3,"leader":true,"runId":"t2"},"content":"w1w1w1 w2","sessionId":"s:1","stopReason":"end_turn"}
            4 run_state complete
            4 done "w1w1w1 w2"
            4 = {"collected":{"count":3,"leader":false,"runId":"t2"},"content":"w1w1w1 w2","sessionId":"s:1","stopReason":"end_turn"}
        "#]]
        .assert_eq(&shown(&of_a));
        expect![[r#"
            3 run_state start
            3 content "w1"
            3 content "w1"
            3 content "w1 "
            3 content "w2"
            3 run_state complete
            3 done "w1w1w1 w2"
            3 = {"collected":{"count":3,"leader":false,"runId":"t2"},"content":"w1w1w1 w2","sessionId":"s:1","stopReason":"end_turn"}
        "#]]
        .assert_eq(&shown(&play.heard(b).await));
    });
}

#[test]
fn who_was_collected_is_cancelled_alone_and_the_last_one_ends_the_run() {
    paused(async {
        for leader_first in [true, false] {
            let mut play = Play::new(|_| {});
            let (a, b) = two_on_one(&mut play).await;
            collected(&mut play, a, b, "slow 400 say 9 words").await;
            let ((one, id), (other, last)) = if leader_first { ((a, 2), (b, 3)) } else { ((b, 3), (a, 2)) };
            let heard = play.ask(one, 10, "agent.cancel", json!({"requestId": id})).await;
            let ended = |id: u64| {
                ["run_state cancel_requested", "run_state cancelled", "error 4", "! 4 cancelled"]
                    .map(|it| format!("{id} {it}"))
                    .to_vec()
            };
            assert_eq!(told(&heard, &[id]), ended(id), "{leader_first}");
            assert_eq!(told(&heard, &[10]), [r#"10 = {"active":true,"cancelled":true,"queued":0}"#]);
            // It goes on for the other, who is told nothing.
            let heard = play.heard_for(other, Duration::from_millis(100)).await;
            assert_eq!(told(&heard, &[last]), [""; 0], "{leader_first}");
            let heard = play.ask(other, 11, "agent.cancel", json!({"requestId": last})).await;
            assert_eq!(told(&heard, &[last]), ended(last), "{leader_first}");
            let waited = play.result(other, 12, "agent.wait", json!({"sessionId": "s:1", "runId": "t2"})).await;
            assert_eq!(waited["result"]["state"], "cancelled", "nobody is left who wants it");
        }
    });
}

#[test]
fn who_leaves_takes_the_run_from_nobody_who_was_collected_with_it() {
    paused(async {
        for leader_leaves in [true, false] {
            let mut play = Play::new(|_| {});
            let options = GatewayOptions::new("0.1.0", std::sync::Arc::<TickingClock>::default(), {
                std::sync::Arc::new(CountedIds::behind(100))
            });
            let options = GatewayOptions { prices: prices(), on_disconnect: OnDisconnect::Cancel, ..options };
            play.options = std::sync::Arc::new(options);
            let (a, b) = two_on_one(&mut play).await;
            collected(&mut play, a, b, "slow 100 say 3 words").await;
            let (gone, stays, id) = if leader_leaves { (a, b, 3) } else { (b, a, 2) };
            play.pipes[gone] = None;
            let heard = play.heard_for(stays, Duration::from_secs(5)).await;
            let end = told(&heard, &[id]);
            assert_eq!(end.len(), 3, "{leader_leaves}: {end:?}");
            assert!(end[0].ends_with("run_state complete") && end[2].contains(r#""count":2"#), "{end:?}");
        }
    });
}

/// The last message of a debounce may come when that is over: it starts at once, with those that waited.
#[test]
fn a_message_that_starts_at_once_with_others_is_one_of_them() {
    let mut talk = Talk::on(None);
    talk.send(1, json!({}));
    let taken = vocab::TurnEntry::Taken {
        turn: "t".into(),
        items: vec!["i1".into(), "i2".into()],
        trace: None,
        until_ms: None,
    };
    talk.log([started("t"), vocab::Body::Turn(taken)]);
    talk.reply(Ok(vocab::Reply::Started { turn: "t".into() }));
    talk.ask(2, "agent.cancel", json!({"requestId": 1}));
    let asked = talk.reply(Ok(vocab::Reply::Interrupted { was_running: false }));
    let unless = vocab::SessionVerb::InterruptUnlessWanted { turn: "t".into() };
    assert_eq!(asked.verb, vocab::Verb::Session(unless), "others may be in it");
    let said = talk.frames();
    assert!(said.contains(&"1 ! 4 cancelled".to_owned()), "{said:?}");
}
