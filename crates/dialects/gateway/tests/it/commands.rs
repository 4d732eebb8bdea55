//! Commands that people type, and what is wrong with what they come in.

use std::time::Duration;

use serde_json::{Value, json};
use vocab::{Reply, SessionVerb, Verb};
use wire::{Dialect as _, Frame};

use crate::play::{Play, paused};
use crate::talk::Talk;

#[test]
fn the_status_shows_session_lane_model_and_usage() {
    paused(async {
        let mut play = Play::new(|_| {});
        let at = play.connect();
        let queue = json!({"mode": "followup", "cap": 3});
        play.ask(at, 1, "sessions.create", json!({"sessionId": "s:1", "queue": queue})).await;
        play.ask(at, 2, "agent.send", json!({"sessionId": "s:1", "message": "say 3 words"})).await;
        let heard = play.ask(at, 3, "agent.send", json!({"sessionId": "s:1", "message": "/status"})).await;
        let result = &heard.last().unwrap()["result"];
        let (data, text) = (&result["command"]["data"], result["content"].as_str().unwrap());
        assert_eq!((&data["sessionId"], &data["model"]), (&json!("s:1"), &json!("mock/alpha")), "{data}");
        assert_eq!((&data["lane"]["mode"], &data["lane"]["cap"]), (&json!("followup"), &json!(3)), "{data}");
        assert_eq!((&data["lane"]["depth"], &data["usage"]["runs"]), (&json!(0), &json!(1)), "{data}");
        assert!(data["usage"]["inputTokens"].as_u64().unwrap() > 0, "{data}");
        assert!(text.contains("\nqueue: mode=followup cap=3 ") && text.contains("\nusage: "), "{text}");
    });
}

#[test]
fn a_compaction_is_stopped_by_the_id_of_its_command() {
    paused(async {
        let mut play = Play::new(|_| {});
        let at = play.connect();
        for id in [1, 2] {
            play.ask(at, id, "agent.send", json!({"sessionId": "s:1", "message": "say 3 words"})).await;
        }
        play.put(at, 3, "agent.send", json!({"sessionId": "s:1", "message": "/compact hang"})).await;
        play.put(at, 4, "agent.cancel", json!({"requestId": 3})).await;
        let heard = play.heard_for(at, Duration::from_secs(9)).await;
        let of = |id: u64| heard.iter().find(|it| it["id"] == id && it.get("result").is_some()).unwrap();
        assert_eq!(of(4)["result"], json!({"cancelled": true, "active": true, "queued": 0}));
        assert_eq!(of(3)["result"]["command"]["ok"], false, "{}", of(3));
    });
    // It is the command of that id that is stopped, and no run that has begun behind it.
    let mut talk = Talk::on(None);
    talk.ask(1, "agent.send", json!({"sessionId": "s", "message": "/compact"}));
    let tag = talk.out.commands[0].tag;
    talk.ask(2, "agent.cancel", json!({"requestId": 1}));
    assert_eq!(talk.out.commands[1].verb, Verb::Session(SessionVerb::AbortCall { of: tag }));
    talk.out.commands.remove(0);
    talk.reply(Ok(Reply::Done));
    assert_eq!(talk.frames(), [r#"2 = {"active":true,"cancelled":true,"queued":0}"#]);
}

#[test]
fn two_names_for_one_session_are_refused() {
    let mut talk = Talk::on(None);
    talk.ask(1, "agent.send", json!({"message": "x", "sessionId": "a", "session": "b"}));
    let frame: Value = serde_json::from_slice(talk.out.frames.frames().next().unwrap()).unwrap();
    let error = &frame["error"];
    let told = (&error["code"], &error["data"]["reason"], &error["data"]["param"]);
    assert_eq!(told, (&json!(-2), &json!("invalid_params"), &json!("session")));
    assert!(talk.out.commands.is_empty());
    talk.ask(2, "agent.send", json!({"message": "x", "sessionId": "s", "session": "s"}));
    assert_eq!(talk.out.commands.len(), 1, "the same name twice is one");
}

#[test]
fn a_binary_frame_is_refused_as_one() {
    let mut talk = Talk::on(None);
    talk.gateway.hear(Frame::Whole(wire::NO_TEXT), &mut talk.out);
    let frame: Value = serde_json::from_slice(talk.out.frames.frames().next().unwrap()).unwrap();
    assert_eq!((&frame["id"], &frame["error"]["code"]), (&Value::Null, &json!(-1)));
    assert_eq!(frame["error"]["message"], "binary frames are not taken; send JSON as text");
}

#[test]
fn the_document_has_the_largest_id_that_can_be_cancelled() {
    let document = dialect_gateway::openrpc("");
    let methods = document["methods"].as_array().unwrap();
    let cancel = methods.iter().find(|it| it["name"] == "agent.cancel").unwrap();
    let params = cancel["params"].as_array().unwrap();
    let id = params.iter().find(|it| it["name"] == "requestId").unwrap();
    assert_eq!(id["schema"]["maximum"], 9_007_199_254_740_991_u64, "{id}");
}
