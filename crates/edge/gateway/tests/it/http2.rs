//! HTTP/2 with prior knowledge, written by hand: the same guards, the same pages.

use std::time::Duration;

use gateway::Access;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::start;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The status with which a path is answered.
async fn status(address: std::net::SocketAddr, authority: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    // GET and http by their numbers in the table, path and authority in letters.
    let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).expect("short")];
    block.extend(path.as_bytes());
    block.extend([0x01, u8::try_from(authority.len()).expect("short")]);
    block.extend(authority.as_bytes());
    bytes.extend(frame(1, 0x05, 1, &block));
    stream.write_all(&bytes).await.expect("written");
    loop {
        let mut head = [0; 9];
        let reading = stream.read_exact(&mut head);
        tokio::time::timeout(Duration::from_secs(20), reading).await.expect("in time").expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).await.expect("all of it");
        if head[3] == 1 {
            // Some have a number of their own, others are letters behind one.
            return match payload[0] {
                0x88 => "200".to_owned(),
                0x8d => "404".to_owned(),
                _ => format!("{:x?}", &payload[..6]),
            };
        }
    }
}

#[tokio::test]
async fn it_is_answered_like_the_other() {
    let playing = start(Access::default()).await;
    let own = playing.address.to_string();
    assert_eq!(status(playing.address, &own, "/livez").await, "200");
    assert_eq!(status(playing.address, &own, "/health").await, "200");
    assert_eq!(status(playing.address, &own, "/absent").await, "404");
    let foreign = status(playing.address, "evil.example", "/health").await;
    assert!(foreign != "200" && foreign != "404", "{foreign}");
    assert_eq!(status(playing.address, "evil.example", "/livez").await, "200");
}
