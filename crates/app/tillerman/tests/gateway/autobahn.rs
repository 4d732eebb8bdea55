//! Autobahn's test suite against our WebSockets, on both sides of a connection. The suite wants to hear again what it has said,
//! so the server is the gateway's own with an entrance that repeats. Without Python 2.7 or the registry once, a test says `SKIP`.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dialect_gateway::Scopes;
use gateway::limits::{CONTROL_PER_S, FRAGMENTS_MAX, MESSAGE_BYTES_MAX};
use gateway::{Access, Caller, Entrance, EntranceRules, GatewayServer, MessagePipe, ServerOptions};
use host::{DaemonEnding, Ended, MessageSink, MessageStream};
use serde_json::{Value, json};
use testkit::{Stage, StageOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use vocab::{Later, Secret};
use websocket::{
    Binary, Codec, DialError, DialRequest, Incoming, OnClose, Pings, Role, SocketOptions, WsLimits, connect, handshake,
};
use wire::{Close, CloseCode};

use crate::clients::or_skip;
use crate::no_hooks::NoHooks;
use crate::peers_install::{INSTALL_PATIENCE, cached, filled, kept_by_pyenv, python, run};

const AUTOBAHN: &str = "autobahntestsuite==25.10.1";
/// The last that makes environments of Python 2.7.
const VIRTUALENV: &str = "virtualenv==20.21.1";
/// All cases take seconds; the longest that a single one waits for an answer is a hundred of them.
const PATIENCE: Duration = Duration::from_secs(600);
/// What is shown of the report of a case.
const TOLD: [&str; 4] = ["\"description\"", "\"expectation\"", "\"result\"", "\"resultClose\""];
/// What is said in text, and what is not said at all; the others are `BINARY`.
const TEXT: [&str; 12] =
    ["1.1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.1.*", "9.3.*", "9.5.*", "9.7.*", "10.*"];
const BINARY: [&str; 5] = ["1.2.*", "9.2.*", "9.4.*", "9.6.*", "9.8.*"];
const TOKEN: &str = "abc";
const TOKEN_PROTOCOL: &str = "bearer.YWJj";
const AGENT: &str = "tillerman";
const LIMITS: WsLimits =
    WsLimits { message_bytes_max: MESSAGE_BYTES_MAX, fragments_max: FRAGMENTS_MAX, control_per_s: CONTROL_PER_S };

/// Repeats what it hears. What is binary nobody here says or hears.
struct Echo;

async fn repeat((mut hears, mut says): MessagePipe, ending: DaemonEnding) -> Ended {
    let close = loop {
        let message = tokio::select! {
            message = poll_fn(|context| hears.poll_receive(context)) => message,
            _ = ending.wait() => break Close::new(CloseCode::GoingAway, "the test is over"),
        };
        let Some(message) = message else { break Close::normal() };
        if poll_fn(|context| says.poll_send(context, &message)).await.is_err() {
            break Close::normal();
        }
    };
    let _ = timeout(Duration::from_secs(5), poll_fn(|context| says.poll_close(context, &close))).await;
    Ended { close, exit_code: 0 }
}

impl Entrance for Echo {
    fn serve(&self, _: Caller, pipe: MessagePipe, ending: DaemonEnding) -> Later<'static, Ended> {
        Box::pin(repeat(pipe, ending))
    }
    fn refuses(&self, _: &Caller) -> Option<String> {
        None
    }
    fn rules(&self) -> EntranceRules {
        EntranceRules { binary: Binary::Ignored, scopes: Scopes::CHAT, ..EntranceRules::default() }
    }
}

/// The interpreter of an environment of Python 2.7, for what was never written for another; one of Python 3 makes it.
fn python2(name: &str, packages: &[String]) -> Result<PathBuf, String> {
    let mut candidates = vec![PathBuf::from("python2.7")];
    candidates.extend(kept_by_pyenv("bin/python2.7"));
    let is_one =
        |it: &PathBuf| run(Command::new(it).args(["-c", "print(1)"]), INSTALL_PATIENCE).is_ok_and(|it| it.well);
    let found =
        candidates.into_iter().find(is_one).ok_or_else(|| format!("no python 2.7 for {}", packages.join(" ")))?;
    let maker = python(&format!("{name}-maker"), &[VIRTUALENV.to_owned()])?;
    let cache = cached(name, |cache| {
        let mut making = Command::new(maker);
        making.args(["-m", "virtualenv", "--quiet", "--no-download", "--python"]).arg(found).arg(cache);
        let made = run(&mut making, INSTALL_PATIENCE)?;
        if !made.well {
            return Err(format!("no environment of python 2.7: {} {}", made.said.join(" "), made.complaint));
        }
        filled(cache, &[], packages)
    })?;
    Ok(cache.join("bin/python"))
}

/// The suite, and where it writes what it saw.
struct Suite {
    program: PathBuf,
    place: tempfile::TempDir,
}

impl Suite {
    fn new() -> Result<Self, String> {
        let program = python2("autobahn", &[AUTOBAHN.to_owned()])?.with_file_name("wstest");
        Ok(Self { program, place: tempfile::tempdir().expect("a directory") })
    }

    fn command(&self, mode: &str, mut spec: Value) -> Command {
        let (path, reports) = (self.place.path().join("spec.json"), self.place.path().join("reports"));
        spec["outdir"] = json!(reports);
        spec["exclude-agent-cases"] = json!({});
        std::fs::write(&path, spec.to_string()).expect("a file");
        let mut command = Command::new(&self.program);
        command.args(["-m", mode, "--webport", "0", "-s"]).arg(path).current_dir(self.place.path());
        command
    }

    /// Runs these cases, and those of them once more that were not well: the suite gives some answers a single second, and a
    /// busy machine does not always keep to it.
    fn check(
        &self,
        cases_min: usize,
        cases: &[&str],
        once: impl Fn(&[&str]) -> Result<(), String>,
    ) -> Result<(), String> {
        once(cases)?;
        let (count, bad) = self.seen();
        assert!(count >= cases_min, "{count} cases were run");
        if bad.is_empty() {
            return Ok(());
        }
        once(&bad.iter().map(|(id, _)| &**id).collect::<Vec<_>>())?;
        let told: Vec<String> = self.seen().1.into_iter().map(|(_, told)| told).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
        Ok(())
    }

    /// How many cases were run, and which were not well, with what is said of them.
    fn seen(&self) -> (usize, Vec<(String, String)>) {
        let reports = self.place.path().join("reports");
        let index = std::fs::read(reports.join("index.json")).expect("a report");
        let index: Value = serde_json::from_slice(&index).expect("JSON");
        let cases = index[AGENT].as_object().expect("cases");
        let mut counts = BTreeMap::<&str, usize>::new();
        let good = |word: &Value| matches!(word.as_str(), Some("OK" | "NON-STRICT" | "INFORMATIONAL"));
        let mut bad = Vec::new();
        for (id, case) in cases {
            *counts.entry(case["behavior"].as_str().unwrap_or_default()).or_default() += 1;
            if !(good(&case["behavior"]) && good(&case["behaviorClose"])) {
                // Not all of them are JSON: what was no text stands in them, too.
                let report =
                    std::fs::read(reports.join(case["reportfile"].as_str().expect("a file"))).expect("a report");
                let report = String::from_utf8_lossy(&report);
                let told = |line: &&str| TOLD.iter().any(|it| line.trim_start().starts_with(it));
                let told: Vec<&str> = report.lines().filter(told).collect();
                bad.push((id.clone(), format!("{id} {case}\n{}", told.join("\n"))));
            }
        }
        println!("{} cases: {counts:?}; not well: {:?}", cases.len(), bad.iter().map(|(id, _)| id).collect::<Vec<_>>());
        (cases.len(), bad)
    }

    fn against(&self, address: SocketAddr, cases: &[&str]) -> Result<(), String> {
        let url = format!("ws://{address}/");
        let server = json!({ "agent": AGENT, "url": url, "protocols": ["tillerman.v1", TOKEN_PROTOCOL] });
        let ending = run(&mut self.command("fuzzingclient", json!({ "servers": [server], "cases": cases })), PATIENCE)?;
        assert!(ending.well, "{}", ending.complaint);
        Ok(())
    }
}

/// Handshake, reader, writer and limits as everybody meets them who has a token.
#[test]
fn autobahn_on_the_server() {
    let checks = || {
        let suite = Suite::new()?;
        let runtime = Runtime::new().expect("a runtime");
        let home = tempfile::tempdir().expect("a directory");
        let mut options = ServerOptions::new(home.path().join("gateway"), "127.0.0.1:0".parse().expect("an address"));
        options.access = Access { token: Secret::new(TOKEN), ..Access::default() };
        let (_stage, handle) = runtime.block_on(async {
            let stage = Stage::new(StageOptions::default());
            let endpoints = vec![("/", Arc::new(Echo) as Arc<dyn Entrance>)];
            let started =
                GatewayServer::start(options, stage.engine.clone(), endpoints, Arc::<NoHooks>::default()).await;
            let handle = started.expect("a server");
            handle.set_ready();
            (stage, handle)
        });
        suite.check(266, &TEXT, |cases| suite.against(handle.addresses()[0], cases))
    };
    or_skip("autobahn_on_the_server", checks());
}

/// Ends with the test, however that ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Dials the suite and repeats what it says; what came first.
async fn visit(address: SocketAddr, path: &str) -> Result<Option<String>, DialError> {
    let request = DialRequest { host: address.to_string(), path: format!("/{path}"), headers: Vec::new() };
    let options =
        SocketOptions { binary: Binary::Ignored, on_close: OnClose::AtOnce, pings: Pings::NONE, once_known: None };
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut hears, mut says, _kick) = connect(stream, &request, LIMITS, options).await?;
    let mut first = None;
    while let Some(message) = poll_fn(|context| hears.poll_receive(context)).await {
        let sent = poll_fn(|context| says.poll_send(context, &message)).await;
        first.get_or_insert_with(|| String::from_utf8_lossy(&message).into_owned());
        if sent.is_err() {
            break;
        }
    }
    let close = Close::normal();
    let _ = timeout(Duration::from_secs(5), poll_fn(|context| says.poll_close(context, &close))).await;
    Ok(first)
}

/// Our other side, with which `attach` dials a gateway.
#[test]
fn autobahn_on_the_client() {
    let checks = || {
        let suite = Suite::new()?;
        let runtime = Runtime::new().expect("a runtime");
        let visits = |cases: &[&str]| {
            // The suite takes no port of the system's choice; this one was free a moment ago.
            let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
            let mut command = suite.command("fuzzingserver", json!({ "url": format!("ws://{free}"), "cases": cases }));
            let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let _server = Server(started.map_err(|why| format!("the suite does not start: {why}"))?);
            let visiting = async {
                let count = loop {
                    match visit(free, "getCaseCount").await {
                        Err(DialError::Io(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
                        count => break count.expect("a socket").expect("a count").parse::<usize>().expect("a number"),
                    }
                };
                for case in 1..=count {
                    visit(free, &format!("runCase?case={case}&agent={AGENT}")).await.expect("a socket");
                }
                visit(free, &format!("updateReports?agent={AGENT}")).await.expect("a socket");
            };
            runtime.block_on(async { timeout(PATIENCE, visiting).await }).map_err(|_| "the suite hangs".to_owned())
        };
        suite.check(266, &TEXT, visits)
    };
    or_skip("autobahn_on_the_client", checks());
}

/// Binary messages, which the gateway hears as nothing: our reader alone, and an answer of the test's own.
#[test]
fn autobahn_on_the_reader_of_binary_messages() {
    let checks = || {
        let suite = Suite::new()?;
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(repeat_binary(stream));
            }
        });
        suite.check(35, &BINARY, |cases| suite.against(address, cases))
    };
    or_skip("autobahn_on_the_reader_of_binary_messages", checks());
}

async fn repeat_binary(mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && stream.read_buf(&mut head).await? > 0 {}
    let head = String::from_utf8_lossy(&head);
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).expect("a key");
    let accept = handshake::accept(key);
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    let mut codec = Codec::new(Role::Server, LIMITS);
    let mut bytes = vec![0; 64 * 1024];
    let mut closed = false;
    while !closed {
        let count = stream.read(&mut bytes).await?;
        let mut answers = Vec::new();
        let fed = codec.feed(&mut bytes[..count], 0, &mut |incoming| match incoming {
            Incoming::Message { bytes, .. } => frame(2, &bytes, &mut answers),
            Incoming::Close(close) => {
                frame(8, &close.map_or(1000, |(code, _)| code).to_be_bytes(), &mut answers);
                closed = true;
            }
            Incoming::Ping(_) | Incoming::Pong(_) => {}
        });
        assert_eq!(fed, Ok(()));
        stream.write_all(&answers).await?;
        closed |= count == 0;
    }
    stream.shutdown().await
}

fn frame(opcode: u8, payload: &[u8], into: &mut Vec<u8>) {
    into.push(0x80 | opcode);
    match payload.len() {
        len @ 0..126 => into.push(len as u8),
        len @ 126..0x1_0000 => {
            into.push(126);
            into.extend((len as u16).to_be_bytes());
        }
        len => {
            into.push(127);
            into.extend((len as u64).to_be_bytes());
        }
    }
    into.extend_from_slice(payload);
}
