//! Somebody who guesses, through the binary: a thousand tries of every kind, of which a few are looked at, and whom it keeps out.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::process::{Gateway, Place, TOKEN};
use crate::socket::{Socket, Visitor};

const TRIES: usize = 1_000;
/// What is looked at within a minute, of tokens and of cookies.
const LOOKED_AT: usize = 20;

/// An address of this machine that others reach it by; nothing is sent.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("198.51.100.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
}

/// What is said to one request: the status, and all of it.
fn told(mut stream: impl Read + Write, host: &str, first: &str, headers: &str, body: &str) -> (u16, String) {
    let length = body.len();
    write!(stream, "{first} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n{headers}\r\n{body}").unwrap();
    let (mut answer, mut text) = ([0; 4096], String::new());
    // A socket that is refused waits for our part of the goodbye.
    while !(text.starts_with("HTTP/1.1 101") && text.contains("\"code\":-5")) {
        match stream.read(&mut answer) {
            Ok(count @ 1..) => text += &String::from_utf8_lossy(&answer[..count]),
            _ => break,
        }
    }
    (text.get(9..12).and_then(|it| it.parse().ok()).unwrap_or(0), text)
}

const CLOSE: &str = "Connection: close\r\n";
const UPGRADE: &str = "Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

fn base64(text: &str, url_safe: bool) -> String {
    use base64::Engine as _;
    match url_safe {
        true => base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text),
        false => base64::engine::general_purpose::STANDARD.encode(text),
    }
}

/// How one may try over HTTP.
#[derive(Clone, Copy, PartialEq, Debug)]
enum By {
    Bearer,
    Basic,
    Subprotocol,
    Login,
    Cookie,
}

fn tried(address: &str, by: By, token: &str) -> (u16, String) {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let get = |headers: String| told(&stream, address, "GET /health", &format!("{CLOSE}{headers}"), "");
    match by {
        By::Bearer => get(format!("Authorization: Bearer {token}\r\n")),
        By::Basic => get(format!("Authorization: Basic {}\r\n", base64(&format!("me:{token}"), false))),
        By::Cookie => get(format!("Cookie: tm_session={token}\r\n")),
        By::Subprotocol => {
            let offered = format!("Sec-WebSocket-Protocol: tillerman.v1, bearer.{}\r\n", base64(token, true));
            told(&stream, address, "GET /", &format!("{UPGRADE}{offered}"), "")
        }
        By::Login => told(&stream, address, "POST /api/login", CLOSE, &json!({ "token": token }).to_string()),
    }
}

/// A wrong one of a page that is ours by its own words, each time in others.
fn tried_as_page(address: &str, guess: usize) -> (u16, String) {
    let stream = TcpStream::connect(address).unwrap();
    let own = match guess % 2 {
        0 => format!("localhost:{}", 1_000 + guess),
        _ => format!("127.0.0.{}", 2 + guess % 250),
    };
    let headers = format!("{CLOSE}Origin: http://{own}{}\r\n", "/".repeat(guess % 7));
    told(&stream, &own, "GET /health", &format!("{headers}Authorization: Bearer guess-{guess}\r\n"), "")
}

/// Whether a wrong one was looked at. One that was not is told how long to wait, and nothing else.
fn was_looked_at(by: By, (status, text): (u16, String)) -> bool {
    match status {
        429 => {
            let wait =
                text.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("retry-after: ")?.parse().ok());
            assert!(wait.is_some_and(|wait: u64| (1..=60).contains(&wait)), "{by:?}: {text}");
            false
        }
        401 | 101 => {
            assert_eq!(status == 101, by == By::Subprotocol, "{by:?}: {text}");
            assert!(text.contains("\"code\":-5"), "{by:?}: {text}");
            true
        }
        _ => panic!("{by:?}: {text}"),
    }
}

/// A visitor who says nothing of themselves, and logs in later.
async fn stranger(gateway: &Gateway) -> Result<Socket, u16> {
    Socket::open_as(gateway, &Visitor::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn g3_of_a_thousand_guesses_twenty_of_a_kind_are_looked_at() {
    let elsewhere = own_address();
    let names = elsewhere.map(|it| format!("  hostnames: ['{it}']\n")).unwrap_or_default();
    let mut place = Place::with(&format!("server:\n{names}"));
    place.arguments = ["--host", "0.0.0.0", "--i-understand-no-auth"].map(str::to_owned).to_vec();
    let mut gateway = place.start();
    let port = gateway.address.rsplit_once(':').unwrap().1.to_owned();
    gateway.address = format!("127.0.0.1:{port}");
    let (address, began) = (gateway.address.clone(), Instant::now());
    let mut early = stranger(&gateway).await.unwrap();
    let mut knocking: Option<Socket> = None;
    let (mut tokens, mut cookies, mut by_message) = (0, 0, 0);
    for guess in 0..TRIES {
        let wrong = format!("guess-{guess}");
        let by = match guess % 6 {
            0 => By::Bearer,
            1 => By::Basic,
            2 => By::Subprotocol,
            3 => By::Login,
            4 => By::Cookie,
            _ => {
                if knocking.is_none() {
                    knocking = stranger(&gateway).await.map_err(|status| assert_eq!(status, 429)).ok();
                }
                let Some(socket) = &mut knocking else { continue };
                let refused = socket.call("auth.login", json!({ "token": wrong })).await.unwrap_err();
                assert_eq!(refused["code"], -5, "{refused}");
                by_message += usize::from(refused["data"]["reason"] == "auth_failed");
                if by_message % 3 == 0 || refused["data"]["reason"] == "rate_limited" {
                    knocking = None;
                }
                continue;
            }
        };
        let was_looked_at = usize::from(was_looked_at(by, tried(&address, by, &wrong)));
        *(if by == By::Cookie { &mut cookies } else { &mut tokens }) += was_looked_at;
        if guess == 200 {
            // Somebody who was let in before it began, and who is right.
            let refused = early.call("auth.login", json!({ "token": TOKEN })).await.unwrap_err();
            assert_eq!(
                (&refused["code"], &refused["data"]["reason"]),
                (&json!(-5), &json!("rate_limited")),
                "{refused}"
            );
        }
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(60), "the minute was over: {took:?}");
    assert_eq!((tokens + by_message, cookies), (LOOKED_AT, LOOKED_AT), "{by_message} of them by message");
    assert!(by_message > 0, "a message is a way to try");
    let as_own_page = (0..TRIES / 5).filter(|guess| was_looked_at(By::Bearer, tried_as_page(&address, *guess))).count();
    assert_eq!(as_own_page, LOOKED_AT, "our own page is one guesser, whatever it calls us and itself");
    // The right one from the same address is not looked at either, however it comes.
    for by in [By::Bearer, By::Basic, By::Subprotocol, By::Login] {
        assert!(!was_looked_at(by, tried(&address, by, TOKEN)), "{by:?}");
    }
    // From elsewhere it is good: the Unix socket, and an address of the network.
    let right = format!("{CLOSE}Authorization: Bearer {TOKEN}\r\n");
    let unix = UnixStream::connect(place.home.path().join("tillerman/gateway/gateway.sock")).unwrap();
    let (status, numbers) = told(&unix, "localhost", "GET /metrics", &right, "");
    assert_eq!(status, 200, "{numbers}");
    let failures = numbers.lines().find_map(|line| line.strip_prefix("tillerman_auth_failures_total "));
    assert_eq!(failures, Some("60"), "what the gateway has counted itself");
    match elsewhere {
        Some(ip) => assert_eq!(tried(&format!("{ip}:{port}"), By::Bearer, TOKEN).0, 200, "{ip}"),
        None => println!("SKIP: this machine has no address but loopback"),
    }
    println!("{TRIES} guesses in {took:?}, {} looked at", tokens + by_message + cookies);
}
