//! HTTP/2 with prior knowledge, written by hand and by a client: the same guards, the same pages.

use std::net::SocketAddr;
use std::time::Duration;

use gateway::Access;
use hyper::client::conn::http2;
use hyper::{HeaderMap, Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::guards::foreign_mixes;
use crate::server::{TOKEN, bearer, call, start, token_access};

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A frame costs the same with one byte in it.
#[tokio::test]
async fn a_body_in_crumbs_is_refused() {
    let playing = start(token_access()).await;
    let mut stream = TcpStream::connect(playing.address).await.expect("a connection");
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    let authority = playing.address.to_string();
    // POST and http by their numbers in the table.
    let mut block = vec![0x83, 0x86, 0x04, 10];
    block.extend(b"/api/login");
    block.extend([0x01, u8::try_from(authority.len()).expect("short")]);
    block.extend(authority.as_bytes());
    bytes.extend(frame(1, 0x04, 1, &block));
    stream.write_all(&bytes).await.expect("written");
    // More at once are the library's to refuse.
    let some = frame(0, 0, 1, b"x").repeat(64);
    for _ in 0..gateway::limits::BODY_PIECES_FREE / 10 * 11 / 64 {
        stream.write_all(&some).await.expect("written");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(answered_with(&mut stream).await[0], 0x8c, "400");
}

/// The block of the first answer.
async fn answered_with(stream: &mut TcpStream) -> Vec<u8> {
    loop {
        let mut head = [0; 9];
        let reading = stream.read_exact(&mut head);
        tokio::time::timeout(Duration::from_secs(20), reading).await.expect("in time").expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).await.expect("all of it");
        if head[3] == 1 {
            return payload;
        }
    }
}

/// The status with which a path is answered.
async fn status(address: SocketAddr, authority: &str, path: &str) -> String {
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
    let payload = answered_with(&mut stream).await;
    // Some have a number of their own, others are letters behind one.
    match payload[0] {
        0x88 => "200".to_owned(),
        0x8d => "404".to_owned(),
        _ => format!("{:x?}", &payload[..6]),
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

/// A connection that many requests go over, whatever name each has for the server.
struct Browser(http2::SendRequest<String>);

impl Browser {
    async fn at(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection);
        Self(sender)
    }

    async fn asks(&mut self, request: Request<String>) -> Option<(u16, HeaderMap)> {
        let answer =
            tokio::time::timeout(Duration::from_secs(20), self.0.send_request(request)).await.expect("in time");
        answer.ok().map(|answer| (answer.status().as_u16(), answer.headers().clone()))
    }
}

fn request(method: Method, host: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request<String> {
    let request = Request::builder().method(method).uri(format!("http://{host}{path}"));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(body.to_owned()).expect("a request")
}

/// A browser adds what it has by itself: its cookie, or the password that it was told.
#[tokio::test]
async fn g2_no_page_of_another_origin_gets_in_over_http2() {
    let access = Access { allowed_origins: vec!["https://app.example".to_owned()], ..token_access() };
    let playing = start(access).await;
    let login = format!("{{\"token\":\"{TOKEN}\"}}");
    let (_, head, _) = call(&playing, "POST", "/api/login", "", &login).await;
    let cookie = head.split("set-cookie: ").nth(1).and_then(|it| it.split(';').next()).expect("a cookie").to_owned();
    let good = bearer(TOKEN);
    let credentials = [None, Some(("authorization", &*good)), Some(("cookie", &*cookie))];
    let mut browser = Browser::at(playing.address).await;
    let open = playing.handle.counter()().sockets;
    let own = playing.address.to_string();
    for credential in credentials {
        for (host, origin, expected) in foreign_mixes(playing.address.port()) {
            let mut headers = vec![("origin", origin)];
            headers.extend(credential);
            for (method, path, body) in [
                (Method::GET, "/api/events?topics=sessions", ""),
                (Method::POST, "/api/login", &*login),
                (Method::POST, "/api/logout", ""),
            ] {
                let what = format!("{method} {path} of {host} by {origin} with {credential:?}");
                let answer = browser.asks(request(method, &host, path, &headers, body)).await;
                let (status, answered) = answer.expect("an answer");
                assert_eq!(status, expected, "{what}");
                let leaks = |name: &str| name.starts_with("access-control") || name == "set-cookie";
                assert!(!answered.keys().any(|name| leaks(name.as_str())), "{what}: {answered:?}");
            }
        }
        // The name that counts is the one that the request was sent by, and of two origins none does.
        let two = [("origin", "http://evil.example"), ("origin", &*format!("http://{own}"))];
        for (host, headers, expected) in [("evil.example", &[("host", &*own)][..], 421), (&own, &two, 400)] {
            let headers: Vec<_> = headers.iter().copied().chain(credential).collect();
            let answer = browser.asks(request(Method::POST, host, "/api/login", &headers, &login)).await;
            assert_eq!(answer.expect("an answer").0, expected, "{host} {headers:?}");
        }
    }
    assert_eq!(playing.handle.counter()().sockets, open, "nothing was opened for them");
    // Who may come does, with the same credentials still.
    for origin in [&*format!("http://{own}"), "https://app.example"] {
        for credential in credentials.into_iter().flatten() {
            let headers = [("origin", origin), credential];
            let answer = browser.asks(request(Method::GET, &own, "/api/health", &headers, "")).await;
            assert_eq!(answer.expect("an answer").0, 200, "{origin} {credential:?}");
        }
    }
}

/// A WebSocket over HTTP/2 would be another way in; there is none.
#[tokio::test]
async fn g2_there_are_no_sockets_over_http2() {
    let playing = start(Access::default()).await;
    let own = playing.address.to_string();
    for origin in [None, Some("http://evil.example"), Some(&*format!("http://{own}"))] {
        let headers: Vec<_> = origin.map(|origin| ("origin", origin)).into_iter().collect();
        let mut connect = request(Method::CONNECT, &own, "/", &headers, "");
        connect.extensions_mut().insert(hyper::ext::Protocol::from_static("websocket"));
        let mut browser = Browser::at(playing.address).await;
        let answer = browser.asks(connect).await;
        assert!(answer.as_ref().is_none_or(|(status, _)| *status >= 400), "{origin:?}: {answer:?}");
        // What asks for one as HTTP/1.1 does is told that this is not the way.
        let headers: Vec<_> = headers.into_iter().chain([("sec-websocket-version", "13")]).collect();
        let answer = Browser::at(playing.address).await.asks(request(Method::GET, &own, "/ws", &headers, "")).await;
        assert!(answer.as_ref().is_some_and(|(status, _)| *status >= 400), "{origin:?}: {answer:?}");
    }
    assert_eq!(playing.handle.counter()().sockets, 0);
}
