//! Whether the other side is there: pings on virtual time, writes that get nowhere, a kick from outside.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{Instant, timeout};
use websocket::{Binary, Codec, Kick, OnClose, Pings, Role, SocketOptions, SocketSink, SocketStream, socket};
use wire::Close;

use crate::bytes::{LIMITS, PONG, whole};
use crate::judge::{close, receive, send};

const PINGS: Pings =
    Pings { every: Some(Duration::from_secs(25)), missed_max: 2, no_progress: Duration::from_secs(120) };
const PING_FRAME: [u8; 2] = [0x89, 0];

type Ours = (SocketStream<DuplexStream>, SocketSink<DuplexStream>, Kick);

fn pair(room: usize) -> (Ours, DuplexStream) {
    let (ours, theirs) = duplex(room);
    let options = SocketOptions { binary: Binary::Ignored, pings: PINGS, on_close: OnClose::AtOnce, once_known: None };
    (socket(ours, Bytes::new(), Codec::new(Role::Server, LIMITS), options), theirs)
}

async fn two(theirs: &mut DuplexStream) -> [u8; 2] {
    let mut bytes = [0; 2];
    theirs.read_exact(&mut bytes).await.expect("two bytes");
    bytes
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_answers_is_kept() {
    let ((mut hears, _says, _), mut theirs) = pair(4096);
    let hearing = tokio::spawn(async move { receive(&mut hears).await });
    let began = Instant::now();
    for round in 1..=8u64 {
        assert_eq!(two(&mut theirs).await, PING_FRAME);
        assert_eq!(began.elapsed().as_secs(), round * 25);
        theirs.write_all(&whole(PONG, b"")).await.expect("written");
    }
    assert!(!hearing.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_answer_is_given_up_after_two() {
    let ((mut hears, mut says, _), mut theirs) = pair(4096);
    let began = Instant::now();
    assert_eq!(receive(&mut hears).await, None);
    assert_eq!(began.elapsed().as_secs(), 75, "two pings, and a third time");
    close(&mut says, &Close::normal()).await;
    let mut said = Vec::new();
    theirs.read_to_end(&mut said).await.expect("all of it");
    assert_eq!(said[..4], [PING_FRAME, PING_FRAME].concat());
    assert_eq!(said[4..8], [0x88, 20, 0x03, 0xe9], "1001");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_gets_nowhere_ends_it() {
    let ((mut hears, mut says, _), mut theirs) = pair(64);
    let began = Instant::now();
    // It answers pings, it just does not read.
    let pongs = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(10)).await;
            if theirs.write_all(&whole(PONG, b"")).await.is_err() {
                return;
            }
        }
    });
    let hearing = tokio::spawn(async move { receive(&mut hears).await });
    let message = "x".repeat(1_000);
    let sent = std::future::poll_fn(|context| host::MessageSink::poll_send(&mut says, context, message.as_bytes()));
    assert!(sent.await.is_err());
    let seconds = began.elapsed().as_secs();
    assert!((120..=150).contains(&seconds), "{seconds}");
    assert_eq!(hearing.await.expect("no panic"), None);
    drop(says);
    pongs.await.expect("no panic");
}

#[tokio::test(start_paused = true)]
async fn a_long_silence_is_no_stuck_write() {
    let ((mut hears, mut says, _), mut theirs) = pair(64);
    let peer = tokio::spawn(async move {
        // Half an hour of pongs, then a reader that takes its time.
        for _ in 0..72 {
            assert_eq!(two(&mut theirs).await, PING_FRAME);
            theirs.write_all(&whole(PONG, b"")).await.expect("written");
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        let mut bytes = vec![0; 1_004];
        theirs.read_exact(&mut bytes).await.expect("all of it");
        theirs
    });
    let hearing = tokio::spawn(async move { receive(&mut hears).await });
    tokio::time::sleep(Duration::from_secs(72 * 25 + 1)).await;
    send(&mut says, &"x".repeat(1_000)).await;
    let theirs = peer.await.expect("no panic");
    assert!(!hearing.is_finished());
    drop(theirs);
    assert_eq!(hearing.await.expect("no panic"), None);
}

#[tokio::test(start_paused = true)]
async fn a_kick_ends_it_with_a_code() {
    let ((mut hears, mut says, kick), mut theirs) = pair(4096);
    let ending = tokio::spawn(async move {
        assert_eq!(receive(&mut hears).await, None);
        let last = Close::normal();
        let closing = close(&mut says, &last);
        timeout(Duration::from_secs(5), closing).await.expect_err("the other side does not answer");
    });
    tokio::task::yield_now().await;
    kick.kick(1008, "revoked");
    ending.await.expect("no panic");
    let mut said = Vec::new();
    theirs.read_to_end(&mut said).await.expect("all of it");
    assert_eq!(said, [&[0x88, 9, 0x03, 0xf0][..], b"revoked"].concat());
}
