//! Who sends too much is shown out, and has the answers to what it was allowed to ask.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use gateway::limits::BODY_PIECES_FREE;
use testkit::{Stage, StageOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use websocket::{Codec, Role, socket};

use crate::dialect::serving;
use crate::server::{Client, LIMITS, TOKEN, plain, start, token_access};

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

/// Each chunk costs the work of a piece, however little is in it: a stranger's bytes must not buy a core.
#[tokio::test]
async fn a_body_in_crumbs_is_refused_and_not_read_to_its_end() {
    let playing = start(token_access()).await;
    let head = "POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut stream = TcpStream::connect(playing.address).await.expect("a connection");
    stream.write_all(head.as_bytes()).await.expect("written");
    stream.write_all(&b"1\r\nx\r\n".repeat(BODY_PIECES_FREE / 10 * 11)).await.expect("written");
    let mut answer = [0; 13];
    timeout(Duration::from_secs(20), stream.read_exact(&mut answer)).await.expect("in time").expect("an answer");
    assert_eq!(std::str::from_utf8(&answer), Ok("HTTP/1.1 400 "));
    let mut rest = vec![0; 300];
    let count = stream.read(&mut rest).await.expect("the rest of it");
    let rest = String::from_utf8_lossy(&rest[..count]).into_owned();
    assert!(rest.contains("too many small pieces"), "{rest}");
    // What is thrown away has the same bound.
    let crumbs = b"1\r\nx\r\n".repeat(10_000);
    let (mut written, begun) = (0, Instant::now());
    while timeout(Duration::from_secs(20), stream.write_all(&crumbs)).await.expect("in time").is_ok() {
        written += 10_000;
        assert!(written < 60 * BODY_PIECES_FREE, "it is still read");
    }
    assert!(begun.elapsed() < gateway::limits::DISCARD, "{:?}", begun.elapsed());
}

/// Who types, and who cuts into small pieces what is worth sending, is heard.
#[tokio::test]
async fn a_body_in_small_pieces_is_a_body() {
    let playing = start(token_access()).await;
    for (piece, pieces) in [("x", BODY_PIECES_FREE / 2), ("xxxxxxxxxxxxxxxx", 2 * BODY_PIECES_FREE)] {
        let mut request =
            "POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
        let crumb = |piece: &str| format!("{:x}\r\n{piece}\r\n", piece.len());
        request += &crumb("{\"token\":\"");
        request += &crumb(piece).repeat(pieces);
        request += &crumb("\"}");
        request += "0\r\n\r\n";
        let mut stream = TcpStream::connect(playing.address).await.expect("a connection");
        stream.write_all(request.as_bytes()).await.expect("written");
        let mut answer = [0; 13];
        timeout(Duration::from_secs(20), stream.read_exact(&mut answer)).await.expect("in time").expect("an answer");
        assert_eq!(std::str::from_utf8(&answer), Ok("HTTP/1.1 401 "), "{pieces} of {}", piece.len());
    }
}
