//! A server of tools on loopback: HTTP/1.1 by hand, a connection per request, every request kept.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use vocab::{McpServer, McpTransport, Secret};

pub(crate) const KEY: &str = "Bearer canary-9b1c77";

#[derive(Clone)]
pub(crate) struct WebRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl WebRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
    /// `DELETE`, or the method of the protocol, or `answer`.
    pub(crate) fn what(&self) -> String {
        match self.method.as_str() {
            "POST" => self.body["method"].as_str().unwrap_or("answer").to_owned(),
            other => other.to_owned(),
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct WebServer {
    heard: Arc<Mutex<Vec<WebRequest>>>,
    /// Sessions that were made; the last one counts.
    sessions: Arc<AtomicUsize>,
    pub(crate) url: String,
    /// It has a stream for questions of its own.
    asks: bool,
}

impl WebServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(false).await
    }

    pub(crate) async fn start_with(asks: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp/?team=canary-query", listener.local_addr().unwrap());
        let server = Self { url, asks, ..Self::default() };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = serving.clone();
                tokio::spawn(async move { server.serve(stream).await });
            }
        });
        server
    }

    pub(crate) fn as_tool_server(&self) -> McpServer {
        let headers = vec![("Authorization".into(), Secret::new(KEY).unwrap())];
        let way = McpTransport::Http { url: self.url.as_str().into(), headers };
        McpServer { name: "web".into(), way, trust_hints: false }
    }

    pub(crate) fn heard(&self) -> Vec<WebRequest> {
        self.heard.lock().unwrap().clone()
    }
    /// All but the stream that is asked for beside everything else: its place among the others is a matter of luck.
    pub(crate) fn said(&self) -> Vec<String> {
        self.heard().iter().map(WebRequest::what).filter(|what| what != "GET").collect()
    }
    /// From now on the client's session is unknown.
    pub(crate) fn forget(&self) {
        self.sessions.fetch_add(1, Ordering::SeqCst);
    }

    async fn serve(&self, mut stream: TcpStream) {
        let Some(heard) = read(&mut stream).await else { return };
        self.heard.lock().unwrap().push(heard.clone());
        let session = format!("session-{}", self.sessions.load(Ordering::SeqCst));
        let is_first = heard.what() == "initialize";
        if !is_first && heard.header("mcp-session-id") != Some(&session) {
            return answer(&mut stream, "404 Not Found", "", "who are you?").await;
        }
        let params = &heard.body["params"];
        let id = &heard.body["id"];
        let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        match heard.what().as_str() {
            "initialize" => {
                let header = format!("mcp-session-id: {session}\r\n");
                let welcome = json!({ "protocolVersion": "2025-03-26", "capabilities": { "tools": {} } });
                answer(&mut stream, "200 OK", &header, &result(welcome)).await;
            }
            "tools/list" => {
                let names = ["echo", "stream", "slow", "cut", "locked", "huge", "moved"];
                let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name, "inputSchema": {} })).collect();
                // As an event, with what a stream may have around it.
                let event = format!(": hello\nevent: message\nid: 1\ndata: {}\n\n", result(json!({ "tools": tools })));
                events(&mut stream, &[&event]).await;
            }
            "tools/call" => self.call(&mut stream, params, &result).await,
            "GET" if self.asks => {
                let ask = json!({ "jsonrpc": "2.0", "id": 7, "method": "roots/list" });
                events(&mut stream, &[": wait\n\n", &format!("data: {ask}\n\n")]).await;
                // Open until the other side closes it.
                let _ = stream.read_buf(&mut Vec::new()).await;
                self.heard.lock().unwrap().push(WebRequest { method: "closed".into(), ..heard });
            }
            "GET" => answer(&mut stream, "405 Method Not Allowed", "", "").await,
            "DELETE" => answer(&mut stream, "204 No Content", "", "").await,
            _ => answer(&mut stream, "202 Accepted", "", "").await,
        }
    }

    async fn call(&self, stream: &mut TcpStream, params: &Value, result: &impl Fn(Value) -> String) {
        let text = |text: &str| result(json!({ "content": [{ "type": "text", "text": text }] }));
        match params["name"].as_str().unwrap_or_default() {
            "echo" => {
                let said = params["arguments"]["text"].as_str().unwrap_or_default();
                answer(stream, "200 OK", "", &text(said)).await;
            }
            "stream" => {
                let token = &params["_meta"]["progressToken"];
                let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
                    "params": { "progressToken": token, "progress": 1, "message": "half" } });
                let ping = json!({ "jsonrpc": "2.0", "id": "their-1", "method": "ping" });
                let answer = text("streamed");
                let pieces = [format!("data: {progress}\n\ndata: {ping}\n\n"), format!("data: {answer}\n\n")];
                events(stream, &[&pieces[0], &pieces[1][..9], &pieces[1][9..]]).await;
            }
            "slow" => {
                events(stream, &[": wait\n\n"]).await;
                std::future::pending::<()>().await;
            }
            "cut" => events(stream, &["data: {\"jsonrpc\":\"2.0\",\"meth"]).await,
            "locked" => answer(stream, "401 Unauthorized", "", &format!("no entry with {KEY}")).await,
            "moved" => answer(stream, "307 Temporary Redirect", "location: https://x.example/mcp\r\n", "").await,
            "huge" => answer(stream, "200 OK", "", &text(&"x".repeat(mcp::MESSAGE_BYTES_MAX))).await,
            _ => answer(stream, "500 Oops", "", "").await,
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<WebRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        stream.read_buf(&mut bytes).await.ok().filter(|count| *count > 0)?;
    };
    let text = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let (first, head) = text.split_once("\r\n")?;
    let head: String = head
        .lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some(format!("{}: {}\n", name.to_ascii_lowercase(), value.trim()))
        })
        .collect();
    let mut words = first.split(' ').map(str::to_owned);
    let mut heard = WebRequest { method: words.next()?, path: words.next()?, head, body: Value::Null };
    let length = heard.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    while bytes.len() < end + length {
        stream.read_buf(&mut bytes).await.ok().filter(|count| *count > 0)?;
    }
    heard.body = serde_json::from_slice(&bytes[end..]).unwrap_or_default();
    Some(heard)
}

async fn answer(stream: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n");
    // A client may go away in the middle of it.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
}

async fn events(stream: &mut TcpStream, pieces: &[&str]) {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    let _ = stream.write_all(head.as_bytes()).await;
    for piece in pieces {
        let _ = stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).await;
        let _ = stream.flush().await;
    }
    if !pieces[0].starts_with(": wait") {
        let _ = stream.write_all(b"0\r\n\r\n").await;
    }
}
