//! A client of `/acp` over HTTP, byte by byte: requests, streams of events, and a relay that can cut the network.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::process::TOKEN;

/// How long something may take before the test is called broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) type Headers<'a> = &'a [(&'a str, &'a str)];

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{:?}", String::from_utf8_lossy(&self.body)))
    }
}

/// The beginning of an answer, and the connection behind it.
struct Begun {
    stream: TcpStream,
    answer: Answer,
    rest: Vec<u8>,
}

async fn begin(address: &str, method: &str, path: &str, headers: Headers<'_>, body: &[u8]) -> Begun {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text.push_str("Host: localhost\r\n");
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    stream.write_all(text.as_bytes()).await.unwrap();
    // One that is refused before it is read may be cut off.
    let _ = stream.write_all(body).await;
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break at;
        }
        let count = timeout(PATIENCE, stream.read_buf(&mut bytes)).await.expect("an answer").unwrap();
        assert!(count > 0, "hung up: {:?}", String::from_utf8_lossy(&bytes));
    };
    let rest = bytes.split_off(end + 4);
    let head = String::from_utf8(bytes).unwrap();
    let mut lines = head.trim_end().split("\r\n");
    let status = lines.next().unwrap()[9..12].parse().unwrap();
    let headers = lines.filter_map(|it| it.split_once(": ")).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    Begun { stream, answer: Answer { status, headers, body: Vec::new() }, rest }
}

pub(crate) async fn send(address: &str, method: &str, path: &str, headers: Headers<'_>, body: &[u8]) -> Answer {
    let Begun { mut stream, mut answer, mut rest } = begin(address, method, path, headers, body).await;
    let length = answer.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    while rest.len() < length {
        let count = timeout(PATIENCE, stream.read_buf(&mut rest)).await.expect("a body").unwrap();
        assert!(count > 0, "cut off");
    }
    rest.truncate(length);
    answer.body = rest;
    answer
}

/// One event of a stream.
#[derive(Clone, Debug)]
pub(crate) struct SseEvent {
    pub(crate) id: String,
    pub(crate) data: Value,
}

/// A stream of events that is being read.
pub(crate) struct Events {
    stream: TcpStream,
    raw: Vec<u8>,
    text: Vec<u8>,
    pub(crate) head: Answer,
    pub(crate) comments: usize,
    waiting: VecDeque<SseEvent>,
    over: bool,
}

impl Events {
    /// `Err`: the status that it was refused with.
    pub(crate) async fn open(address: &str, headers: Headers<'_>) -> Result<Self, u16> {
        let Begun { stream, answer, rest } = begin(address, "GET", "/acp", headers, b"").await;
        if answer.status != 200 {
            return Err(answer.status);
        }
        let (text, waiting) = Default::default();
        Ok(Self { stream, raw: rest, text, head: answer, comments: 0, waiting, over: false })
    }

    /// The next event; `None`: the stream is over.
    pub(crate) async fn next(&mut self) -> Option<SseEvent> {
        timeout(PATIENCE, self.read()).await.expect("an event")
    }

    /// As long as one comes within this time.
    pub(crate) async fn within(&mut self, time: Duration) -> Option<SseEvent> {
        timeout(time, self.read()).await.ok().flatten()
    }

    async fn read(&mut self) -> Option<SseEvent> {
        loop {
            self.unchunk();
            self.cut();
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.over || self.stream.read_buf(&mut self.raw).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    fn unchunk(&mut self) {
        while let Some(at) = self.raw.windows(2).position(|it| it == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..at]).unwrap(), 16).unwrap();
            if self.raw.len() < at + 2 + size + 2 {
                return;
            }
            self.text.extend_from_slice(&self.raw[at + 2..at + 2 + size]);
            self.raw.drain(..at + 2 + size + 2);
            self.over |= size == 0;
        }
    }

    fn cut(&mut self) {
        while let Some(at) = self.text.windows(2).position(|it| it == b"\n\n") {
            let block: Vec<u8> = self.text.drain(..at + 2).collect();
            assert!(block.is_ascii(), "{:?}", String::from_utf8_lossy(&block));
            let block = String::from_utf8(block).unwrap();
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            match (field("id: "), field("data: ")) {
                (Some(id), Some(data)) => {
                    assert!(data.len() <= 1_000_000, "{} bytes", data.len());
                    self.waiting.push_back(SseEvent { id, data: serde_json::from_str(&data).unwrap() });
                }
                _ => {
                    assert_eq!(block, ":\n\n");
                    self.comments += 1;
                }
            }
        }
    }

    /// Everything up to the answer to this request, which comes last.
    pub(crate) async fn until_answer(&mut self, id: u64) -> Vec<SseEvent> {
        let mut all = Vec::new();
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("over before the answer {id}: {all:?}"));
            let is_last = event.data.get("method").is_none() && event.data["id"] == json!(id);
            all.push(event);
            if is_last {
                return all;
            }
        }
    }

    pub(crate) async fn until(&mut self, what: impl Fn(&Value) -> bool) -> SseEvent {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if what(&event.data) {
                return event;
            }
        }
    }
}

/// The text of all chunks of a kind.
pub(crate) fn text_of(events: &[SseEvent], kind: &str) -> String {
    let updates = events.iter().map(|event| &event.data["params"]["update"]);
    updates.filter(|it| it["sessionUpdate"] == kind).filter_map(|it| it["content"]["text"].as_str()).collect()
}

/// One connection.
pub(crate) struct Remote {
    pub(crate) address: String,
    pub(crate) id: String,
    bearer: String,
    numbers: u64,
}

pub(crate) const JSON: (&str, &str) = ("Content-Type", "application/json");
pub(crate) const SSE: (&str, &str) = ("Accept", "text/event-stream");

impl Remote {
    pub(crate) async fn connect(address: &str) -> Self {
        Self::connect_as(address, TOKEN).await
    }

    pub(crate) async fn connect_as(address: &str, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}});
        let headers = [JSON, ("Authorization", bearer.as_str())];
        let answer = send(address, "POST", "/acp", &headers, message.to_string().as_bytes()).await;
        assert_eq!(answer.status, 200, "{:?}", String::from_utf8_lossy(&answer.body));
        let id = answer.header("acp-connection-id").unwrap().to_owned();
        assert_eq!(answer.json()["result"]["connectionId"], json!(id));
        Self { address: address.to_owned(), id, bearer, numbers: 0 }
    }

    pub(crate) async fn post(&self, message: &Value, session: Option<&str>) -> Answer {
        let mut headers = vec![JSON, ("Authorization", &self.bearer), ("Acp-Connection-Id", &self.id)];
        headers.extend(session.map(|it| ("Acp-Session-Id", it)));
        send(&self.address, "POST", "/acp", &headers, message.to_string().as_bytes()).await
    }

    /// Posts a request; its number.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.numbers += 1;
        let session = params["sessionId"].as_str().map(str::to_owned);
        let message = json!({"jsonrpc": "2.0", "id": self.numbers, "method": method, "params": params});
        let answer = self.post(&message, session.as_deref()).await;
        assert_eq!((answer.status, answer.header("content-length")), (202, Some("0")), "{method}");
        self.numbers
    }

    pub(crate) async fn stream(&self, session: Option<&str>, last: Option<&str>) -> Result<Events, u16> {
        self.stream_at(&self.address, session, last).await
    }

    pub(crate) async fn stream_at(
        &self,
        address: &str,
        session: Option<&str>,
        last: Option<&str>,
    ) -> Result<Events, u16> {
        let mut headers = vec![SSE, ("Authorization", &self.bearer), ("Acp-Connection-Id", &self.id)];
        headers.extend(session.map(|it| ("Acp-Session-Id", it)));
        headers.extend(last.map(|it| ("Last-Event-ID", it)));
        Events::open(address, &headers).await
    }

    pub(crate) async fn delete(&self) -> u16 {
        let headers = [("Authorization", self.bearer.as_str()), ("Acp-Connection-Id", &self.id)];
        send(&self.address, "DELETE", "/acp", &headers, b"").await.status
    }

    /// A new session, with its stream and the connection's own.
    pub(crate) async fn session(&mut self, cwd: &str) -> (String, Events, Events) {
        let mut own = self.stream(None, None).await.unwrap();
        let asked = self.ask("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
        let all = own.until_answer(asked).await;
        let session = all.last().unwrap().data["result"]["sessionId"].as_str().unwrap().to_owned();
        let events = self.stream(Some(&session), None).await.unwrap();
        (session, own, events)
    }

    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        self.ask("session/prompt", params).await
    }
}

/// Passes bytes on until it is cut.
pub(crate) struct Relay {
    pub(crate) address: String,
}

impl Relay {
    /// Cuts by itself when the gateway has said so many bytes.
    pub(crate) async fn that_stops(gateway: &str, bytes_max: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (cut, hears) = watch::channel(false);
        let passed = Arc::new(AtomicUsize::new(0));
        let (gateway, counted, cuts) = (gateway.to_owned(), passed, cut);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (gateway, mut hears, counted, cuts) =
                    (gateway.clone(), hears.clone(), counted.clone(), cuts.clone());
                tokio::spawn(async move {
                    let Ok(far) = TcpStream::connect(&gateway).await else { return };
                    let (mut near_in, mut near_out) = near.into_split();
                    let (mut far_in, mut far_out) = far.into_split();
                    let there = tokio::io::copy(&mut near_in, &mut far_out);
                    let back = async {
                        let mut bytes = vec![0; 16 * 1024];
                        while let Ok(count) = far_in.read(&mut bytes).await {
                            let before = counted.fetch_add(count, Ordering::Relaxed);
                            let take = bytes_max.saturating_sub(before).min(count);
                            if count == 0 || near_out.write_all(&bytes[..take]).await.is_err() {
                                return;
                            }
                            if take < count {
                                let _ = cuts.send(true);
                                return;
                            }
                        }
                    };
                    tokio::select! {
                        _ = there => {}
                        () = back => {}
                        _ = hears.wait_for(|cut| *cut) => {}
                    }
                });
            }
        });
        Self { address }
    }
}
