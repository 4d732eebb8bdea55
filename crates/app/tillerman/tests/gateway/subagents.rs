//! A sub-agent's session as the gateway's clients meet it: while it works for its call, and afterwards.

use std::time::Duration;

use serde_json::{Value, json};

use crate::process::Place;
use crate::socket::Socket;

/// The session that works for a call of this one.
async fn child_of(socket: &mut Socket, parent: &str) -> String {
    for _ in 0..500 {
        let list = json!({"includePersisted": true, "childOf": parent});
        let list = socket.call("sessions.list", list).await.unwrap();
        if let Some(id) = list["sessions"][0]["id"].as_str() {
            return id.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no call of {parent} has a sub-agent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subagent_answers_no_one_else_while_it_works_and_anyone_when_it_is_done() {
    let place = Place::new();
    let gateway = place.start();
    let (mut socket, mut other) = (Socket::open(&gateway).await, Socket::open(&gateway).await);
    let work = r#"call subagent {"label":"one","task":"slow 300 say 6 words"} then say 1 words"#;
    socket.send(&json!({"id": 1, "method": "agent.send", "params": {"sessionId": "p:1", "message": work}})).await;
    let child = child_of(&mut other, "p:1").await;
    let send = |message: &str| json!({"sessionId": child, "message": message});
    let refused: Value = other.call("agent.send", send("say 1 words")).await.unwrap_err();
    assert_eq!((&refused["code"], &refused["data"]["reason"]), (&json!(3), &json!("busy")), "{refused}");
    let said = refused["message"].as_str().unwrap();
    assert!(said.contains("works for a call of the session `p:1`"), "{said}");
    let before = other.call("sessions.get", json!({"sessionId": child})).await.unwrap();
    let model = json!({"sessionId": child, "message": "say 1 words", "modelTier": "tour-mini"});
    let by_model: Value = other.call("agent.send", model).await.unwrap_err();
    assert_eq!(by_model, refused, "the same, whatever comes with it");
    let patch = json!({"sessionId": child, "title": "named", "modelTier": "tour-mini", "queue": {"mode": "interrupt"}});
    let patched: Value = other.call("sessions.patch", patch).await.unwrap_err();
    assert_eq!((&patched["code"], &patched["data"]["param"]), (&json!(3), &json!("modelTier")), "{patched}");
    let after = other.call("sessions.get", json!({"sessionId": child})).await.unwrap();
    let kept = |session: &Value| (session["config"].clone(), session["title"].clone());
    assert_eq!(kept(&after), kept(&before), "what is refused has changed nothing");
    let ended = loop {
        let frame = socket.next_of(&json!(1)).await;
        if frame.get("result").is_some() || frame.get("error").is_some() {
            break frame;
        }
    };
    assert_eq!(ended["result"]["content"], "w1", "its parent heard nothing of that");
    let sent = other.call("agent.send", send("say 2 words")).await.unwrap();
    assert_eq!(sent["content"], "w1 w2", "{sent}");
}
