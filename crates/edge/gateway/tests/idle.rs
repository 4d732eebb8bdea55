//! What a socket costs that only waits: a program of its own, since it reads the memory of its whole process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use dialect_gateway::{AuthState, Code, Gateway, GatewayAnswer, GatewayOptions, GatewayOwn, GatewayRefusal};
use engine::Engine;
use gateway::{Caller, Entrance, EntranceRules, GatewayServer, MessagePipe, ServerOptions};
use host::{DaemonEnding, Ended, OnLost, PumpOptions, pump_messages};
use testkit::{Stage, StageOptions};
use vocab::Later;

#[path = "it/no_hooks.rs"]
mod no_hooks;
use no_hooks::NoHooks;

const SOCKETS: usize = 2_000;
const FIRST: usize = 200;
const BYTES_EACH_MAX: usize = 12 * 1024;

/// Nothing beside the engine.
async fn nobody(_: GatewayOwn) -> Result<GatewayAnswer, GatewayRefusal> {
    let message = "there is no service here".to_owned();
    Err(GatewayRefusal { code: Code::Internal, reason: None, message, data: None })
}

struct Door(Engine, Arc<GatewayOptions>);

impl Entrance for Door {
    fn serve(&self, caller: Caller, (hears, says): MessagePipe, ending: DaemonEnding) -> Later<'static, Ended> {
        let engine = self.0.clone();
        let auth = AuthState::Known { scopes: caller.scopes };
        let dialect = Gateway::new(self.1.clone(), caller.connection.clone(), auth, None);
        let options = PumpOptions {
            principal: caller.principal.clone(),
            on_lost: OnLost::Leave,
            ending: Some(ending),
            ..PumpOptions::new(nobody)
        };
        Box::pin(async move {
            let ended = pump_messages(dialect, &engine, hears, says, options).await;
            drop(caller);
            ended
        })
    }
    fn refuses(&self, _: &Caller) -> Option<String> {
        None
    }
    fn rules(&self) -> EntranceRules {
        EntranceRules::default()
    }
}

fn anonymous_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line");
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().expect("a number") * 1024
}

/// A client that costs its process a descriptor and nothing else. It has been answered once.
fn connect(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let head = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer t\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("written");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    // What it asks for is not there; it is answered all the same.
    let question = br#"{"id":1,"method":"absent"}"#;
    let length = u8::try_from(question.len()).expect("a short one");
    stream.write_all(&[&[0x81, 0x80 | length, 0, 0, 0, 0], &question[..]].concat()).expect("written");
    let mut head = [0; 2];
    stream.read_exact(&mut head).expect("an answer");
    assert!(head[0] == 0x81 && head[1] < 126, "{head:x?}");
    let mut answer = vec![0; usize::from(head[1])];
    stream.read_exact(&mut answer).expect("all of it");
    assert!(answer.starts_with(br#"{"id":1,"error":{"code":-3"#), "{}", String::from_utf8_lossy(&answer));
    stream
}

#[test]
fn a_socket_that_waits_costs_little() {
    let runtime = host::daemon_runtime().expect("a runtime");
    let home = tempfile::tempdir().expect("a directory");
    let mut options = ServerOptions::new(home.path().to_owned(), "127.0.0.1:0".parse().expect("an address"));
    options.access.token = vocab::Secret::new("t");
    let (handle, _stage) = runtime.block_on(async {
        let stage = Stage::new(StageOptions::default());
        let dialect =
            GatewayOptions::new("test", Arc::new(host::WallClock), Arc::new(testkit::fakes::CountedIds::default()));
        let door: Arc<dyn Entrance> = Arc::new(Door(stage.engine.clone(), Arc::new(dialect)));
        let endpoints = vec![("/", door)];
        let handle = GatewayServer::start(options, stage.engine.clone(), endpoints, Arc::<NoHooks>::default()).await;
        (handle.expect("a server"), stage)
    });
    let address = handle.addresses()[0];
    // The first pay for what all share.
    let mut clients: Vec<TcpStream> = (0..FIRST).map(|_| connect(address)).collect();
    std::thread::sleep(Duration::from_millis(300));
    let before = anonymous_bytes();
    clients.extend((0..SOCKETS).map(|_| connect(address)));
    std::thread::sleep(Duration::from_millis(300));
    let load = handle.counter()();
    assert_eq!((load.connections, load.sockets), (FIRST + SOCKETS, FIRST + SOCKETS));
    let each = anonymous_bytes().saturating_sub(before) / SOCKETS;
    let _ = writeln!(std::io::stderr(), "{each} bytes for each of {SOCKETS} sockets that wait");
    assert!(each <= BYTES_EACH_MAX, "{each} bytes each");
}
