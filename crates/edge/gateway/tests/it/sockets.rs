//! Upgrades: who gets in where, and with which rights.

use std::time::Duration;

use gateway::Access;

use crate::server::{TOKEN, bearer, dial, refused, start, start_with, token_access};

#[tokio::test]
async fn without_a_token_the_users_own_processes_come_in() {
    let playing = start(Access::default()).await;
    for path in ["/", "/ws", "/serve"] {
        let mut client = dial(playing.address, path, &[]).await.expect("a socket");
        let user = host::user_name();
        assert_eq!(client.ask("who").await, Some(format!("user:{user} Scopes(15) {user}")));
        assert_eq!(client.ask("hello").await.as_deref(), Some("hello"));
    }
    // A proxy speaks for others.
    let mut client = dial(playing.address, "/", &[("X-Forwarded-For", "10.0.0.1")]).await.expect("a socket");
    assert_eq!(client.ask("who").await.as_deref(), Some("nobody Scopes(0) "));
    assert_eq!(refused(playing.address, "/serve", &[("X-Forwarded-For", "10.0.0.1")]).await, 401);
    assert_eq!(refused(playing.address, "/absent", &[]).await, 404);
}

#[tokio::test]
async fn with_a_token_nobody_else_is_known() {
    let playing = start(token_access()).await;
    let good = bearer(TOKEN);
    let mut client = dial(playing.address, "/", &[("Authorization", &good)]).await.expect("a socket");
    assert_eq!(client.ask("who").await.as_deref(), Some("token:main Scopes(15) main"));
    let protocols = "tillerman.v1, bearer.dGhlLXRva2VuLW9mLXRoaXMtdGVzdA";
    let browser = dial(playing.address, "/ws", &[("Sec-WebSocket-Protocol", protocols)]).await;
    assert_eq!(browser.expect("a socket").ask("who").await.as_deref(), Some("token:main Scopes(15) main"));
    // A stranger comes in where one can log in, and nowhere else.
    let mut stranger = dial(playing.address, "/", &[]).await.expect("a socket");
    assert_eq!(stranger.ask("who").await.as_deref(), Some("nobody Scopes(0) "));
    assert_eq!(stranger.ask("login wrong").await.as_deref(), Some("Wrong"));
    assert_eq!(stranger.ask(&format!("login {TOKEN}")).await.as_deref(), Some("welcome main"));
    assert_eq!(stranger.ask("who").await.as_deref(), Some("token:main Scopes(15) "));
    assert_eq!(refused(playing.address, "/serve", &[]).await, 401);
    assert_eq!(refused(playing.address, "/serve", &[("Authorization", "Bearer no")]).await, 401);
    // Tokens in addresses are not looked at.
    let mut query = dial(playing.address, &format!("/?token={TOKEN}"), &[]).await.expect("a socket");
    assert_eq!(query.ask("who").await.as_deref(), Some("nobody Scopes(0) "));
}

#[tokio::test]
async fn a_wrong_credential_is_told_in_a_frame() {
    let playing = start(token_access()).await;
    for headers in [
        [("Authorization", "Bearer wrong")],
        [("Authorization", "Basic x")],
        [("Sec-WebSocket-Protocol", "bearer.d3Jvbmc")],
        [("Cookie", "tm_session=wrong")],
    ] {
        let mut client = dial(playing.address, "/", &headers).await.expect("a socket");
        let frame = client.next().await.expect("a frame");
        assert!(frame.starts_with("{\"id\":null,\"error\":{\"code\":-5,"), "{frame}");
        let (code, _) = client.close_of_server().await.expect("a close");
        assert_eq!(code, 1008);
    }
}

#[tokio::test]
async fn a_stranger_may_say_little_until_known() {
    let playing = start(token_access()).await;
    let long = "x".repeat(64 * 1024 + 1);
    let mut stranger = dial(playing.address, "/", &[]).await.expect("a socket");
    assert_eq!(stranger.ask(&long).await, None);
    assert_eq!(stranger.hears.closed_with().expect("a close").0, 1009);
    let mut known = dial(playing.address, "/", &[]).await.expect("a socket");
    assert_eq!(known.ask(&format!("login {TOKEN}")).await.as_deref(), Some("welcome main"));
    assert_eq!(known.ask(&long).await.as_deref(), Some(&*long));
}

#[tokio::test]
async fn strangers_have_so_many_places() {
    let playing = start(token_access()).await;
    let mut inside = Vec::new();
    for _ in 0..gateway::limits::STRANGERS_MAX {
        inside.push(dial(playing.address, "/", &[]).await.expect("a place"));
    }
    assert_eq!(refused(playing.address, "/", &[]).await, 503);
    assert_eq!(inside[0].ask(&format!("login {TOKEN}")).await.as_deref(), Some("welcome main"));
    let _one = dial(playing.address, "/", &[]).await.expect("the place of who is known now");
    assert_eq!(refused(playing.address, "/", &[]).await, 503);
    let good = bearer(TOKEN);
    dial(playing.address, "/", &[("Authorization", &good)]).await.expect("who is known needs none");
    inside.clear();
    for _ in 0..100 {
        if refused(playing.address, "/", &[]).await == 101 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("places are not given back");
}

#[tokio::test]
async fn handshakes_that_are_none_are_refused() {
    let playing = start(Access::default()).await;
    let address = playing.address;
    let head = |lines: &str| {
        format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{lines}\r\n")
    };
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (lines, status) in [
        ("Sec-WebSocket-Version: 13\r\n".to_owned(), 400),
        ("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n".to_owned(), 400),
        (format!("Sec-WebSocket-Version: 8\r\n{key}"), 426),
        (key.to_owned(), 426),
    ] {
        let text = head(&format!("{lines}X-Close: 1\r\n")).replace("Connection: Upgrade", "Connection: Upgrade, close");
        assert_eq!(crate::server::http(address, &text).await.0, status, "{lines}");
    }
}

#[tokio::test]
async fn the_socket_in_the_file_system_is_the_users_own() {
    let playing = start_with(|options| options.access = token_access()).await;
    let path = playing.handle.socket().expect("a socket").to_owned();
    // Any origin: no page gets here.
    let request = websocket::DialRequest {
        host: "localhost".to_owned(),
        path: "/serve".to_owned(),
        headers: vec![("Origin".to_owned(), "http://evil.example".to_owned())],
    };
    let (mut hears, mut says, _) =
        websocket::dial_unix(&path, &request, crate::server::LIMITS, crate::server::plain()).await.expect("a socket");
    std::future::poll_fn(|context| host::MessageSink::poll_send(&mut says, context, b"who")).await.expect("sent");
    let answer = std::future::poll_fn(|context| host::MessageStream::poll_receive(&mut hears, context)).await;
    let answer = String::from_utf8(answer.expect("an answer")).expect("text");
    assert_eq!(answer, format!("user:{0} Scopes(15) {0}", host::user_name()));
}
