//! The model of a session over a restart of the gateway.

use serde_json::{Value, json};

use crate::process::Place;
use crate::socket::Socket;

async fn tiers(socket: &mut Socket) -> [Value; 2] {
    let list = socket.call("sessions.list", json!({"includePersisted": true, "query": "m:1"})).await.unwrap();
    let get = socket.call("sessions.get", json!({"sessionId": "m:1"})).await.unwrap();
    [list["sessions"][0]["config"]["modelTier"].clone(), get["config"]["modelTier"].clone()]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_is_shown_as_it_was_set_before_and_after_a_restart() {
    let place = Place::with("tiers:\n  fast: mock/beta\n");
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    socket.call("agent.send", json!({"sessionId": "m:1", "message": "say 1 words"})).await.unwrap();
    let patched = socket.call("sessions.patch", json!({"sessionId": "m:1", "modelTier": "fast"})).await.unwrap();
    assert_eq!(patched["config"]["modelTier"], "fast");
    assert_eq!(tiers(&mut socket).await, ["fast", "fast"]);
    gateway.kill();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    assert_eq!(tiers(&mut socket).await, ["fast", "fast"], "nobody has loaded it yet");
    let sent = socket.call("agent.send", json!({"sessionId": "m:1", "message": "say 1 words"})).await.unwrap();
    assert_eq!(sent["model"], "mock/beta");
    assert_eq!(tiers(&mut socket).await, ["fast", "fast"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_kept_without_the_blanks_around_it_and_one_that_is_too_long_is_refused_whoever_says_it() {
    let place = Place::with("tiers:\n  fast: mock/beta\n");
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let created = json!({"sessionId": "m:1", "modelTier": " mock/beta "});
    socket.call("sessions.create", created).await.unwrap();
    assert_eq!(tiers(&mut socket).await, ["mock/beta", "mock/beta"]);
    let patched = socket.call("sessions.patch", json!({"sessionId": "m:1", "modelTier": "  fast "})).await.unwrap();
    assert_eq!(patched["config"]["modelTier"], "fast");
    assert_eq!(tiers(&mut socket).await, ["fast", "fast"]);
    let long = format!("mock/{}", "x".repeat(200));
    let said = json!({"sessionId": "m:1", "message": format!("/model {long}")});
    let said = socket.call("agent.send", said).await.unwrap();
    assert_eq!(said["command"]["ok"], false, "{said}");
    assert!(said["content"].as_str().unwrap().contains("at most 200 characters"), "{said}");
    let refused = socket.call("sessions.patch", json!({"sessionId": "m:1", "modelTier": long})).await.unwrap_err();
    assert_eq!(refused["code"], -2, "{refused}");
    assert_eq!(tiers(&mut socket).await, ["fast", "fast"]);
}
