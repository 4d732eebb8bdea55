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
