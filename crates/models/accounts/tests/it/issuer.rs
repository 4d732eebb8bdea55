//! An issuer on loopback: HTTP by hand, replies in the order a test has laid them out, every request kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

#[derive(Clone)]
pub(crate) enum IssuerReply {
    Say(u16, String),
    /// Waits for [`TestIssuer::release`] before it answers.
    Held(u16, String),
    /// The head and half a body, and then nothing more.
    Stuck,
    /// Closes the connection without a word.
    Drop,
}

impl IssuerReply {
    pub(crate) fn json(status: u16, value: Value) -> Self {
        IssuerReply::Say(status, value.to_string())
    }
    pub(crate) fn error(status: u16, code: &str) -> Self {
        IssuerReply::json(status, serde_json::json!({ "error": code }))
    }
}

#[derive(Clone)]
pub(crate) struct IssuerRequest {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl IssuerRequest {
    pub(crate) fn form(&self, name: &str) -> Option<String> {
        crate::support::query_value(&self.body, name)
    }
}

struct IssuerState {
    replies: Mutex<HashMap<String, VecDeque<IssuerReply>>>,
    heard: Mutex<Vec<IssuerRequest>>,
    count: watch::Sender<usize>,
    gate: Semaphore,
}

#[derive(Clone)]
pub(crate) struct TestIssuer {
    pub(crate) url: String,
    inner: Arc<IssuerState>,
}

impl TestIssuer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(IssuerState {
            replies: Mutex::default(),
            heard: Mutex::default(),
            count: watch::Sender::new(0),
            gate: Semaphore::new(0),
        });
        let shared = inner.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { url, inner }
    }

    /// Replies for a path, used up one by one; without one it is a 404.
    pub(crate) fn on(&self, path: &str, replies: impl IntoIterator<Item = IssuerReply>) {
        self.inner.replies.lock().unwrap().entry(path.to_owned()).or_default().extend(replies);
    }

    pub(crate) fn heard(&self, path: &str) -> Vec<IssuerRequest> {
        self.inner.heard.lock().unwrap().iter().filter(|it| it.path == path).cloned().collect()
    }

    /// Waits until so many requests have come in all.
    pub(crate) async fn requests(&self, count: usize) {
        let mut seen = self.inner.count.subscribe();
        let waited = tokio::time::timeout(Duration::from_secs(10), seen.wait_for(|it| *it >= count));
        waited.await.expect("the requests come").unwrap();
    }

    pub(crate) fn release(&self) {
        self.inner.gate.add_permits(1);
    }
}

async fn serve(mut stream: TcpStream, inner: Arc<IssuerState>) {
    let mut input = Vec::new();
    let head_end = loop {
        if let Some(at) = input.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut input).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let head = String::from_utf8_lossy(&input[..head_end]).into_owned();
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    while input.len() < head_end + length.unwrap_or(0) {
        if stream.read_buf(&mut input).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let path = head.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
    let body = String::from_utf8_lossy(&input[head_end..]).into_owned();
    inner.heard.lock().unwrap().push(IssuerRequest { path: path.clone(), head, body });
    let reply = inner.replies.lock().unwrap().get_mut(&path).and_then(VecDeque::pop_front);
    inner.count.send_modify(|count| *count += 1);
    match reply.unwrap_or_else(|| IssuerReply::error(404, "no_such_path")) {
        IssuerReply::Say(status, body) => say(&mut stream, status, &body).await,
        IssuerReply::Held(status, body) => {
            inner.gate.acquire().await.unwrap().forget();
            say(&mut stream, status, &body).await;
        }
        IssuerReply::Stuck => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"access").await;
            std::future::pending::<()>().await;
        }
        IssuerReply::Drop => {}
    }
}

async fn say(stream: &mut TcpStream, status: u16, body: &str) {
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    // A client that has heard enough closes; that is its right.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
}
