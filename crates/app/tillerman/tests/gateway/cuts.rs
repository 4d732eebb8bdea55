//! Connections that are cut at any moment and come back with a cursor: no gap, no repeat.

use std::io::{Read, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Gateway, Place, TOKEN};
use crate::socket::{PATIENCE, Socket};

const CUTS: usize = 20;
const CUTS_FULL: usize = 200;
/// Words of the run that is watched.
const WORDS: usize = 400;

fn cuts() -> usize {
    if std::env::var_os("TILLERMAN_FULL").is_some() { CUTS_FULL } else { CUTS }
}

#[tokio::test(flavor = "multi_thread")]
async fn g8_a_watcher_that_is_cut_again_and_again_hears_everything_once() {
    let place = Place::new();
    let gateway = place.start();
    let mut speaker = Socket::open(&gateway).await;
    speaker.call("sessions.create", json!({"sessionId": "cut:one"})).await.unwrap();
    let (mut text, mut cursor, mut left) = (String::new(), json!(0), cuts());
    let mut runs = 0;
    let mut wanted = String::new();
    let mut done = 0;
    while left > 0 || done < runs {
        if runs == done {
            let message = format!("slow 2 say {WORDS} words");
            speaker.send(&json!({"id": runs + 1, "method": "agent.send", "params": {"message": message}})).await;
            wanted.extend((1..=WORDS).map(|n| if n == WORDS { format!("w{n}") } else { format!("w{n} ") }));
            runs += 1;
        }
        let mut watcher = Socket::open(&gateway).await;
        let params = json!({"topics": ["session:cut:one"], "afterSeq": cursor});
        watcher.send(&json!({"id": 7, "method": "events.subscribe", "params": params})).await;
        assert!(watcher.next_of(&json!(7)).await.get("result").is_some());
        let take = 3 + (left * 7919) % 40;
        for _ in 0..take {
            let frame = watcher.next_of(&json!(7)).await;
            if frame["event"] == "content" && frame["data"]["transient"] != true {
                text.push_str(frame["data"]["text"].as_str().unwrap());
            }
            if frame["event"] == "done" {
                done += 1;
            }
            cursor = frame.get("cursor").cloned().unwrap_or(Value::Null);
            assert!(cursor.is_string(), "{frame}");
            if done == runs {
                break;
            }
        }
        left = left.saturating_sub(1);
        watcher.cut();
    }
    assert_eq!(text, wanted);
}

/// What a reader of server-sent events hears first: the status, and the beginning of the answer. `more`: headers.
fn events_of(gateway: &Gateway, path: &str, more: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(&gateway.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = &gateway.address;
    let headers = format!("Authorization: Bearer {TOKEN}\r\n{more}Connection: close\r\n");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").unwrap();
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !(text.contains("event: result") || text.contains("\"error\"")) {
        match stream.read(&mut bytes).unwrap() {
            0 => break,
            count => text += &String::from_utf8_lossy(&bytes[..count]),
        }
    }
    (text[9..12].parse().unwrap(), text)
}

#[tokio::test(flavor = "multi_thread")]
async fn g8_a_reader_of_events_with_a_place_that_never_was_is_told_so() {
    let place = Place::new();
    let gateway = place.start();
    let mut speaker = Socket::open(&gateway).await;
    speaker.call("agent.send", json!({"sessionId": "cut:sse", "message": "say 3 words"})).await.unwrap();
    let page = speaker.call("events.replay", json!({"sessionId": "cut:sse", "limit": 500})).await.unwrap();
    let end: u64 = page["nextSeq"].as_str().unwrap().parse().unwrap();
    for (last, status) in [
        (end.to_string(), 200),
        ("0".to_owned(), 200),
        (format!("{}", end + 1), 400),
        (format!("{}.0", end + 1), 400),
        ("4000+7".to_owned(), 400),
        ("nonsense".to_owned(), 400),
    ] {
        let path = "/api/events?topics=session:cut:sse";
        let (found, text) = events_of(&gateway, path, &format!("Last-Event-ID: {last}\r\n"));
        assert_eq!(found, status, "{last}: {text}");
        assert_eq!(text.contains("\"param\":\"afterSeq\""), status == 400, "{last}: {text}");
    }
}

/// As the page shows it.
#[tokio::test(flavor = "multi_thread")]
async fn events_are_read_over_http_by_what_the_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/dialects/gateway.md");
    let page = std::fs::read_to_string(page).unwrap();
    let path = page.lines().find_map(|line| line.trim().strip_prefix("'http://127.0.0.1:18800")).unwrap();
    let place = Place::new();
    let gateway = place.start();
    let mut speaker = Socket::open(&gateway).await;
    speaker.call("agent.send", json!({"sessionId": "ws:a", "message": "say 3 words"})).await.unwrap();
    let (status, text) = events_of(&gateway, path.trim_end_matches('\''), "");
    assert_eq!((status, text.contains("text/event-stream")), (200, true), "{path}: {text}");
}
