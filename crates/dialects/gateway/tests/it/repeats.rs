//! A message is sent again with its key, or stopped before it is known what became of it.

use std::time::Duration;

use serde_json::{Value, json};
use wire::Dialect;

use crate::play::{Play, paused, show};
use crate::talk::{Talk, opened};

fn send(message: &str, key: &str) -> Value {
    json!({"message": message, "sessionId": "s:1", "idempotencyKey": key})
}

/// What is told of an id, without text.
fn told(frames: &[Value], id: u64) -> Vec<String> {
    frames.iter().filter(|it| it["event"] != "content" && it["id"] == id).map(show).collect()
}

async fn lane(play: &mut Play, queue: Value) -> (usize, usize) {
    let (a, b) = (play.connect(), play.connect());
    play.ask(a, 90, "sessions.create", json!({"sessionId": "s:1", "queue": queue})).await;
    (a, b)
}

#[test]
fn who_joins_while_a_call_runs_is_told_its_start() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b) = lane(&mut play, json!({"mode": "followup"})).await;
        let message = r#"call bash {"command":"sleep 2000"} then say 1 words"#;
        let mut heard = play.ask(a, 1, "agent.send", send(message, "k")).await;
        play.put(a, 2, "agent.send", send(message, "k")).await;
        let mut other = play.ask(b, 2, "agent.send", send(message, "k")).await;
        heard.extend(play.heard_for(a, Duration::from_secs(9)).await);
        other.extend(play.heard_for(b, Duration::from_secs(9)).await);
        for (frames, id) in [(&heard, 1), (&heard, 2), (&other, 2)] {
            let told = told(frames, id);
            let calls: Vec<_> = told.iter().filter_map(|it| it.split(' ').nth(1)).collect();
            let want = ["run_state", "tool_start", "tool_end", "run_state", "done", "="];
            assert_eq!(calls, want, "{told:?}");
        }
    });
}

#[test]
fn a_repeat_is_answered_as_the_message_was() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b) = lane(&mut play, json!({"mode": "collect", "coalesce": "always"})).await;
        play.put(a, 1, "agent.send", json!({"message": "slow 50 say 4 words", "sessionId": "s:1"})).await;
        play.heard_for(a, Duration::from_millis(20)).await;
        for (id, key) in [(2, "k2"), (3, "k3")] {
            play.put(a, id, "agent.send", send("slow 50 say 4 words", key)).await;
            play.heard_for(a, Duration::from_millis(5)).await;
        }
        let mut heard = Vec::new();
        while !told(&heard, 3).iter().any(|it| it.ends_with("start")) {
            heard = play.heard_for(a, Duration::from_millis(20)).await;
        }
        play.put(b, 4, "agent.send", send("slow 50 say 4 words", "k2")).await;
        play.heard_for(a, Duration::from_secs(9)).await;
        let joined = play.heard_for(b, Duration::from_secs(9)).await;
        let joined = told(&joined, 4);
        assert!(joined[0].ends_with("start"), "{joined:?}");
        assert!(joined.last().is_some_and(|it| it.contains(r#""count":2,"leader":true"#)), "{joined:?}");
        let replayed = play.result(b, 5, "agent.send", send("slow 50 say 4 words", "k3")).await["result"].take();
        assert_eq!(
            (&replayed["replayed"], &replayed["collected"]),
            (&json!(true), &json!({"runId": replayed["runId"], "count": 2, "leader": false}))
        );

        play.ask(a, 6, "sessions.patch", json!({"sessionId": "s:1", "queue": {"mode": "steer"}})).await;
        let first = json!({"message": r#"call bash {"command":"sleep 2000"} then say 1 words"#, "sessionId": "s:1"});
        play.ask(a, 7, "agent.send", first).await;
        play.put(b, 8, "agent.send", send("say 2 words", "k8")).await;
        let steered = play.heard_for(b, Duration::from_secs(9)).await;
        assert!(told(&steered, 8).last().is_some_and(|it| it.contains(r#""steered":true"#)), "{steered:?}");
        play.heard(a).await;
        let replayed = play.result(a, 9, "agent.send", send("say 2 words", "k8")).await;
        assert_eq!(replayed["result"]["steered"], true, "{replayed}");
        play.ask(a, 10, "sessions.patch", json!({"sessionId": "s:1", "queue": {"mode": "followup"}})).await;
        play.put(a, 11, "agent.send", json!({"message": "slow 50 say 4 words", "sessionId": "s:1"})).await;
        play.put(a, 12, "agent.send", send("say 1 words", "k12")).await;
        play.heard_for(a, Duration::from_secs(9)).await;
        let replayed = play.result(b, 13, "agent.send", send("say 1 words", "k12")).await["result"].take();
        assert_eq!((replayed.get("steered"), replayed.get("collected")), (None, None), "it waited, and ran alone");
    });
}

#[test]
fn a_repeat_of_what_a_lane_dropped_says_that_it_was_dropped() {
    paused(async {
        for (mode, code) in [("followup", "overflow"), ("interrupt", "superseded")] {
            let mut play = Play::new(|_| {});
            let queue = json!({"mode": mode, "cap": 1, "overflow": "drop_old", "debounceMs": 500});
            let (a, b) = lane(&mut play, queue).await;
            play.put(a, 1, "agent.send", json!({"message": "slow 50 say 4 words", "sessionId": "s:1"})).await;
            play.heard_for(a, Duration::from_millis(20)).await;
            play.put(a, 2, "agent.send", send("say 1 words", "k2")).await;
            play.heard_for(a, Duration::from_millis(5)).await;
            play.put(b, 9, "agent.wait", json!({"sessionId": "s:1", "idempotencyKey": "k2"})).await;
            let mut waited = play.heard_for(b, Duration::from_millis(5)).await;
            play.put(a, 3, "agent.send", send("say 1 words", "k3")).await;
            let heard = play.heard_for(a, Duration::from_secs(9)).await;
            waited.extend(play.heard(b).await);
            let late = play.result(b, 10, "agent.wait", json!({"sessionId": "s:1", "idempotencyKey": "k2"})).await;
            for frame in [&waited[0], &late] {
                let error = &frame["error"];
                assert_eq!((&error["code"], &error["data"]["queue"]["code"]), (&json!(3), &json!(code)), "{frame}");
            }
            let dropped = heard.iter().find(|it| it["id"] == 2 && it.get("error").is_some()).unwrap();
            let again = play.result(b, 4, "agent.send", send("say 1 words", "k2")).await;
            for frame in [dropped, &again] {
                let error = &frame["error"];
                assert_eq!((&error["code"], &error["data"]["queue"]["code"]), (&json!(3), &json!(code)), "{frame}");
            }
            let data = &again["error"]["data"];
            assert_eq!((&data["replayed"], data.get("retryAfterMs")), (&json!(true), None), "{again}");
        }
    });
}

#[test]
fn who_repeats_what_waits_goes_alone() {
    paused(async {
        for is_same in [true, false] {
            let mut play = Play::new(|_| {});
            let (a, other) = lane(&mut play, json!({"mode": "followup"})).await;
            let b = if is_same { a } else { other };
            play.put(a, 1, "agent.send", json!({"message": "slow 50 say 4 words", "sessionId": "s:1"})).await;
            play.heard_for(a, Duration::from_millis(20)).await;
            play.put(a, 2, "agent.send", send("slow 100 say 9 words", "k")).await;
            play.heard_for(a, Duration::from_millis(20)).await;
            play.put(b, 3, "agent.send", send("slow 100 say 9 words", "k")).await;
            let mut heard = Vec::new();
            while !told(&heard, 3).iter().any(|it| it.ends_with("start")) {
                heard.extend(play.heard_for(b, Duration::from_millis(20)).await);
            }
            play.put(b, 4, "agent.cancel", json!({"requestId": 3})).await;
            heard.extend(play.heard_for(b, Duration::from_secs(9)).await);
            if !is_same {
                heard.extend(play.heard_for(a, Duration::from_secs(9)).await);
            }
            assert!(told(&heard, 3).contains(&"3 ! 4 cancelled".to_owned()), "{is_same} {heard:?}");
            assert!(told(&heard, 2).contains(&"2 run_state complete".to_owned()), "{is_same} {:?}", told(&heard, 2));
        }
    });
}

#[test]
fn what_is_stopped_before_it_is_known_what_became_of_it_is_stopped_then() {
    use vocab::{Reply, Stop};
    let talks: [fn(&mut Talk); 2] = [
        |talk| {
            talk.ask(2, "agent.cancel", json!({"requestId": 1}));
        },
        |talk| {
            talk.out.now_ms = 5;
            talk.gateway.tick(5, &mut talk.out);
        },
    ];
    for (stop, reason) in talks.into_iter().zip(["cancelled", "timeout"]) {
        // While its answer is on the way.
        let mut talk = Talk::on(None);
        talk.send(1, json!({"timeoutMs": 5}));
        stop(&mut talk);
        talk.log([crate::talk::started("t")]);
        talk.reply(Ok(Reply::Started { turn: "t".into() }));
        // Whoever's time is over ends alone; the run's own time is the engine's.
        if reason == "cancelled" {
            talk.reply(Ok(Reply::Interrupted { was_running: true }));
        }
        talk.log([crate::talk::ended("t", Stop::Interrupted)]).settles();
        let heard = talk.frames();
        assert_eq!(heard.last(), Some(&format!("1 ! 4 {reason}")), "{heard:?}");
        // While it is looked up what it repeats.
        let mut talk = Talk::on(Some("t"));
        talk.send(1, json!({"timeoutMs": 5, "idempotencyKey": "k"}));
        talk.reply(Ok(Reply::Again(Box::new(Reply::Started { turn: "t".into() }))));
        stop(&mut talk);
        talk.reply(crate::talk::recounted(Some("t"), None, false, vec![]));
        if reason == "cancelled" {
            talk.reply(Ok(Reply::Interrupted { was_running: false }));
        }
        let heard = talk.frames();
        assert!(heard.contains(&format!("1 ! 4 {reason}")), "{heard:?}");
        assert_eq!(heard.iter().any(|it| it.contains(r#""cancelled":true"#)), reason == "cancelled", "{heard:?}");
        // What it chooses goes with it: a message that is offered is stopped as any other.
        let mut talk = Talk::new();
        talk.send(1, json!({"timeoutMs": 5, "modelTier": "beta"})).reply(opened("s", None));
        let models = talk.out.commands.iter().map(|command| command.model.as_deref()).collect::<Vec<_>>();
        assert_eq!(models, [Some("beta")]);
    }
}

/// The incident was one when it happened; to be told of it again is none.
#[test]
fn a_failure_that_is_told_once_more_is_no_new_incident() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b) = lane(&mut play, json!({})).await;
        let failed = play.ask(a, 1, "agent.send", send("fail 400", "k")).await;
        assert!(failed.last().unwrap()["error"]["data"]["incident"].is_string(), "{failed:?}");
        let again = play.result(b, 2, "agent.send", send("fail 400", "k")).await["error"].take();
        assert_eq!((&again["code"], &again["data"]["replayed"]), (&json!(5), &json!(true)), "{again}");
        assert_eq!(again["data"].get("incident"), None, "{again}");
    });
}

#[test]
fn what_could_not_be_opened_is_found_in_the_log() {
    use vocab::{Fault, FaultKind};
    let mut talk = Talk::new();
    talk.send(1, json!({})).reply(Err(Fault::new(FaultKind::Internal, "broken")));
    assert_eq!(talk.frames(), ["1 error 5", "1 ! 5 internal"]);
    assert!(talk.out.notes.iter().any(|note| note.contains("broken")), "{:?}", talk.out.notes);
}

#[test]
fn a_message_for_a_session_that_is_deleted_just_then_says_so() {
    use vocab::{Fault, FaultKind};
    let mut talk = Talk::on(None);
    talk.send(1, json!({})).reply(Err(Fault::new(FaultKind::UnknownSession, "the session is deleted")));
    talk.ask(2, "agent.cancel", json!({"sessionId": "s"}));
    talk.reply(Err(Fault::new(FaultKind::UnknownSession, "the session is deleted")));
    talk.reply(Err(Fault::new(FaultKind::UnknownSession, "the session is deleted")));
    let want = ["1 error 4", "1 ! 4 session_deleted", r#"2 = {"active":false,"cancelled":false,"queued":0}"#];
    assert_eq!(talk.frames(), want);
}

/// Who waits for a run that never began is told why, as its sender was.
#[test]
fn who_waits_for_a_message_that_timed_out_before_its_run_began_is_told_so() {
    use vocab::{Recounted, Reply, SettleReason};
    for (settled, told) in [
        (Some(SettleReason::TimedOut), "4 timeout"),
        (Some(SettleReason::Deleted), "4 session_deleted"),
        (Some(SettleReason::TakenBack), "4 cancelled_before_start"),
        (Some(SettleReason::Restarted), "4 cancelled_before_start"),
        (Some(SettleReason::Overflow), "3 queue"),
        (Some(SettleReason::Newer), "3 queue"),
        (None, "4 cancelled_before_start"),
    ] {
        let mut talk = Talk::on(None);
        talk.ask(1, "agent.wait", json!({"sessionId": "s", "idempotencyKey": "k", "timeoutMs": 500}));
        let recounted = Recounted { turn: None, item: Some("i".into()), settled, ended: true, entries: Vec::new() };
        talk.reply(Ok(Reply::Recounted(Box::new(recounted))));
        assert_eq!(talk.frames(), [format!("1 ! {told}")], "{settled:?}");
    }
}
