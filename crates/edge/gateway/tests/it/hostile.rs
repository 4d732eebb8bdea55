//! Those who send slowly, nothing, or nonsense: they are let go, and nobody else notices.

use std::time::{Duration, Instant};

use gateway::Access;
use gateway::limits::STRANGER_FRAGMENTS_MAX;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::{dial, start, start_with, token_access};

/// How long the server bears a connection on which this was sent.
async fn borne(address: std::net::SocketAddr, text: &str) -> Duration {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(text.as_bytes()).await.expect("written");
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut rest)).await.expect("it ends");
    began.elapsed()
}

#[tokio::test]
async fn g6_half_a_request_is_not_waited_for() {
    let playing = start(Access::default()).await;
    let secret = start_with(|options| options.tls = gateway::TlsChoice::SelfSigned).await;
    let address = playing.address;
    let half = format!("GET / HTTP/1.1\r\nHost: {address}\r\n");
    let (none, preface, head, tls, live) = tokio::join!(
        borne(address, ""),
        borne(address, "PRI * HT"),
        borne(address, &half),
        borne(secret.address, "\x16"),
        async {
            let mut client = dial(address, "/", &[]).await.expect("a socket");
            let mut slowest = Duration::ZERO;
            for _ in 0..50 {
                let began = Instant::now();
                assert_eq!(client.ask("hello").await.as_deref(), Some("hello"));
                slowest = slowest.max(began.elapsed());
            }
            slowest
        }
    );
    for (what, time) in [("nothing", none), ("a preface", preface), ("half a head", head), ("half of TLS", tls)] {
        assert!((9..20).contains(&time.as_secs()), "{what}: {time:?}");
    }
    assert!(live < Duration::from_secs(5), "{live:?}");
}

#[tokio::test]
async fn g5_frames_against_the_rules_end_their_own_socket_alone() {
    let playing = start(Access::default()).await;
    let mut other = dial(playing.address, "/", &[]).await.expect("a socket");
    let cases: &[(&[u8], u16)] = &[
        (&[0x81, 2, b'h', b'i'], 1002),
        (&[0xc1, 0x80, 0, 0, 0, 0], 1002),
        (&[0x83, 0x80, 0, 0, 0, 0], 1002),
        (&[0x81, 0x81, 0, 0, 0, 0, 0xff], 1007),
        (&[0x81, 0xff, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0], 1009),
        (&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xed], 1002),
    ];
    for (frame, code) in cases {
        let mut stream = raw_socket(playing.address).await;
        stream.write_all(frame).await.expect("written");
        assert_eq!(close_code(&mut stream).await, *code, "{frame:x?}");
        assert_eq!(other.ask("still").await.as_deref(), Some("still"));
    }
    let mut stream = raw_socket(playing.address).await;
    let flood = [0x89, 0x80, 0, 0, 0, 0].repeat(60);
    stream.write_all(&flood).await.expect("written");
    assert_eq!(close_code(&mut stream).await, 1008, "a flood of pings");
}

/// Whom nobody knows yet has few frames for one message, and none of them need have a byte in it.
#[tokio::test]
async fn g5_a_strangers_message_is_not_cut_for_ever() {
    let playing = start(token_access()).await;
    let mut stream = raw_socket(playing.address).await;
    let mut frames = vec![0x01, 0x80, 0, 0, 0, 0];
    frames.extend([0x00, 0x80, 0, 0, 0, 0].repeat(STRANGER_FRAGMENTS_MAX as usize));
    stream.write_all(&frames).await.expect("written");
    let closed = tokio::time::timeout(Duration::from_secs(5), close_code(&mut stream)).await;
    assert_eq!(closed, Ok(1009));
}

async fn raw_socket(address: std::net::SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("an answer"));
    }
    stream
}

/// Skips pongs.
async fn close_code(stream: &mut TcpStream) -> u16 {
    loop {
        let head = [stream.read_u8().await.expect("a frame"), stream.read_u8().await.expect("a frame")];
        let mut payload = vec![0; usize::from(head[1])];
        stream.read_exact(&mut payload).await.expect("all of it");
        if head[0] == 0x88 {
            return u16::from_be_bytes([payload[0], payload[1]]);
        }
    }
}
