//! Who sends too much is shown out, and has the answers to what it was allowed to ask.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use testkit::{Stage, StageOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use websocket::{Codec, Role, socket};

use crate::dialect::serving;
use crate::server::{Client, LIMITS, TOKEN, plain};

/// A frame of a client whose mask is nought.
fn frame(opcode: u8, payload: &str) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode, 0x80 | u8::try_from(payload.len()).expect("a short one"), 0, 0, 0, 0];
    frame.extend_from_slice(payload.as_bytes());
    frame
}

/// Sends all of it at once.
async fn flooding(address: SocketAddr, flood: &[u8]) -> Client {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Authorization: Bearer {TOKEN}\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("an answer"));
    }
    stream.write_all(flood).await.expect("written");
    let (hears, says, _kick) = socket(stream, Default::default(), Codec::new(Role::Client, LIMITS), plain());
    Client { hears, says, _kick }
}

/// What each id was answered with, by its reason, and the code of the close.
async fn heard(client: &mut Client) -> (BTreeMap<u64, String>, Option<u16>) {
    let mut answers = BTreeMap::new();
    while let Some(text) = client.next().await {
        let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let reason = answer["error"]["data"]["reason"].as_str().unwrap_or("answered").to_owned();
        let id = answer["id"].as_u64().expect("a number");
        assert!(answers.insert(id, reason).is_none(), "{id} is answered twice");
    }
    (answers, client.hears.closed_with().map(|(code, _)| code))
}

fn asking(ids: std::ops::Range<u64>) -> Vec<u8> {
    ids.flat_map(|id| frame(1, &format!(r#"{{"id":{id},"method":"canvas.list"}}"#))).collect()
}

#[tokio::test]
async fn who_sends_too_many_control_frames_has_its_answers_before_the_close() {
    let (home, stage) = (tempfile::tempdir().expect("a directory"), Stage::new(StageOptions::default()));
    let server = serving(&stage, home.path()).await;
    let mut flood = asking(0..3);
    flood.extend(frame(9, "").repeat(60));
    flood.extend(asking(3..4));
    let began = Instant::now();
    let (answers, close) = heard(&mut flooding(server.addresses()[0], &flood).await).await;
    assert_eq!((answers.len(), close), (3, Some(1008)), "{answers:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn who_asks_too_often_has_the_answers_that_were_under_way_before_the_close() {
    let (home, stage) = (tempfile::tempdir().expect("a directory"), Stage::new(StageOptions::default()));
    let server = serving(&stage, home.path()).await;
    let (answers, close) = heard(&mut flooding(server.addresses()[0], &asking(0..2_000)).await).await;
    let refused = answers.values().filter(|reason| *reason == "rate_limited").count();
    assert_eq!((refused, close), (5, Some(1008)));
    let all = 0..answers.len() as u64;
    assert!(answers.len() > 500 && all.eq(answers.keys().copied()), "some of {} are not answered", answers.len());
}
