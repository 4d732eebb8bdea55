//! A context that is nearly full: what the session is about is on the shelf before anybody is told so.

use std::time::Duration;

use gateway::{CheckpointRules, ServiceSettings};
use serde_json::{Value, json};
use vocab::{Fault, FaultKind};

use crate::play::{KEY, Play, paused, settings};

/// Of a window of 128,000 tokens nine tenths.
const FULL: &str = "say hello usage 115000 200";

/// What is said of the context in the run of this id.
fn warned(heard: &[Value], id: u64) -> Vec<&Value> {
    let is_it = |frame: &&Value| frame["id"] == id && frame["event"] == "context_warning";
    heard.iter().filter(is_it).map(|frame| &frame["data"]).collect()
}

async fn full(play: &mut Play, at: usize, session: &str) -> Vec<Value> {
    play.ask(at, "agent.send", json!({"sessionId": session, "message": FULL})).await
}

#[test]
fn it_is_saved_before_it_is_said_and_can_be_read() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let none = play.result(at, "memory.get", json!({})).await;
        assert_eq!(none, json!({"entry": null}), "the session that it is attached to has none yet");
        let heard = full(&mut play, at, "ws:a").await;
        let [warning] = warned(&heard, 1)[..] else { panic!("{heard:?}") };
        let actions =
            json!({"checkpointSaved": true, "autoCompacted": false, "checkpointNamespace": "session/checkpoints/ws/a"});
        assert_eq!((&warning["level"], &warning["actions"]), (&json!("checkpoint"), &actions));
        let message = warning["message"].as_str().unwrap();
        assert_eq!(
            message,
            "Context usage is 90.0% (115,200/128,000 estimated tokens). Checkpoint saved to memory namespace \
             `session/checkpoints/ws/a`."
        );
        let order: Vec<&str> = heard.iter().map(|frame| frame["event"].as_str().unwrap_or("result")).collect();
        assert_eq!(order, ["run_state", "content", "context_warning", "run_state", "done", "result"]);
        let kept = play.result(at, "memory.get", json!({"sessionId": "ws:a"})).await;
        let entry = &kept["entry"];
        assert_eq!((&entry["namespace"], &entry["runId"]), (&json!("session/checkpoints/ws/a"), &json!("t1")));
        let text = entry["text"].as_str().unwrap();
        assert!(text.contains("## Goal\n\nsay hello usage") && text.contains("## Last answer\n\nhello"), "{text}");
        let all = play.result(at, "memory.list", json!({})).await;
        assert_eq!((all["entries"].as_array().unwrap().len(), all["entries"][0].get("text")), (1, None));
        assert_eq!(play.error(at, "memory.get", json!({"sessionId": "ws:none"})).await.0, 1);
    });
}

#[test]
fn no_key_that_we_know_goes_with_it() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:a", &format!("hello, my key is {KEY}")).await;
        full(&mut play, at, "ws:a").await;
        let kept = play.result(at, "memory.get", json!({"sessionId": "ws:a"})).await;
        let text = kept["entry"]["text"].as_str().unwrap();
        assert!(text.contains("## Goal\n\nhello, my key is ***\n") && !text.contains(KEY), "{text}");
    });
}

/// Wherever a title, or the beginning of a first message, is cut.
#[test]
fn nor_does_a_part_of_one() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for before in (0..220).step_by(5) {
            let session = format!("ws:{before}");
            play.run(at, &session, &format!("hello {}{KEY} and so on", "x".repeat(before))).await;
            full(&mut play, at, &session).await;
            let kept = play.result(at, "memory.get", json!({"sessionId": session})).await;
            let text = kept["entry"]["text"].as_str().unwrap();
            assert!(!text.contains(&KEY[..6]), "{before}: {text}");
        }
    });
}

#[test]
fn it_goes_with_its_session() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        full(&mut play, at, "ws:a").await;
        play.result(at, "sessions.delete", json!({"sessionId": "ws:a"})).await;
        assert_eq!(play.result(at, "memory.list", json!({})).await, json!({"entries": []}));
    });
}

#[test]
fn the_next_one_waits_for_its_time() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        full(&mut play, at, "ws:a").await;
        let heard = full(&mut play, at, "ws:a").await;
        let [warning] = warned(&heard, 1)[..] else { panic!("{heard:?}") };
        assert_eq!(warning["actions"]["checkpointSaved"], false, "five minutes are not over");
        assert!(!warning["message"].as_str().unwrap().contains("Checkpoint"), "{warning}");
        assert_eq!(play.result(at, "memory.get", json!({"sessionId": "ws:a"})).await["entry"]["runId"], "t1");
        let heard = full(&mut play, at, "ws:b").await;
        assert_eq!(warned(&heard, 1)[0]["actions"]["checkpointSaved"], true, "each session has its own");
        // What is set holds.
        let checkpoints = CheckpointRules { cooldown_ms: 0, namespace: "notes".into(), ..settings().checkpoints };
        play.service.settle(ServiceSettings { checkpoints, ..settings() });
        let heard = full(&mut play, at, "ws:a").await;
        assert_eq!(warned(&heard, 1)[0]["actions"]["checkpointNamespace"], "notes/ws/a", "{heard:?}");
        let entry = play.result(at, "memory.get", json!({"sessionId": "ws:a"})).await["entry"].clone();
        assert_eq!((&entry["version"], &entry["namespace"]), (&json!(2), &json!("notes/ws/a")));
    });
}

#[test]
fn everybody_who_is_in_the_run_is_told_the_same_and_it_is_written_once() {
    paused(async {
        let mut play = Play::new();
        let (a, b) = (play.connect(), play.connect());
        let slow = "slow 200 say 5 words usage 115000 200";
        let params = json!({"sessionId": "ws:a", "message": slow, "idempotencyKey": "k"});
        let send = |id: u64| json!({"id": id, "method": "agent.send", "params": params});
        play.send(a, &send(7)).await;
        play.heard(a, Duration::from_millis(50)).await;
        play.send(b, &send(8)).await;
        let late = play.heard(b, Duration::from_secs(5)).await;
        let heard = play.heard(a, Duration::from_secs(5)).await;
        for (heard, id) in [(&heard, 7), (&late, 8)] {
            let [warning] = warned(heard, id)[..] else { panic!("{id}: {heard:?}") };
            assert_eq!(warning["actions"]["checkpointSaved"], true, "{id}");
            assert!(heard.iter().any(|frame| frame["id"] == id && frame.get("result").is_some()), "{id}: {heard:?}");
        }
        assert_eq!(play.result(a, "memory.get", json!({"sessionId": "ws:a"})).await["entry"]["version"], 1);
    });
}

#[test]
fn where_it_cannot_be_written_nobody_says_so_and_the_run_ends_all_the_same() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        *play.shelf.broken.lock().unwrap() = Some(Fault::new(FaultKind::Store, "the disk is full"));
        let heard = full(&mut play, at, "ws:a").await;
        let [warning] = warned(&heard, 1)[..] else { panic!("{heard:?}") };
        assert_eq!(warning["actions"], json!({"checkpointSaved": false, "autoCompacted": false}));
        assert_eq!(heard.last().unwrap()["result"]["content"], "hello");
    });
}

/// The newest of the session, as somebody finds it who comes later.
async fn kept(play: &mut Play, session: &str) -> Value {
    let late = play.connect();
    play.result(late, "memory.get", json!({"sessionId": session})).await["entry"].clone()
}

#[test]
fn a_run_whose_client_went_away_has_one_too() {
    paused(async {
        let mut play = Play::lingering();
        let at = play.connect();
        let slow = json!({"sessionId": "ws:a", "message": "slow 500 say 5 words usage 115000 200"});
        play.send(at, &json!({"id": 7, "method": "agent.send", "params": slow})).await;
        play.heard(at, Duration::from_millis(50)).await;
        play.hang_up(at).await;
        tokio::time::sleep(Duration::from_secs(9)).await;
        let entry = kept(&mut play, "ws:a").await;
        assert_eq!((&entry["runId"], &entry["version"]), (&json!("t1"), &json!(1)), "{entry}");
        assert!(entry["text"].as_str().unwrap().contains("## Last answer\n\nw1 w2 w3 w4 w5"), "{entry}");
    });
}

#[test]
fn a_run_that_came_from_elsewhere_has_one_where_it_is_complete_and_its_context_full() {
    for (message, has_one) in [
        (FULL, true),
        ("say hello usage 90000 200", false),
        // Nobody knows yet how it goes on.
        ("slow 500 say 5 words usage 115000 200", false),
    ] {
        paused(async {
            let mut play = Play::new();
            let mut actor = play.stage.actor();
            actor.open(vocab::Open::new(vocab::Which::Named("ws:a".into()))).await.unwrap();
            actor.prompt(message).await;
            if message.starts_with("slow") {
                tokio::time::sleep(Duration::from_millis(1_000)).await;
                actor.send(vocab::Verb::Session(vocab::SessionVerb::Interrupt { turn: None })).await;
            }
            actor.turn_end().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(kept(&mut play, "ws:a").await["runId"].is_string(), has_one, "{message}");
        });
    }
}

#[test]
fn none_is_written_where_they_are_switched_off() {
    paused(async {
        let mut play = Play::new();
        let off = CheckpointRules { from_pct: None, ..settings().checkpoints };
        play.service.settle(ServiceSettings { checkpoints: off, ..settings() });
        let mut actor = play.stage.actor();
        actor.open(vocab::Open::new(vocab::Which::Named("ws:a".into()))).await.unwrap();
        actor.prompt(FULL).await;
        actor.turn_end().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(kept(&mut play, "ws:a").await, Value::Null);
    });
}

#[test]
fn a_run_that_goes_on_after_a_restart_has_one_too() {
    paused(async {
        let mut play = Play::lingering();
        let models = vec![tour::model("mock/alpha", 128_000)];
        let earlier = testkit::Stage::new(testkit::StageOptions {
            provider: std::sync::Arc::new(tour::Tour::new(tour::TourOptions { models, word_delay_ms: 0 })),
            model: "mock/alpha".into(),
            store: play.stage.store.clone(),
            tune: Box::new(|settings| settings.on_restart = vocab::OnRestart::Continue),
            ..testkit::StageOptions::default()
        });
        let mut actor = earlier.actor();
        actor.open(vocab::Open::new(vocab::Which::Named("ws:a".into()))).await.unwrap();
        actor.prompt("slow 500 say 5 words usage 115000 200").await;
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        earlier.engine.shutdown().await;
        play.stage.engine.take_up(&"ws:a".into(), None, Default::default()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(kept(&mut play, "ws:a").await["runId"], "t1");
    });
}

#[test]
fn a_session_whose_checkpoint_is_stuck_keeps_no_other_waiting() {
    paused(async {
        let mut play = Play::new();
        let (one, two) = (play.connect(), play.connect());
        *play.shelf.stuck.lock().unwrap() = Some("ws:a".into());
        play.send(one, &json!({"id": 9, "method": "agent.send", "params": {"sessionId": "ws:a", "message": FULL}}))
            .await;
        play.heard(one, Duration::from_millis(100)).await;
        let since = tokio::time::Instant::now();
        let heard = full(&mut play, two, "ws:b").await;
        assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
        assert_eq!(warned(&heard, 1)[0]["actions"]["checkpointSaved"], true, "{heard:?}");
    });
}
