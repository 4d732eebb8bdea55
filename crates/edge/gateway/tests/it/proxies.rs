//! Behind a proxy on this machine: it speaks for others, so its own process makes nobody known; pages that it serves under TLS
//! are pages of ours.

use gateway::{Access, SocketChoice};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::{TOKEN, call, dial, http, start, start_with, token_access};

fn named() -> Vec<String> {
    vec!["box.example".to_owned()]
}

#[tokio::test]
async fn g1_a_proxy_of_ours_brings_nobody_in_without_a_token() {
    let playing = start(Access { hostnames: named(), ..Access::default() }).await;
    let address = playing.address;
    let ask = |host: &str, more: &str| {
        let text = format!("GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n");
        async move { http(address, &text).await.0 }
    };
    assert_eq!(ask(&address.to_string(), "").await, 200, "we ourselves");
    // As nginx comes that was told nothing but where to go.
    assert_eq!(ask("box.example", "").await, 401, "by the name of the proxy");
    for header in ["X-Forwarded-For: 1.2.3.4", "X-Forwarded-Proto: https", "Via: 1.1 x", "Forwarded: for=1.2.3.4"] {
        assert_eq!(ask(&address.to_string(), &format!("{header}\r\n")).await, 401, "{header}");
    }
}

#[tokio::test]
async fn g1_the_socket_in_the_file_system_is_no_way_around_it() {
    let playing = start_with(|options| options.socket = SocketChoice::InHome).await;
    let path = playing.home.path().join("gateway/gateway.sock");
    let ask = |more: &'static str| {
        let path = path.clone();
        async move {
            let mut stream = tokio::net::UnixStream::connect(path).await.expect("a socket");
            let text = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n");
            stream.write_all(text.as_bytes()).await.expect("written");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("read");
            answer[9..12].to_owned()
        }
    };
    assert_eq!(ask("").await, "200");
    assert_eq!(ask("X-Forwarded-For: 1.2.3.4\r\n").await, "401");
}

#[tokio::test]
async fn g2_a_page_behind_tls_of_the_proxy_is_our_own() {
    let playing = start(Access { hostnames: named(), ..token_access() }).await;
    let address = playing.address;
    let body = format!("{{\"token\":\"{TOKEN}\"}}");
    let login = |host: &str, origin: &str, more: &str| {
        let length = body.len();
        let text = format!(
            "POST /api/login HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: close\r\n\
             Content-Length: {length}\r\n{more}\r\n{body}"
        );
        async move { http(address, &text).await }
    };
    let by_tls = "X-Forwarded-Proto: https\r\n";
    for host in ["box.example", "box.example:8443"] {
        let (status, head, _) = login(host, &format!("https://{host}"), by_tls).await;
        assert_eq!(status, 200, "{host}");
        assert!(head.contains("; Secure"), "{head}");
    }
    assert_eq!(login("box.example", "https://box.example", "").await.0, 403, "nobody says that it came by TLS");
    assert_eq!(login("box.example:8443", "https://box.example", by_tls).await.0, 403, "another port");
    assert_eq!(login("box.example", "https://evil.example", by_tls).await.0, 403);
    let (_, head, _) = login("box.example", "http://box.example", "").await;
    assert!(!head.contains("; Secure"), "a cookie that would never come back: {head}");
    let own = format!("http://{address}");
    dial(address, "/", &[("Origin", &own)]).await.expect("our own page");
}

#[tokio::test]
async fn a_request_has_one_host() {
    let playing = start(token_access()).await;
    let two = call(&playing, "GET", "/livez", "Host: evil.example\r\n", "").await;
    assert_eq!(two.0, 400);
}
