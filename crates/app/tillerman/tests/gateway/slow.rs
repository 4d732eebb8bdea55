//! Who does not read is let go with a cursor, and holds up nobody.

use serde_json::{Value, json};

use crate::process::Place;
use crate::socket::Socket;

/// Watchers that do not read, beside as many that do.
const SLOW: usize = 2;
const SLOW_FULL: usize = 20;
/// Messages, and how long each is: all of them are more than the system and the gateway keep for one connection.
const MESSAGES: u64 = 16;
const MESSAGE_BYTES: usize = 700 * 1024;
/// What the gateway may grow by, in KiB, for what all watchers are told.
const GROWTH_KIB_MAX: u64 = 64 * 1024;

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn watch(socket: &mut Socket, after: &Value) {
    let params = json!({"topics": ["session:f:1"], "afterSeq": after});
    socket.send(&json!({"id": 7, "method": "events.subscribe", "params": params})).await;
}

/// What one watcher has heard, over all its connections.
struct Heard {
    seqs: Vec<u64>,
    cursor: Value,
    dones: u64,
}

impl Heard {
    fn nothing() -> Self {
        Self { seqs: Vec::new(), cursor: json!(0), dones: 0 }
    }

    /// Until the last run is done; `false`: the connection ended first.
    async fn hear(&mut self, socket: &mut Socket) -> bool {
        while self.dones < MESSAGES {
            let Some(frame) = socket.next_or_end().await else { return false };
            if frame["event"].is_string() && frame["event"] != "lag" {
                self.seqs.push(frame["seq"].as_u64().unwrap());
                self.cursor = frame["cursor"].clone();
                self.dones += u64::from(frame["event"] == "done");
            }
        }
        self.seqs.dedup();
        true
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g7_who_does_not_read_is_let_go_with_a_cursor_and_holds_up_nobody() {
    let slow = if std::env::var_os("TILLERMAN_FULL").is_some() { SLOW_FULL } else { SLOW };
    let place = Place::new();
    let gateway = place.start();
    let mut speaker = Socket::open(&gateway).await;
    speaker.call("sessions.create", json!({"sessionId": "f:1"})).await.unwrap();
    let (mut sleepers, mut readers) = (Vec::new(), tokio::task::JoinSet::new());
    for _ in 0..slow {
        let mut sleeper = Socket::open_narrow(&gateway).await;
        watch(&mut sleeper, &json!(0)).await;
        sleepers.push(sleeper);
        let mut reader = Socket::open(&gateway).await;
        watch(&mut reader, &json!(0)).await;
        readers.spawn(async move {
            let mut heard = Heard::nothing();
            assert!(heard.hear(&mut reader).await, "a reader was let go: {}", reader.why);
            heard.seqs
        });
    }
    let before = resident_kib(gateway.pid());
    let mut most = before;
    for _ in 0..MESSAGES {
        let message = format!("say 2 words {}", "x".repeat(MESSAGE_BYTES));
        speaker.call("agent.send", json!({"sessionId": "f:1", "message": message})).await.unwrap();
        most = most.max(resident_kib(gateway.pid()));
    }
    let heard = readers.join_all().await;
    let whole: Vec<u64> = (1..=*heard[0].last().unwrap()).collect();
    assert!(heard.iter().all(|seqs| *seqs == whole), "every reader heard everything, in order");
    println!("{slow} slow of {}: {} MiB more", 2 * slow, (most - before) / 1024);
    // The conversation itself is in there as well, some times over.
    let conversation = MESSAGES * MESSAGE_BYTES as u64 / 1024;
    assert!(most - before < GROWTH_KIB_MAX + 8 * conversation, "{before} {most}");
    for mut sleeper in sleepers {
        let mut heard = Heard::nothing();
        assert!(!heard.hear(&mut sleeper).await, "it was not let go");
        // Where the end was told in time it says where to go on; the last event that was heard says the same.
        if let Some(code) = sleeper.closed().await {
            let resume = format!("resume {}", heard.cursor.as_str().unwrap());
            assert_eq!((code, sleeper.why.as_str()), (1013, resume.as_str()));
        }
        let mut back = Socket::open(&gateway).await;
        watch(&mut back, &heard.cursor).await;
        assert!(heard.hear(&mut back).await, "it came back and was let go again");
        assert_eq!(heard.seqs, whole);
    }
}
