//! The side that dials: what it asks, and which answers it takes.

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use websocket::{DialError, DialRequest, connect, handshake};

use crate::bytes::LIMITS;
use crate::judge::{plain, receive, send};

/// Reads a head, answers with what `answer` makes of the key.
async fn dialled(answer: impl FnOnce(&str) -> String + Send + 'static) -> Result<Vec<String>, DialError> {
    let (ours, mut theirs) = duplex(64 * 1024);
    let server = tokio::spawn(async move {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(theirs.read_u8().await.expect("a byte"));
        }
        let head = String::from_utf8(head).expect("text");
        assert!(head.starts_with("GET /ws?x=1 HTTP/1.1\r\nHost: example\r\n"), "{head}");
        assert!(head.contains("\r\nAuthorization: Bearer t\r\n"), "{head}");
        let key = head.split("Sec-WebSocket-Key: ").nth(1).and_then(|it| it.split('\r').next()).expect("a key");
        let _ = theirs.write_all(answer(key).as_bytes()).await;
        // A message right behind the handshake, then whatever comes.
        let _ = theirs.write_all(b"\x81\x02hi").await;
        let mut rest = Vec::new();
        let _ = theirs.read_to_end(&mut rest).await;
        rest
    });
    let headers = vec![("Authorization".to_owned(), "Bearer t".to_owned())];
    let request = DialRequest { host: "example".to_owned(), path: "/ws?x=1".to_owned(), headers };
    let (mut hears, mut says, _) = connect(ours, &request, LIMITS, plain()).await?;
    let heard = receive(&mut hears).await.expect("a message");
    send(&mut says, "there").await;
    drop((hears, says));
    let rest = server.await.expect("no panic");
    assert_eq!((rest.len(), rest[0], rest[1]), (11, 0x81, 0x85), "masked");
    Ok(vec![heard])
}

fn yes(key: &str) -> String {
    let accept = handshake::accept(key);
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: Upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
    )
}

#[tokio::test]
async fn a_good_answer_makes_a_socket() {
    assert_eq!(dialled(yes).await.expect("a socket"), ["hi"]);
}

#[tokio::test]
async fn what_is_no_answer_to_us_is_none() {
    let wrong = dialled(|_| yes("another key")).await;
    assert!(matches!(wrong, Err(DialError::NotAWebSocket(_))));
    let not_http = dialled(|_| "SSH-2.0-x\r\n\r\n".to_owned()).await;
    assert!(matches!(not_http, Err(DialError::NotAWebSocket(_))));
    let refused =
        dialled(|_| "HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nno way".to_owned()).await.expect_err("no");
    assert_eq!(refused.to_string(), "the server answered 403: no way");
}
