//! What is refused changes nothing: neither the model of a message that is not taken, nor one of several changes.

use serde_json::{Value, json};
use vocab::Store;

use crate::models::{both, life, stored};
use crate::play::Play;

/// The answer to a request, whatever else is told meanwhile.
async fn answer(play: &mut Play, at: usize, id: u64, heard: &mut Vec<Value>) -> Value {
    let is_answer =
        |frame: &&Value| frame["id"] == id && (frame.get("result").is_some() || frame.get("error").is_some());
    loop {
        if let Some(answer) = heard.iter().find(is_answer) {
            return answer.clone();
        }
        heard.extend(play.heard(at).await);
    }
}

/// A patch that changes nothing says how the session is.
async fn config(play: &mut Play, at: usize, id: u64, heard: &mut Vec<Value>) -> Value {
    play.put(at, id, "sessions.patch", json!({"sessionId": "s:1"})).await;
    answer(play, at, id, heard).await["result"].clone()
}

/// A run that takes its time, in a lane where one more message can wait.
async fn busy(play: &mut Play, at: usize) {
    let queue = json!({"mode": "followup", "cap": 1, "overflow": "drop_new"});
    play.ask(at, 1, "sessions.create", json!({"sessionId": "s:1", "title": "T", "queue": queue})).await;
    play.put(at, 2, "agent.send", json!({"sessionId": "s:1", "message": "slow 900 say 9 words"})).await;
    play.put(at, 3, "agent.send", json!({"sessionId": "s:1", "message": "say 1 words", "idempotencyKey": "k"})).await;
}

#[test]
fn a_message_that_is_not_taken_leaves_the_model_as_it_is() {
    let large = json!([{"type": "image", "data": "AAAA", "mimeType": "image/x-unknown"}]);
    for (why, message) in [
        ("queue", json!({"message": "say 2 words"})),
        ("idempotency_conflict", json!({"message": "say 3 words", "idempotencyKey": "k"})),
        ("unknown_model", json!({"message": "say 2 words", "modelTier": "mock/none"})),
        ("invalid_params", json!({"message": " "})),
        ("", json!({"message": "look", "attachments": large})),
    ] {
        life(&stored(), both(), async |play, a| {
            let mut heard = Vec::new();
            busy(play, a).await;
            let before = config(play, a, 4, &mut heard).await;
            let mut params = json!({"sessionId": "s:1", "modelTier": "mock/beta"});
            message.as_object().unwrap().iter().for_each(|(name, value)| params[name] = value.clone());
            play.put(a, 5, "agent.send", params).await;
            let refused = answer(play, a, 5, &mut heard).await;
            assert!(refused["error"].is_object(), "{refused}");
            if !why.is_empty() {
                assert_eq!(refused["error"]["data"]["reason"], why, "{refused}");
            }
            assert_eq!(config(play, a, 6, &mut heard).await, before, "{why}");
        });
    }
}

#[test]
fn a_message_that_repeats_another_chooses_no_model_again() {
    life(&stored(), both(), async |play, a| {
        let mut heard = Vec::new();
        let send =
            json!({"sessionId": "s:1", "message": "say 1 words", "idempotencyKey": "k", "modelTier": "mock/beta"});
        play.ask(a, 1, "agent.send", send.clone()).await;
        play.ask(a, 2, "sessions.patch", json!({"sessionId": "s:1", "modelTier": "mock/alpha"})).await;
        let again = play.result(a, 3, "agent.send", send).await;
        assert_eq!(again["result"]["content"], "w1", "{again}");
        assert_eq!(config(play, a, 4, &mut heard).await["config"]["modelTier"], "mock/alpha");
    });
}

#[test]
fn a_message_that_is_taken_chooses_its_model_also_while_it_waits() {
    life(&stored(), both(), async |play, a| {
        let mut heard = Vec::new();
        play.put(a, 1, "agent.send", json!({"sessionId": "s:1", "message": "slow 300 say 3 words"})).await;
        let next = json!({"sessionId": "s:1", "message": "say 1 words", "modelTier": "fast"});
        play.put(a, 2, "agent.send", next).await;
        assert_eq!(config(play, a, 3, &mut heard).await["config"]["modelTier"], "fast");
        let result = answer(play, a, 2, &mut heard).await;
        assert_eq!(result["result"]["model"], "mock/beta", "{result}");
        play.put(a, 4, "agent.send", json!({"sessionId": "s:1", "message": "say 1 words"})).await;
        let last = answer(play, a, 4, &mut heard).await;
        assert_eq!(last["result"]["model"], "mock/beta", "{last}");
    });
}

#[test]
fn of_several_changes_all_are_made_or_none_and_the_refused_one_is_named() {
    let all = json!({"title": "new", "modelTier": "mock/beta", "queue": {"mode": "interrupt"}});
    for (param, wrong) in [
        ("modelTier", json!({"modelTier": "mock/none"})),
        ("queue", json!({"queue": {"mode": "sideways"}})),
        ("elevation", json!({"elevation": {"active": true, "minutes": 100_000}})),
        ("title", json!({"title": "t".repeat(5000)})),
    ] {
        let store = stored();
        life(&store, both(), async |play, a| {
            let mut heard = Vec::new();
            play.ask(a, 1, "sessions.create", json!({"sessionId": "s:1", "title": "T"})).await;
            let before = config(play, a, 2, &mut heard).await;
            let written = store.summary(&"s:1".into()).await.unwrap().unwrap().last_seq;
            let mut params = all.clone();
            params["sessionId"] = json!("s:1");
            wrong.as_object().unwrap().iter().for_each(|(name, value)| params[name] = value.clone());
            let refused = play.result(a, 3, "sessions.patch", params).await;
            let named = refused["error"]["data"]["param"].as_str().unwrap_or_default().to_owned();
            assert!(named.starts_with(param), "{refused}");
            assert_eq!(config(play, a, 4, &mut heard).await, before, "{param}");
            assert_eq!(store.summary(&"s:1".into()).await.unwrap().unwrap().last_seq, written, "{param}");
        });
    }
}
