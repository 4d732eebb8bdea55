//! A server in a directory of its own, with an entrance that repeats what it hears and says who came.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dialect_gateway::Scopes;
use gateway::{
    Access, Caller, Entrance, EntranceRules, GatewayServer, HealthReport, MessagePipe, ServerHandle, ServerHooks,
    ServerOptions, WebRoute,
};
use host::{DaemonEnding, Ended, MessageSink, MessageStream};
use testkit::{Stage, StageOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vocab::{Later, Secret};
use websocket::{
    Binary, DialError, DialRequest, Kick, OnClose, Pings, SocketOptions, SocketSink, SocketStream, WsLimits,
};
use wire::{Close, CloseCode};

pub(crate) const TOKEN: &str = "the-token-of-this-test";

/// Says what it hears. `who` is answered with who is there, `login TOKEN` logs in.
pub(crate) struct Parrot {
    pub(crate) strangers: bool,
    pub(crate) scopes: Scopes,
}

async fn repeat(mut caller: Caller, pipe: MessagePipe, ending: DaemonEnding) -> Ended {
    let (mut hears, mut says) = pipe;
    let close = loop {
        let message = tokio::select! {
            message = poll_fn(|context| hears.poll_receive(context)) => message,
            _ = ending.wait() => break Close::new(CloseCode::GoingAway, "7.1"),
        };
        let Some(message) = message else { break Close::normal() };
        let text = String::from_utf8_lossy(&message).into_owned();
        let answer = match text.split_once(' ').unwrap_or((&text, "")) {
            ("who", _) => {
                let principal = caller.principal.get().map_or("nobody", |it| it.as_str());
                format!("{principal} {:?} {}", caller.scopes, caller.name)
            }
            ("login", token) => match caller.login.login(&Secret::new(token).expect("a token")) {
                Ok((name, scopes)) => {
                    caller.scopes = scopes;
                    format!("welcome {name}")
                }
                Err(refused) => format!("{refused:?}"),
            },
            _ => text,
        };
        if poll_fn(|context| says.poll_send(context, answer.as_bytes())).await.is_err() {
            break Close::normal();
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(5), poll_fn(|context| says.poll_close(context, &close))).await;
    Ended { close, exit_code: 0 }
}

impl Entrance for Parrot {
    fn serve(&self, caller: Caller, pipe: MessagePipe, ending: DaemonEnding) -> Later<'static, Ended> {
        Box::pin(repeat(caller, pipe, ending))
    }
    fn refuses(&self, caller: &Caller) -> Option<String> {
        gateway::takes_no_arguments(caller)
    }
    fn rules(&self) -> EntranceRules {
        EntranceRules { scopes: self.scopes, takes_strangers: self.strangers, ..EntranceRules::default() }
    }
}

/// Texts for every page; `route`: what answers one more path.
#[derive(Default)]
pub(crate) struct Texts {
    pub(crate) route: Option<(&'static str, Arc<dyn WebRoute>)>,
    /// Nothing can be written.
    pub(crate) is_full: bool,
    /// Lines for people.
    pub(crate) notes: Mutex<Vec<String>>,
}

impl ServerHooks for Texts {
    fn health(&self) -> Later<'static, HealthReport> {
        let serves = !self.is_full;
        Box::pin(async move { HealthReport { serves, json: "{\"status\":\"ok\"}".to_owned() } })
    }
    fn schema(&self) -> Arc<str> {
        "{\"openrpc\":\"1.3.2\"}".into()
    }
    fn metrics(&self) -> String {
        "tillerman_up 1\n".to_owned()
    }
    fn route(&self, path: &str) -> Option<Arc<dyn WebRoute>> {
        self.route.as_ref().filter(|(at, _)| *at == path).map(|(_, route)| route.clone())
    }
    fn note(&self, text: &str) {
        self.notes.lock().expect("no panic").push(text.to_owned());
    }
}

pub(crate) struct Playing {
    pub(crate) handle: ServerHandle,
    pub(crate) address: SocketAddr,
    pub(crate) home: tempfile::TempDir,
    pub(crate) _stage: Stage,
}

pub(crate) fn token_access() -> Access {
    Access { token: Secret::new(TOKEN), ..Access::default() }
}

pub(crate) async fn start(access: Access) -> Playing {
    start_with(|options| options.access = access).await
}

pub(crate) async fn start_with(change: impl FnOnce(&mut ServerOptions)) -> Playing {
    start_with_hooks(change, Arc::<Texts>::default()).await
}

pub(crate) async fn start_with_hooks(change: impl FnOnce(&mut ServerOptions), hooks: Arc<dyn ServerHooks>) -> Playing {
    let home = tempfile::tempdir().expect("a directory");
    let mut options = ServerOptions::new(home.path().join("gateway"), "127.0.0.1:0".parse().expect("an address"));
    change(&mut options);
    let stage = Stage::new(StageOptions::default());
    let all = |strangers| Arc::new(Parrot { strangers, scopes: Scopes::CHAT }) as Arc<dyn Entrance>;
    let endpoints = vec![("/", all(true)), ("/ws", all(true)), ("/serve", all(false))];
    let handle = GatewayServer::start(options, stage.engine.clone(), endpoints, hooks).await;
    let handle = handle.expect("a server");
    handle.set_ready();
    let address = handle.addresses()[0];
    Playing { handle, address, home, _stage: stage }
}

pub(crate) struct Client {
    pub(crate) hears: SocketStream<TcpStream>,
    pub(crate) says: SocketSink<TcpStream>,
    pub(crate) _kick: Kick,
}

pub(crate) fn request(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> DialRequest {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    DialRequest { host: address.to_string(), path: path.to_owned(), headers }
}

pub(crate) const LIMITS: WsLimits =
    WsLimits { message_bytes_max: 32 << 20, fragments_max: 1_000, control_per_s: 1_000 };

pub(crate) fn plain() -> SocketOptions {
    SocketOptions { binary: Binary::Ignored, pings: Pings::NONE, on_close: OnClose::AtOnce, once_known: None }
}

pub(crate) async fn dial(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Result<Client, DialError> {
    let request = request(address, path, headers);
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (hears, says, kick) = websocket::connect(stream, &request, LIMITS, plain()).await?;
    Ok(Client { hears, says, _kick: kick })
}

/// The status with which a dial is refused.
pub(crate) async fn refused(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> u16 {
    match dial(address, path, headers).await {
        Err(DialError::Refused { status, .. }) => status,
        Err(error) => panic!("{error}"),
        Ok(_) => 101,
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

impl Client {
    pub(crate) async fn ask(&mut self, text: &str) -> Option<String> {
        if poll_fn(|context| self.says.poll_send(context, text.as_bytes())).await.is_err() {
            return None;
        }
        self.next().await
    }

    pub(crate) async fn next(&mut self) -> Option<String> {
        let receiving = poll_fn(|context| self.hears.poll_receive(context));
        let message = tokio::time::timeout(Duration::from_secs(20), receiving).await.expect("in time")?;
        Some(String::from_utf8(message).expect("text"))
    }

    /// How the server closed.
    pub(crate) async fn close_of_server(&mut self) -> Option<(u16, String)> {
        assert_eq!(self.next().await, None);
        self.hears.closed_with()
    }
}

/// One request on a connection of its own: the head and the body.
pub(crate) async fn http(address: SocketAddr, text: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(text.as_bytes()).await.expect("written");
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    let _ = tokio::time::timeout(Duration::from_secs(20), reading).await.expect("in time");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.get(9..12).and_then(|it| it.parse().ok()).unwrap_or(0);
    (status, head.to_owned(), body.to_owned())
}

pub(crate) async fn get(playing: &Playing, path: &str, headers: &str) -> (u16, String, String) {
    call(playing, "GET", path, headers, "").await
}

pub(crate) async fn call(
    playing: &Playing,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> (u16, String, String) {
    let address = playing.address;
    let length = body.len();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    http(address, &text).await
}
