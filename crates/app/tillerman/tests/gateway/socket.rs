//! One client: another's WebSocket, and the frames that came and were not looked at yet.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use testkit::openrpc::FrameCheck;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async, connect_async};

use crate::process::{Gateway, TOKEN};

/// How long a frame may take before the test is called broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Socket<S = MaybeTlsStream<TcpStream>> {
    stream: WebSocketStream<S>,
    waiting: VecDeque<Value>,
    /// What it was closed with.
    closed: Option<u16>,
    /// The reason that came with it.
    pub(crate) why: String,
    ids: u64,
    /// Whatever comes must be in the OpenRPC document, where the gateway's own dialect is spoken.
    check: Option<FrameCheck>,
}

/// Who comes.
#[derive(Default, Clone)]
pub(crate) struct Visitor<'a> {
    pub(crate) token: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
    pub(crate) protocols: Option<&'a str>,
    pub(crate) path: Option<&'a str>,
    pub(crate) arguments: Option<&'a str>,
}

impl Socket {
    /// With the right token.
    pub(crate) async fn open(gateway: &Gateway) -> Self {
        Self::open_as(gateway, &Visitor { token: Some(TOKEN), ..Visitor::default() }).await.unwrap()
    }

    /// `Err`: the HTTP status that it was refused with.
    pub(crate) async fn open_as(gateway: &Gateway, visitor: &Visitor<'_>) -> Result<Self, u16> {
        let path = visitor.path.unwrap_or("/");
        let mut request = format!("ws://{}{path}", gateway.address).into_client_request().unwrap();
        let headers = request.headers_mut();
        if let Some(token) = visitor.token {
            headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        if let Some(origin) = visitor.origin {
            headers.insert("origin", origin.parse().unwrap());
        }
        if let Some(protocols) = visitor.protocols {
            headers.insert("sec-websocket-protocol", protocols.parse().unwrap());
        }
        if let Some(arguments) = visitor.arguments {
            headers.insert("tillerman-arguments", arguments.parse().unwrap());
        }
        match connect_async(request).await {
            Ok((stream, _)) => {
                let check = ["/", "/ws"].contains(&path).then(|| FrameCheck::new(&dialect_gateway::openrpc("")));
                Ok(Self { check, ..Self::new(stream) })
            }
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("no connection: {error}"),
        }
    }

    /// On another stream than TCP.
    pub(crate) async fn open_unix(path: &std::path::Path, at: &str) -> Socket<UnixStream> {
        let stream = UnixStream::connect(path).await.unwrap();
        let (stream, _) = client_async(format!("ws://localhost{at}"), stream).await.unwrap();
        Socket::new(stream)
    }

    /// With the right token, and so little room in the system that what is not read soon waits at the other end.
    pub(crate) async fn open_narrow(gateway: &Gateway) -> Self {
        let narrow = tokio::net::TcpSocket::new_v4().unwrap();
        narrow.set_recv_buffer_size(4096).unwrap();
        let stream = narrow.connect(gateway.address.parse().unwrap()).await.unwrap();
        let mut request = format!("ws://{}/", gateway.address).into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
        let (stream, _) = client_async(request, MaybeTlsStream::Plain(stream)).await.unwrap();
        Self::new(stream)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    fn new(stream: WebSocketStream<S>) -> Self {
        Self { stream, waiting: VecDeque::new(), closed: None, why: String::new(), ids: 1_000_000, check: None }
    }

    /// Says it, where it says something, and hears until an answer has this in it.
    pub(crate) async fn raw_exchange(&mut self, line: &str, answer: &str) -> String {
        if !line.trim().is_empty() {
            self.send_raw(line).await;
        }
        let mut told = String::new();
        while !told.contains(answer) {
            match tokio::time::timeout(PATIENCE, self.stream.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => told += &text,
                Ok(Some(Ok(_))) => {}
                _ => break,
            }
        }
        told
    }

    pub(crate) async fn send(&mut self, frame: &Value) {
        self.send_raw(&frame.to_string()).await;
    }

    pub(crate) async fn send_raw(&mut self, text: &str) {
        if let Some(check) = &mut self.check {
            check.asked(&serde_json::from_str(text).unwrap_or_default());
        }
        self.stream.send(Message::Text(text.to_owned().into())).await.unwrap();
    }

    /// Calls a method and waits for its last frame; what comes meanwhile for others is kept.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.ids += 1;
        let id = self.ids;
        self.send(&json!({"id": id, "method": method, "params": params})).await;
        loop {
            let frame = self.next_of(&json!(id)).await;
            if let Some(result) = frame.get("result") {
                return Ok(result.clone());
            }
            if let Some(error) = frame.get("error") {
                return Err(error.clone());
            }
        }
    }

    /// The next frame that carries this id.
    pub(crate) async fn next_of(&mut self, id: &Value) -> Value {
        let mut looked = 0;
        loop {
            while looked < self.waiting.len() {
                if self.waiting[looked].get("id") == Some(id) {
                    return self.waiting.remove(looked).unwrap();
                }
                looked += 1;
            }
            if !self.read().await {
                panic!("closed with {:?} before a frame with id {id}; waiting: {:?}", self.closed, self.waiting);
            }
        }
    }

    /// The next frame, whoever it is for.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                return frame;
            }
            if !self.read().await {
                panic!("closed with {:?}", self.closed);
            }
        }
    }

    /// The same; `None` when there will be none.
    pub(crate) async fn next_or_end(&mut self) -> Option<Value> {
        while self.waiting.is_empty() {
            if !self.read().await {
                return None;
            }
        }
        self.waiting.pop_front()
    }

    /// One more frame into `waiting`; `false` when there will be none.
    pub(crate) async fn read(&mut self) -> bool {
        let message = match tokio::time::timeout(PATIENCE, self.stream.next()).await {
            Ok(message) => message,
            Err(_) => panic!("nothing came for {PATIENCE:?}; waiting: {:?}", self.waiting),
        };
        match message {
            Some(Ok(Message::Text(text))) => {
                let frame = serde_json::from_str(&text).unwrap();
                assert_eq!(self.check.as_mut().map_or(Ok(()), |check| check.heard(&frame)), Ok(()));
                self.waiting.push_back(frame);
            }
            Some(Ok(Message::Close(close))) => {
                self.why = close.as_ref().map(|close| close.reason.to_string()).unwrap_or_default();
                self.closed = close.map(|close| close.code.into());
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return false,
        }
        true
    }

    pub(crate) async fn closed(&mut self) -> Option<u16> {
        while self.read().await {}
        self.closed
    }

    /// Nothing is said; the wire is gone.
    pub(crate) fn cut(self) {
        drop(self.stream);
    }
}
