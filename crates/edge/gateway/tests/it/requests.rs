//! Plain HTTP: pages, methods, bounds.

use std::time::Duration;

use gateway::limits::{DISCARD, DISCARDED_BYTES_MAX, DISCARDS_MAX};
use gateway::{Access, DashboardRules};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::{Playing, TOKEN, call, dial, get, http, refused, start, token_access};

#[tokio::test]
async fn pages_need_a_credential_and_probes_do_not() {
    let playing = start(token_access()).await;
    let good = format!("Authorization: Bearer {TOKEN}\r\n");
    for (path, headers, status, body) in [
        ("/livez", "", 200, "ok"),
        ("/readyz", "", 200, "ok"),
        ("/health", "", 401, "{\"error\":{\"code\":-4,"),
        ("/health", "Authorization: Bearer no\r\n", 401, "{\"error\":{\"code\":-5,"),
        ("/health", &good, 200, "{\"status\":\"ok\"}"),
        ("/api/health", &good, 200, "{\"status\":\"ok\"}"),
        ("/metrics", "", 401, "{\"error\""),
        ("/metrics", &good, 200, "tillerman_up 1"),
        ("/api/schema", &good, 200, "{\"openrpc\""),
        ("/api/absent", &good, 404, "{\"error\""),
        ("/webchat/push/public-key", "", 401, "{\"error\""),
        ("/webchat/push/public-key", &good, 404, "{\"error\""),
        ("/serve", &good, 426, "{\"error\""),
    ] {
        let (found, head, text) = get(&playing, path, headers).await;
        assert_eq!(found, status, "{path}: {head}");
        assert!(text.starts_with(body), "{path}: {text}");
        let head = head.to_ascii_lowercase();
        assert!(head.contains("cache-control: no-store") && head.contains("x-content-type-options: nosniff"), "{head}");
        assert!(head.contains("content-length: ") && !head.contains("\r\nserver:"), "{head}");
        assert_eq!(head.contains("www-authenticate: bearer"), status == 401, "{head}");
    }
    assert_eq!(call(&playing, "POST", "/webhooks/absent", "", "{}").await.0, 404);
    let (status, head, _) = call(&playing, "POST", "/health", &good, "").await;
    assert_eq!(status, 405);
    assert!(head.to_ascii_lowercase().contains("allow: get, head"), "{head}");
    let (status, _, body) = call(&playing, "HEAD", "/livez", "", "").await;
    assert_eq!((status, body.as_str()), (200, ""));
}

#[tokio::test]
async fn the_dashboard_is_given_to_everybody_or_to_who_is_known_or_to_nobody() {
    let browser = "Accept: text/html\r\n";
    let rules =
        |enabled, public_shell| Access { dashboard: DashboardRules { enabled, public_shell }, ..token_access() };
    let playing = start(rules(true, true)).await;
    for (path, headers, status) in [
        ("/", "", 200),
        ("/some/where", browser, 200),
        ("/some/where", "", 404),
        ("/api/some/where", browser, 404),
        ("/sw.js", "", 200),
        ("/manifest.webmanifest", "", 200),
        ("/icon.svg", "", 200),
    ] {
        let (found, head, _) = get(&playing, path, headers).await;
        assert_eq!(found, status, "{path}: {head}");
        let head = head.to_ascii_lowercase();
        assert!(status != 200 || head.contains("content-security-policy: default-src 'none'"), "{head}");
        assert!(status != 200 || head.contains("x-frame-options: deny"), "{head}");
    }
    let (_, head, packed) = get(&playing, "/", "Accept-Encoding: br, gzip\r\n").await;
    assert!(head.to_ascii_lowercase().contains("content-encoding: gzip") && !packed.contains("<html"), "{head}");
    let tag = head.lines().find_map(|line| line.to_ascii_lowercase().starts_with("etag: ").then(|| &line[6..]));
    let tag = tag.expect("a tag");
    for (named, status) in [
        (tag.to_owned(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"other\", W/\"another\" , {tag}"), 304),
        (format!("\"other\"\r\nIf-None-Match: {tag}"), 304),
        ("*".to_owned(), 304),
        ("\"other\"".to_owned(), 200),
        (tag.trim_matches('"').to_owned(), 200),
        (format!("w/{tag}"), 200),
    ] {
        let (found, head, body) = get(&playing, "/", &format!("If-None-Match: {named}\r\n")).await;
        assert_eq!((found, body.is_empty()), (status, status == 304), "{named}: {head}");
    }
    let playing = start(rules(true, false)).await;
    let (status, head, _) = get(&playing, "/", browser).await;
    assert_eq!(status, 401);
    assert!(head.to_ascii_lowercase().contains("www-authenticate: basic realm="), "{head}");
    let basic = |password: &str| {
        use base64::Engine as _;
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("anybody:{password}"));
        format!("Authorization: Basic {pair}\r\n")
    };
    assert_eq!(get(&playing, "/", &basic(TOKEN)).await.0, 200);
    assert_eq!(get(&playing, "/", &basic("wrong")).await.0, 401);
    let playing = start(rules(false, true)).await;
    assert_eq!(get(&playing, "/", browser).await.0, 404);
    assert_eq!(get(&playing, "/sw.js", "").await.0, 404);
}

#[tokio::test]
async fn pages_may_be_open_and_endpoints_never_are() {
    let playing = start(Access { auth_http: false, ..token_access() }).await;
    assert_eq!(get(&playing, "/health", "").await.0, 200);
    assert_eq!(refused(playing.address, "/serve", &[]).await, 401);
}

#[tokio::test]
async fn a_browser_logs_in_and_out() {
    let playing = start(token_access()).await;
    let body = format!("{{\"token\":\"{TOKEN}\"}}");
    let (status, head, _) = call(&playing, "POST", "/api/login", "", &body).await;
    assert_eq!(status, 200);
    let cookie = head.split("tm_session=").nth(1).and_then(|it| it.split(';').next()).expect("a cookie").to_owned();
    let cookie = format!("tm_session={cookie}");
    let mut socket = dial(playing.address, "/serve", &[("Cookie", &cookie)]).await.expect("a socket");
    assert_eq!(socket.ask("who").await.as_deref(), Some("token:main Scopes(15) main"));
    assert_eq!(get(&playing, "/health", &format!("Cookie: {cookie}\r\n")).await.0, 200);
    assert_eq!(call(&playing, "POST", "/api/logout", &format!("Cookie: {cookie}\r\n"), "").await.0, 200);
    assert_eq!(socket.close_of_server().await.expect("a close").0, 1008, "its sockets end with it");
    assert_eq!(get(&playing, "/health", &format!("Cookie: {cookie}\r\n")).await.0, 401);
    assert_eq!(call(&playing, "POST", "/api/login", "", "{\"token\":\"\"}").await.0, 401);
    assert_eq!(call(&playing, "POST", "/api/login", "", "nonsense").await.0, 400);
}

/// Many clients, Python's among them, read nothing before all of the body is written: who closes meanwhile is a broken pipe to
/// them, and the answer is lost.
#[tokio::test]
async fn who_sends_too_much_reads_why() {
    let playing = start(token_access()).await;
    let body = "x".repeat(DISCARDED_BYTES_MAX / 4);
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let head = |length: String| format!("POST /api/login HTTP/1.1\r\nHost: localhost\r\n{length}\r\n\r\n");
    for (length, body) in
        [(format!("Content-Length: {}", body.len()), body), ("Transfer-Encoding: chunked".into(), chunk)]
    {
        let mut stream = TcpStream::connect(playing.address).await.unwrap();
        stream.write_all(head(length.clone()).as_bytes()).await.unwrap();
        for piece in body.as_bytes().chunks(64 * 1024) {
            stream.write_all(piece).await.unwrap_or_else(|error| panic!("{length}: {error}"));
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap_or_else(|error| panic!("{length}: {error}"));
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("connection: close"), "{answer}");
        assert!(answer.ends_with(r#"{"error":{"code":-2,"message":"the body is too long"}}"#), "{answer}");
    }
    // Who asks before sending is spared it.
    let mut stream = TcpStream::connect(playing.address).await.unwrap();
    let asks = format!("Content-Length: {}\r\nExpect: 100-continue", 2 * 1024 * 1024);
    stream.write_all(head(asks).as_bytes()).await.unwrap();
    let mut line = [0; 13];
    stream.read_exact(&mut line).await.unwrap();
    assert_eq!(std::str::from_utf8(&line), Ok("HTTP/1.1 413 "));
}

/// Writes a whole request before it reads.
async fn written_first(playing: &Playing, head: &str, body: &str) -> Result<String, String> {
    let said = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(playing.address).await.map_err(said)?;
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes()).await.map_err(said)?;
    for piece in body.as_bytes().chunks(64 * 1024) {
        stream.write_all(piece).await.map_err(said)?;
    }
    // Whoever has read the answer may ask again on the same connection.
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.map_err(said)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.map_err(said)?;
    Ok(answer)
}

#[tokio::test]
async fn who_is_answered_before_the_body_is_read_reads_the_answer() {
    let playing = start(token_access()).await;
    let body = "x".repeat(DISCARDED_BYTES_MAX / 4);
    for (path, headers, want) in [
        ("/nothing", "Host: localhost", 404),
        ("/health", "Host: localhost", 405),
        ("/webchat/nothing", "Host: localhost", 401),
        ("/webchat/nothing", "Host: localhost\r\nAuthorization: Bearer wrong", 401),
        ("/api/login", "Host: localhost\r\nOrigin: https://else.example", 403),
        ("/api/login", "Host: else.example", 421),
        ("/serve", "Host: localhost", 426),
    ] {
        let head = format!("POST {path} HTTP/1.1\r\n{headers}\r\n");
        let answer = written_first(&playing, &head, &body).await.unwrap_or_else(|error| panic!("{want}: {error}"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {want} ")), "{want}: {answer}");
        assert!(answer.contains("HTTP/1.1 200 OK"), "{want}: the connection goes on: {answer}");
    }
}

#[tokio::test]
async fn what_nobody_wants_is_read_for_so_many_at_once_and_not_for_ever() {
    let playing = start(token_access()).await;
    let head = "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
    let answered = async || {
        let mut stream = TcpStream::connect(playing.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut line = [0; 13];
        stream.read_exact(&mut line).await.unwrap();
        assert_eq!(std::str::from_utf8(&line), Ok("HTTP/1.1 404 "));
        stream
    };
    let is_closed = async |stream: &mut TcpStream, patience: Duration| {
        tokio::time::timeout(patience, stream.read_to_end(&mut Vec::new())).await.is_ok()
    };
    let mut held = Vec::new();
    for _ in 0..DISCARDS_MAX {
        held.push(answered().await);
    }
    let begun = tokio::time::Instant::now();
    let mut newest = answered().await;
    assert!(is_closed(&mut held[0], DISCARD / 2).await, "whoever sends longest makes room");
    assert!(!is_closed(&mut newest, DISCARD / 10).await, "strangers keep nobody out");
    for stream in held.iter_mut().chain([&mut newest]) {
        let left = (DISCARD + Duration::from_secs(5)).saturating_sub(begun.elapsed());
        assert!(is_closed(stream, left).await, "they have their time and no more");
    }
    let mut later = answered().await;
    assert!(!is_closed(&mut later, DISCARD / 5).await, "there is room again");
}

#[tokio::test]
async fn what_is_too_long_is_for_the_configuration_to_say() {
    let playing = start(Access { body_bytes_max: 2048, ..token_access() }).await;
    let body = |bytes: usize| format!("{{\"token\":\"{}\"}}", "x".repeat(bytes));
    assert_eq!(call(&playing, "POST", "/api/login", "", &body(2000)).await.0, 401);
    assert_eq!(call(&playing, "POST", "/api/login", "", &body(2048)).await.0, 413);
}

#[tokio::test]
async fn what_is_too_long_is_not_read_for_ever() {
    let playing = start(token_access()).await;
    let head = "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
    // By bytes,
    let mut stream = TcpStream::connect(playing.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b'x'; 1024 * 1024];
    let mut written = 0;
    while stream.write_all(&piece).await.is_ok() {
        written += piece.len();
        assert!(written < DISCARDED_BYTES_MAX * 2, "it is still read");
    }
    // and by time.
    let mut stream = TcpStream::connect(playing.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let closed = tokio::time::timeout(DISCARD + Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
    assert!(closed.is_ok() && answer.starts_with(b"HTTP/1.1 413 "), "{closed:?}");
}

#[tokio::test]
async fn what_is_too_long_is_refused() {
    let playing = start(token_access()).await;
    let long = "x".repeat(1024 * 1024 + 1);
    assert_eq!(call(&playing, "POST", "/api/login", "", &long).await.0, 413);
    let header = format!("X-Long: {}\r\n", "x".repeat(40 * 1024));
    assert_eq!(get(&playing, "/livez", &header).await.0, 431);
    let (status, ..) = http(playing.address, "nonsense\r\n\r\n").await;
    assert_eq!(status, 400);
}
