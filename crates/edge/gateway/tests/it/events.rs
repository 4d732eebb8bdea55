//! Server-sent events: a subscription asked for with a request, and its end.

use std::time::Duration;

use gateway::Access;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vocab::Secret;

use crate::server::{TOKEN, get, start, token_access};

async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&text).contains(end) {
            assert!(stream.read_buf(&mut text).await.expect("bytes") > 0, "{}", String::from_utf8_lossy(&text));
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading).await.expect("in time");
    String::from_utf8(text).expect("text")
}

#[tokio::test]
async fn the_dialect_of_the_root_tells_and_a_revoked_token_ends_it() {
    let playing = start(token_access()).await;
    let address = playing.address;
    assert_eq!(get(&playing, "/api/events?topics=lanes", "").await.0, 401);
    let good = format!("Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(get(&playing, "/api/events", &good).await.0, 400);
    let foreign = format!("{good}Origin: http://evil.example\r\n");
    assert_eq!(get(&playing, "/api/events?topics=lanes", &foreign).await.0, 403);
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let text = format!("GET /api/events?topics=lanes HTTP/1.1\r\nHost: {address}\r\nLast-Event-ID: 7.1\r\n{good}\r\n");
    stream.write_all(text.as_bytes()).await.expect("written");
    let head = until(&mut stream, "\n\n").await;
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("content-type: text/event-stream"), "{head}");
    assert!(head.contains("event: result\ndata: {\"id\":0,\"method\":\"events.subscribe\""), "{head}");
    assert!(head.contains("\"afterSeq\":7.1") || head.contains("\"afterSeq\":\"7.1\""), "{head}");
    assert_eq!(playing.handle.counter()().sockets, 1);
    playing.handle.access().set(Access { token: Secret::new("another"), ..Access::default() }).expect("set");
    until(&mut stream, "0\r\n\r\n").await;
    for _ in 0..200 {
        if playing.handle.counter()().sockets == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the conversation behind it goes on");
}
