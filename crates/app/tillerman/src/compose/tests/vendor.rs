//! All vendors at once, on loopback: issuer, model server and what else an account needs. HTTP by hand; every request is kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone)]
pub(super) struct VendorReply {
    status: u16,
    kind: &'static str,
    body: String,
}

pub(super) fn json(status: u16, value: Value) -> VendorReply {
    VendorReply { status, kind: "application/json", body: value.to_string() }
}

/// A model that says this and is done.
pub(super) fn says(text: &str) -> VendorReply {
    let chunk = json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": "stop" }] });
    VendorReply { status: 200, kind: "text/event-stream", body: format!("data: {chunk}\n\ndata: [DONE]\n\n") }
}

pub(super) fn granted(access: &str, refresh: &str) -> VendorReply {
    use base64::Engine;
    let claims = json!({ "https://api.openai.com/auth": { "chatgpt_account_id": "acct-7" } }).to_string();
    let id = format!("e30.{}.s", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(claims));
    json(200, json!({ "access_token": access, "refresh_token": refresh, "id_token": id, "expires_in": 3600 }))
}

#[derive(Clone)]
pub(super) struct HeardRequest {
    pub(super) head: String,
    pub(super) body: String,
}

impl HeardRequest {
    pub(super) fn bearer(&self) -> &str {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with("authorization:"));
        line.and_then(|line| line.split("Bearer ").nth(1)).unwrap_or("-")
    }
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
}

#[derive(Default)]
struct VendorState {
    replies: HashMap<String, VecDeque<VendorReply>>,
    heard: Vec<(String, HeardRequest)>,
}

#[derive(Clone)]
pub(super) struct FakeVendor {
    pub(super) url: String,
    state: Arc<Mutex<VendorState>>,
}

impl FakeVendor {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let vendor = Self { url: format!("http://{}", listener.local_addr().unwrap()), state: Arc::default() };
        let serving = vendor.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        vendor
    }

    /// Replies of a path from now on; the last one stays.
    pub(super) fn on(&self, path: &str, replies: impl IntoIterator<Item = VendorReply>) {
        self.state.lock().unwrap().replies.insert(path.to_owned(), replies.into_iter().collect());
    }

    pub(super) fn heard(&self, path: &str) -> Vec<HeardRequest> {
        let state = self.state.lock().unwrap();
        state.heard.iter().filter(|(at, _)| at == path).map(|(_, heard)| heard.clone()).collect()
    }

    async fn serve(self, mut stream: TcpStream) {
        let mut input = Vec::new();
        let end = loop {
            if let Some(at) = input.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut input).await.unwrap_or(0) == 0 {
                return;
            }
        };
        let head = String::from_utf8_lossy(&input[..end]).into_owned();
        let length = |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok();
        let length = head.lines().find_map(length).unwrap_or(0);
        while input.len() < end + length {
            if stream.read_buf(&mut input).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let path = head.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
        let body = String::from_utf8_lossy(&input[end..]).into_owned();
        let reply = {
            let mut state = self.state.lock().unwrap();
            state.heard.push((path.clone(), HeardRequest { head, body }));
            match state.replies.get_mut(&path) {
                Some(replies) if replies.len() > 1 => replies.pop_front(),
                Some(replies) => replies.front().cloned(),
                None => None,
            }
        };
        let VendorReply { status, kind, body } = reply.unwrap_or_else(|| json(404, json!({ "error": "no_such_path" })));
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}
