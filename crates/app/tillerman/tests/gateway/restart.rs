//! The gateway is killed in the middle of many sessions, and started again: what was acknowledged is there, what ran goes on,
//! what was asked is asked again, and whoever comes back with a cursor misses nothing and hears nothing twice.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{Gateway, Place};
use crate::socket::Socket;

/// Sessions of each kind.
const STREAMING: usize = 10;
const IN_TOOLS: usize = 20;
const WAITING: usize = 10;
const ASKING: usize = 10;

/// How long after the start a session may take to finish.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a subscriber has, put together as the protocol says.
#[derive(Default)]
struct Heard {
    text: String,
    cursor: Option<Value>,
    cursors: Vec<String>,
    done: bool,
}

impl Heard {
    fn take(&mut self, frame: &Value) {
        let data = &frame["data"];
        match frame["event"].as_str().unwrap_or_default() {
            "content" if data["transient"] != true => self.text.push_str(data["text"].as_str().unwrap()),
            "retract" => {
                let keep = self.text.len() - usize::try_from(data["bytes"].as_u64().unwrap()).unwrap();
                self.text.truncate(keep);
            }
            "done" => self.done = true,
            _ => {}
        }
        if let Some(cursor) = frame.get("cursor") {
            // Who takes back what was told stays where they are.
            if frame["event"] != "retract" {
                self.cursors.push(cursor.as_str().unwrap().to_owned());
            }
            self.cursor = Some(cursor.clone());
        }
    }
}

async fn subscribe(socket: &mut Socket, id: u64, session: &str, after: Option<&Value>) {
    let after = after.cloned().unwrap_or(json!(0));
    let params = json!({"topics": [format!("session:{session}")], "afterSeq": after});
    socket.send(&json!({"id": id, "method": "events.subscribe", "params": params})).await;
    let answer = socket.next_of(&json!(id)).await;
    assert!(answer.get("result").is_some(), "{session}: {answer}");
}

async fn send(socket: &mut Socket, id: u64, session: &str, message: &str) {
    let params = json!({"message": message, "sessionId": session});
    socket.send(&json!({"id": id, "method": "agent.send", "params": params})).await;
}

/// What is said in each session, and what its history must say in the end.
fn sessions() -> Vec<(String, String, &'static str)> {
    let mut all = Vec::new();
    for nth in 0..STREAMING {
        all.push((format!("r:stream{nth}"), "slow 40 say 60 words".to_owned(), "stream"));
    }
    for nth in 0..IN_TOOLS {
        // Each round leaves a line behind: done twice, it would be there twice.
        let rounds: Vec<String> = (0..6)
            .map(|round| format!("call shell.exec {{\"command\":\"sleep 0.1; echo {round} >> marks{nth}\"}}"))
            .collect();
        all.push((format!("r:tools{nth}"), format!("{} then say done", rounds.join(" then ")), "tools"));
    }
    for nth in 0..WAITING {
        all.push((format!("r:wait{nth}"), "slow 40 say 20 words".to_owned(), "wait"));
    }
    for nth in 0..ASKING {
        all.push((
            format!("r:ask{nth}"),
            format!("call file.write {{\"path\":\"asked{nth}\",\"content\":\"x\"}} then say done"),
            "ask",
        ));
    }
    all
}

async fn until_all_done(
    socket: &mut Socket,
    ids: &HashMap<u64, String>,
    heard: &mut HashMap<String, Heard>,
    kinds: &[&str],
) {
    let until = tokio::time::Instant::now() + PATIENCE;
    let left = |heard: &HashMap<String, Heard>| {
        ids.values()
            .filter(|session| kinds.iter().any(|kind| session.contains(kind)) && !heard[*session].done)
            .cloned()
            .collect::<Vec<_>>()
    };
    while !left(heard).is_empty() {
        assert!(tokio::time::Instant::now() < until, "not finished: {:?}", left(heard));
        let frame = socket.next().await;
        if let Some(session) = frame["id"].as_u64().and_then(|id| ids.get(&id)) {
            heard.get_mut(session).unwrap().take(&frame);
        }
    }
}

fn check(place: &Place, heard: &HashMap<String, Heard>) {
    for (session, told) in heard {
        let mut once = told.cursors.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), told.cursors.len(), "{session} heard something twice: {:?}", told.cursors);
    }
    for nth in 0..IN_TOOLS {
        let marks = std::fs::read_to_string(place.workspace().join(format!("marks{nth}"))).unwrap_or_default();
        let mut lines: Vec<&str> = marks.lines().collect();
        let count = lines.len();
        lines.dedup();
        assert_eq!(lines.len(), count, "session {nth} did something twice: {marks:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_sessions_survive_a_kill() {
    let place = Place::with("server:\n  queue:\n    resume_after_restart: true\ntools:\n  confirm: [file.write]\n");
    let gateway: Gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let mut ids = HashMap::new();
    let mut heard: HashMap<String, Heard> = HashMap::new();
    for (nth, (session, message, kind)) in (0_u64..).zip(sessions()) {
        socket.call("sessions.create", json!({"sessionId": session})).await.unwrap();
        if kind == "ask" {
            socket.call("agent.setToolUseCallback", json!({"sessionId": session, "enabled": true})).await.unwrap();
        }
        subscribe(&mut socket, 10_000 + nth, &session, None).await;
        ids.insert(10_000 + nth, session.clone());
        heard.insert(session.clone(), Heard::default());
        send(&mut socket, nth + 1, &session, &message).await;
        if kind == "wait" {
            send(&mut socket, 500 + nth, &session, "say 3 words").await;
        }
    }
    // In the middle of everything.
    let middle = tokio::time::Instant::now() + Duration::from_millis(700);
    while let Ok(frame) = tokio::time::timeout_at(middle, socket.next()).await {
        if let Some(session) = frame["id"].as_u64().and_then(|id| ids.get(&id)) {
            heard.get_mut(session).unwrap().take(&frame);
        }
    }
    gateway.kill();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    for (id, session) in &ids {
        if session.contains("ask") {
            socket.call("agent.setToolUseCallback", json!({"sessionId": session, "enabled": true})).await.unwrap();
        }
        subscribe(&mut socket, *id, session, heard[session].cursor.as_ref()).await;
    }
    until_all_done(&mut socket, &ids, &mut heard, &["stream", "tools", "wait"]).await;
    check(&place, &heard);
    for (session, told) in &heard {
        if session.contains("stream") {
            let history = socket.call("sessions.get", json!({"sessionId": session})).await.unwrap();
            let said: String = history["history"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|it| it["role"] == "assistant")
                .map(|it| it["content"].as_str().unwrap())
                .collect();
            assert_eq!(told.text, said, "{session}");
        }
    }
    let _ = gateway.terminate();
}

/// One run at a time: the one that was cut off goes on first, what waited is seen to wait, and runs in the order in which it came.
#[tokio::test(flavor = "multi_thread")]
async fn what_waited_in_many_sessions_runs_in_its_order() {
    let place = Place::with(
        "server:\n  max_concurrent_runs: 1\n  queue:\n    resume_after_restart: true\ntools:\n  confirm: []\n",
    );
    let gateway: Gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let order = place.workspace().join("order");
    send(&mut socket, 1, "ws:first", "hang").await;
    for nth in 0..6 {
        let command = format!("echo {nth} >> {}", order.display());
        let message = format!("call bash {} then say 1 words", json!({ "command": command }));
        send(&mut socket, 2 + nth, &format!("ws:m{nth}"), &message).await;
        // The next one came later, by the clock that the log has.
        let waiting = |lanes: &Value| lanes["lanes"].as_array().unwrap().iter().filter(|it| it["depth"] == 1).count();
        while waiting(&socket.call("lanes.list", json!({})).await.unwrap()) <= nth as usize {}
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    gateway.kill();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let mut lanes = Vec::new();
    let is_running = |lane: &(String, String, u64)| lane.0 == "ws:first" && lane.1 == "running";
    while lanes.len() != 7 || !lanes.iter().any(is_running) || lanes.iter().any(|(_, state, _)| state == "idle") {
        let listed = socket.call("lanes.list", json!({})).await.unwrap();
        let told = |lane: &Value| {
            let text = |key: &str| lane[key].as_str().unwrap().to_owned();
            (text("sessionId"), text("state"), lane["depth"].as_u64().unwrap())
        };
        lanes = listed["lanes"].as_array().unwrap().iter().map(told).collect();
        lanes.sort();
    }
    assert_eq!(lanes[0], ("ws:first".into(), "running".into(), 0));
    assert!(lanes[1..].iter().all(|(_, state, depth)| state == "waiting" && *depth == 1), "{lanes:?}");
    socket.call("agent.cancel", json!({"sessionId": "ws:first"})).await.unwrap();
    let read = || std::fs::read_to_string(&order).unwrap_or_default();
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    while read().lines().count() < 6 {
        assert!(tokio::time::Instant::now() < until, "ran: {:?}", read());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(read(), "0\n1\n2\n3\n4\n5\n");
    let _ = gateway.terminate();
}
