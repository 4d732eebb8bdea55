//! A request that came into the run of others is cancelled, or its time is over: it goes alone.

use serde_json::json;

use crate::play::{Play, paused, shown};

/// The last frames of an id, without its text.
fn end_of(frames: &[serde_json::Value], id: u64) -> Vec<String> {
    let of: Vec<_> = frames.iter().filter(|it| it["id"] == id && it["event"] != "content").cloned().collect();
    shown(&of).lines().map(str::to_owned).collect()
}

fn cancelled(id: u64, reason: &str) -> Vec<String> {
    vec![
        format!("{id} run_state start"),
        format!("{id} run_state cancel_requested"),
        format!("{id} run_state cancelled"),
        format!("{id} error 4"),
        format!("{id} ! 4 {reason}"),
    ]
}

#[test]
fn who_joined_a_run_goes_alone_while_who_began_it_is_there() {
    paused(async {
        for (is_same, timeout, reason) in [
            (true, Some(400), "timeout"),
            (false, Some(400), "timeout"),
            (true, None, "cancelled"),
            (false, None, "cancelled"),
        ] {
            let mut play = Play::new(|_| {});
            let (a, other) = (play.connect(), play.connect());
            let b = if is_same { a } else { other };
            let params = json!({"message": "slow 200 say 9 words", "sessionId": "s:1", "idempotencyKey": "k"});
            play.put(a, 1, "agent.send", params.clone()).await;
            let mut heard = play.heard_for(a, std::time::Duration::from_millis(50)).await;
            let mut joined = params;
            joined["timeoutMs"] = json!(timeout);
            if timeout.is_none() {
                joined.as_object_mut().unwrap().remove("timeoutMs");
            }
            play.put(b, 2, "agent.send", joined).await;
            let mut late = play.heard_for(b, std::time::Duration::from_millis(50)).await;
            if timeout.is_none() {
                play.put(b, 3, "agent.cancel", json!({"requestId": 2})).await;
            }
            late.extend(play.heard_for(b, std::time::Duration::from_secs(5)).await);
            heard.extend(play.heard_for(a, std::time::Duration::from_secs(5)).await);
            assert_eq!(end_of(&late, 2), cancelled(2, reason), "{is_same}");
            if timeout.is_none() {
                assert_eq!(end_of(&late, 3), [r#"3 = {"active":true,"cancelled":true,"queued":0}"#]);
            }
            let all: Vec<_> = heard.into_iter().chain(late).collect();
            assert!(end_of(&all, 1)[1].contains("complete"), "{is_same} {reason}: {:?}", end_of(&all, 1));
        }
    });
}

#[test]
fn who_joined_a_run_that_nobody_else_is_in_ends_it() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b) = (play.connect(), play.connect());
        let params = json!({"message": "hang", "sessionId": "s:1", "idempotencyKey": "k"});
        play.ask(a, 1, "agent.send", params.clone()).await;
        play.pipes[a] = None;
        play.ask(b, 2, "agent.send", params).await;
        let mut heard = play.ask(b, 3, "agent.cancel", json!({"requestId": 2})).await;
        heard.insert(0, json!({"id": 2, "event": "run_state", "data": {"state": "start"}}));
        assert_eq!(end_of(&heard, 2), cancelled(2, "cancelled"));
        let waited = play.result(b, 4, "agent.wait", json!({"sessionId": "s:1", "idempotencyKey": "k"})).await;
        assert_eq!(waited["result"]["state"], "cancelled");
    });
}

#[test]
fn who_steered_a_run_or_was_collected_into_one_goes_alone() {
    paused(async {
        for mode in ["steer", "collect"] {
            let mut play = Play::new(|_| {});
            let a = play.connect();
            let queue = json!({"mode": mode, "coalesce": "always"});
            play.ask(a, 90, "sessions.create", json!({"sessionId": "s:1", "queue": queue})).await;
            let send = |message: &str| json!({"message": message, "sessionId": "s:1"});
            let first = r#"slow 100 say 4 words call bash {"command":"true"} then slow 100 say 20 words"#;
            play.put(a, 1, "agent.send", send(first)).await;
            let mut heard = play.heard_for(a, std::time::Duration::from_millis(50)).await;
            play.put(a, 2, "agent.send", send("slow 100 say 20 words")).await;
            play.put(a, 3, "agent.send", send("slow 100 say 20 words")).await;
            while !end_of(&heard, 3).iter().any(|it| it.ends_with("start")) {
                heard.extend(play.heard_for(a, std::time::Duration::from_millis(20)).await);
            }
            heard.extend(play.ask(a, 4, "agent.cancel", json!({"requestId": 3})).await);
            heard.extend(play.heard_for(a, std::time::Duration::from_secs(9)).await);
            assert_eq!(end_of(&heard, 3), cancelled(3, "cancelled"), "{mode}");
            for id in [1, 2] {
                let end = end_of(&heard, id);
                assert!(end.iter().any(|it| it.ends_with("run_state complete")), "{mode} {id}: {end:?}");
            }
        }
    });
}

#[test]
fn the_time_of_a_message_holds_when_its_connection_is_gone() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b) = (play.connect(), play.connect());
        let send = |key: &str| {
            let timeout = if key == "runs" { 5000 } else { 4000 };
            json!({"message": "hang", "sessionId": "s:1", "idempotencyKey": key, "timeoutMs": timeout})
        };
        play.ask(a, 1, "agent.send", send("runs")).await;
        play.ask(a, 2, "agent.send", send("waits")).await;
        play.pipes[a] = None;
        for key in ["runs", "waits"] {
            let of = json!({"sessionId": "s:1", "idempotencyKey": key, "timeoutMs": 1});
            assert!(play.result(b, 1, "agent.wait", of).await["result"]["state"] != "cancelled", "{key}");
        }
        let of = |key: &str| json!({"sessionId": "s:1", "idempotencyKey": key, "timeoutMs": 60_000});
        play.put(b, 3, "agent.wait", of("waits")).await;
        play.put(b, 4, "agent.wait", of("runs")).await;
        let heard = play.heard_for(b, std::time::Duration::from_secs(9)).await;
        let end = |id: u64| heard.iter().find(|it| it["id"] == id).cloned().unwrap_or_default();
        assert_eq!(end(3)["error"]["data"]["reason"], "timeout", "{heard:?}");
        assert_eq!(end(4)["result"]["state"], "cancelled", "{heard:?}");
        assert_eq!(end(4)["result"]["error"]["data"]["reason"], "timeout", "{heard:?}");
        // Who asks again is told the same.
        for (id, key) in [(5, "runs"), (6, "waits")] {
            let heard = play.ask(b, id, "agent.send", send(key)).await;
            assert_eq!(shown(&heard).lines().last(), Some(&*format!("{id} ! 4 timeout")), "{key}");
        }
    });
}

#[test]
fn who_waits_with_the_message_of_another_goes_alone() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b) = (play.connect(), play.connect());
        play.ask(a, 1, "agent.send", json!({"message": "slow 5000 say 3 words", "sessionId": "s:1"})).await;
        let waits = json!({"message": "say 1 words", "sessionId": "s:1", "idempotencyKey": "k"});
        play.ask(a, 2, "agent.send", waits.clone()).await;
        play.ask(b, 1, "agent.send", waits).await;
        let heard = play.ask(b, 2, "agent.cancel", json!({"requestId": 1})).await;
        assert_eq!(
            shown(&heard).lines().collect::<Vec<_>>(),
            ["1 error 4", "1 ! 4 cancelled_before_start", r#"2 = {"active":false,"cancelled":true,"queued":1}"#]
        );
        let heard = play.heard_for(a, std::time::Duration::from_secs(9)).await;
        assert!(end_of(&heard, 2).iter().any(|it| it.ends_with("run_state complete")), "{heard:?}");
    });
}
