//! `web_fetch` against a server of our own on the loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use builtin_tools::web_fetch::{FetchOptions, tool};
use serde_json::json;
use vocab::{CallContext, Json, Outcome, Required, parts_text};

/// Answers by path, records what it was sent.
pub(crate) struct PageServer {
    pub(crate) address: SocketAddr,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl PageServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || answer(stream.unwrap(), &seen));
            }
        });
        Self { address, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn fetch(&self, path: &str) -> (String, bool) {
        shown(&fetch(json!({ "url": self.url(path) })).await)
    }
}

fn answer(mut stream: TcpStream, seen: &Mutex<Vec<String>>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        request.push(byte[0]);
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(request);
    let reply = |status: &str, headers: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    };
    let text = match path.split('?').next().unwrap() {
        "/page" => reply(
            "200 OK",
            "content-type: text/html; charset=utf-8\r\n",
            "<h1>Hi &amp; lo</h1><script>evil()</script><p>See <a href='/json'>this</a>.",
        ),
        "/json" => reply("200 OK", "content-type: application/json\r\n", "{\"a\":[1,2]}"),
        "/gone" => reply("404 Not Found", "content-type: text/plain\r\n", "no such page"),
        "/zip" => reply("200 OK", "content-type: application/zip\r\n", "PK\x03\x04"),
        "/binary" => reply("200 OK", "", "a\0b"),
        "/bare" => reply("200 OK", "", "<!DOCTYPE html><p>bare"),
        "/empty" => reply("200 OK", "content-type: text/plain\r\n", ""),
        "/long" => reply("200 OK", "content-type: text/plain\r\n", &"ü".repeat(100_000)),
        "/huge" => reply("200 OK", "content-type: text/plain\r\n", &"x".repeat(5 << 20)),
        "/cut" => "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nshort".to_owned(),
        "/to-page" => reply("302 Found", "location: ./page\r\n", ""),
        "/to-file" => reply("302 Found", "location: file:///etc/passwd\r\n", ""),
        "/to-user" => reply("301 Moved", "location: http://u:p@127.0.0.1/\r\n", ""),
        "/away" => {
            let (_, port) = path.split_once('?').unwrap();
            reply("302 Found", &format!("location: http://127.0.0.1:{port}/json\r\n"), "")
        }
        "/loop" => reply("307 Again", "location: /loop\r\n", ""),
        "/hang" => return std::thread::sleep(Duration::from_secs(20)),
        hop if hop.starts_with("/hop") => {
            let left: u32 = hop[4..].parse().unwrap();
            let next = if left == 1 { "/json".to_owned() } else { format!("/hop{}", left - 1) };
            reply("308 Over there", &format!("location: {next}\r\n"), "")
        }
        other => panic!("no answer for {other}"),
    };
    // The client may have read enough.
    let _ = stream.write_all(text.as_bytes());
}

async fn fetch(input: serde_json::Value) -> Outcome {
    fetch_as(input, Required::DangerFullAccess, FetchOptions::default()).await
}

pub(crate) async fn fetch_as(input: serde_json::Value, granted: Required, options: FetchOptions) -> Outcome {
    let context = CallContext {
        session: "s".into(),
        call: "c".into(),
        granted,
        progress: Arc::new(|_| {}),
        todos: Arc::from([]),
        editor_requests: None,
        children: None,
        processes: None,
    };
    tool(options).run(Json::trusted(input.to_string()), context).await
}

pub(crate) fn shown(outcome: &Outcome) -> (String, bool) {
    (parts_text(&outcome.parts), outcome.is_error)
}

#[tokio::test]
async fn pages_become_text_and_data_stays_as_it_is() {
    let server = PageServer::start();
    let link = server.url("/json");
    assert_eq!(server.fetch("/page").await, (format!("# Hi & lo\n\nSee this ({link})."), false));
    assert_eq!(server.fetch("/json").await, ("{\"a\":[1,2]}".into(), false));
    assert_eq!(server.fetch("/bare").await, ("bare".into(), false));
    assert_eq!(server.fetch("/empty").await, ("(empty)".into(), false));
    let raw = shown(&fetch(json!({ "url": server.url("/page"), "raw": true })).await).0;
    assert!(raw.contains("<script>evil()"));
}

#[tokio::test]
async fn what_is_not_text_is_named_and_not_read() {
    let server = PageServer::start();
    let (text, is_error) = server.fetch("/zip").await;
    assert!(is_error && text.contains("application/zip of 4 bytes"), "{text}");
    let (text, is_error) = server.fetch("/binary").await;
    assert!(is_error && text.contains("binary, 3 bytes"), "{text}");
}

#[tokio::test]
async fn failures_are_explained() {
    let server = PageServer::start();
    let (text, is_error) = server.fetch("/gone").await;
    assert!(is_error && text.contains("status 404") && text.contains("no such page"), "{text}");
    let (text, is_error) = server.fetch("/cut").await;
    assert!(is_error && text.contains("broke off"), "{text}");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (text, is_error) = shown(&fetch(json!({ "url": format!("http://{free}/") })).await);
    assert!(is_error && text.contains("cannot be reached") && text.to_lowercase().contains("refused"), "{text}");
}

#[tokio::test]
async fn redirects_are_followed_within_bounds_and_only_to_the_web() {
    let server = PageServer::start();
    let (text, is_error) = server.fetch("/to-page").await;
    assert!(!is_error && text.starts_with(&format!("[redirected to {}]\n# Hi", server.url("/page"))), "{text}");
    assert!(!server.fetch("/hop5").await.1);
    for path in ["/hop6", "/loop"] {
        let (text, is_error) = server.fetch(path).await;
        assert!(is_error && text.contains("more than 5 redirects"), "{text}");
    }
    for (path, why) in [("/to-file", "scheme \"file\""), ("/to-user", "user name or password")] {
        let (text, is_error) = server.fetch(path).await;
        assert!(is_error && text.contains(why), "{text}");
    }
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_told_and_not_followed() {
    let (server, other) = (PageServer::start(), PageServer::start());
    let (text, is_error) = server.fetch(&format!("/away?{}", other.address.port())).await;
    assert!(is_error && text.contains(&format!("redirects to {}", other.url("/json"))), "{text}");
    assert!(text.contains("fetch that URL"), "{text}");
    assert_eq!(other.requests.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn this_machine_is_fetched_from_when_it_is_named() {
    let server = PageServer::start();
    let port = server.address.port();
    for host in ["localhost", "127.1", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{port}/json");
        let (text, is_error) = shown(&fetch(json!({ "url": url })).await);
        assert!(!is_error && text == "{\"a\":[1,2]}", "{host}: {text}");
    }
}

#[tokio::test]
async fn long_texts_and_bodies_are_cut_and_say_so() {
    let server = PageServer::start();
    let (text, _) = shown(&fetch(json!({ "url": server.url("/long"), "max_bytes": 1001 })).await);
    assert!(text.starts_with(&"ü".repeat(500)) && text.contains("[... 199000 bytes omitted"), "{}", text.len());
    let outcome = fetch(json!({ "url": server.url("/huge"), "max_bytes": 10_000_000 })).await;
    let text = parts_text(&outcome.parts);
    assert!(text.len() < 257 * 1024 && text.contains("[the body is longer than 2097152 bytes"));
}

#[tokio::test]
async fn a_silent_server_does_not_hold_the_call() {
    let server = PageServer::start();
    let start = Instant::now();
    let options = FetchOptions { timeout: Duration::from_millis(200), ..FetchOptions::default() };
    let (text, is_error) =
        shown(&fetch_as(json!({ "url": server.url("/hang") }), Required::DangerFullAccess, options).await);
    assert!(is_error && text.contains("within 0.2 s"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn nothing_of_ours_is_sent_and_nothing_without_permission() {
    let server = PageServer::start();
    server.fetch("/json?q=1").await;
    let request = server.requests.lock().unwrap()[0].to_lowercase();
    assert!(request.starts_with("get /json?q=1 http/1.1\r\n"), "{request}");
    for absent in ["authorization", "cookie", "referer", "accept-encoding"] {
        assert!(!request.contains(absent), "{request}");
    }
    let input = json!({ "url": server.url("/json") });
    assert!(fetch_as(input, Required::WorkspaceWrite, FetchOptions::default()).await.is_error);
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

#[test]
fn a_plan_shows_the_url_or_says_what_is_wrong_with_it() {
    let plan = |url: &str| tool(FetchOptions::default()).plan(&Json::trusted(json!({ "url": url }).to_string()));
    let good = plan("https://example.org/a#b").unwrap();
    assert_eq!((good.required, &*good.summary), (Required::DangerFullAccess, "GET https://example.org/a"));
    for (url, shown) in [
        ("http://127.1:8/x", "GET http://127.0.0.1:8/x (a loopback address: this machine)"),
        ("http://0/", "GET http://0.0.0.0/ (an unspecified address: this machine)"),
        ("http://2852039166/", "GET http://169.254.169.254/ (a link-local address, where clouds keep credentials)"),
        ("http://[::ffff:a00:1]/", "GET http://10.0.0.1/ (an address of a private network)"),
        ("http://localhost:3000/", "GET http://localhost:3000/ (a loopback address: this machine)"),
    ] {
        assert_eq!(&*plan(url).unwrap().summary, shown);
    }
    for (bad, why) in
        [("http://u:p@h/", "password"), ("ftp://h/", "ftp"), ("h/x", "http://"), ("http://a/b c", "percent-encode")]
    {
        let error = plan(bad).unwrap_err();
        assert!(error.contains(why), "{bad}: {error}");
    }
}
