//! A fast mock model server: OpenAI chat completions as SSE over HTTP/1.1 keep-alive. Written by hand and with
//! pre-rendered chunks, so that what is measured is the agent and not the mock. A thread per connection; loopback only.

mod http;
mod reply;

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::script;
use http::Request;

/// Nanoseconds on this process's monotonic clock; mock and driver share the process, so stamps compare.
pub(crate) fn now_ns() -> u64 {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    EPOCH.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// A running mock and what it saw last. Lives until the process ends.
pub(crate) struct Mock {
    pub addr: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    body_bytes: AtomicUsize,
    messages: AtomicUsize,
}

impl Mock {
    pub(crate) fn start(port: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).context("the mock cannot listen")?;
        let addr = listener.local_addr()?;
        let seen = Arc::new(Seen::default());
        let mock = Self { addr, seen: seen.clone() };
        thread::spawn(move || accept(&listener, &seen));
        Ok(mock)
    }
    /// Bytes of the last request body.
    pub(crate) fn last_body_bytes(&self) -> usize {
        self.seen.body_bytes.load(Ordering::Relaxed)
    }
    /// Messages in the last request.
    pub(crate) fn last_messages(&self) -> usize {
        self.seen.messages.load(Ordering::Relaxed)
    }
}

/// `bench mock`: says where it listens and stays.
pub(crate) fn serve_for_ever(port: u16) -> anyhow::Result<()> {
    let mock = Mock::start(port)?;
    writeln!(io::stdout(), "OPENAI_BASE_URL=http://{}/v1", mock.addr)?;
    loop {
        thread::park();
    }
}

fn accept(listener: &TcpListener, seen: &Arc<Seen>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let seen = seen.clone();
        // A connection that breaks is its client's business: the client is what is measured, and it will say so.
        thread::spawn(move || {
            let _ = connection(stream, &seen);
        });
    }
}

fn connection(stream: TcpStream, seen: &Seen) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut requests = http::Requests::new(stream.try_clone()?);
    let mut out = stream;
    while let Some(request) = requests.next()? {
        match answer(&request, seen, &mut out) {
            Ok(()) => {}
            Err(Refusal::Http(status, message)) => http::refuse(&mut out, status, &message)?,
            Err(Refusal::Io(error)) => return Err(error),
        }
    }
    Ok(())
}

enum Refusal {
    Http(&'static str, String),
    Io(io::Error),
}
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::Io(error)
    }
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
    #[serde(default)]
    stream: bool,
}
#[derive(Deserialize)]
struct Message<'a> {
    role: &'a str,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}
#[derive(Deserialize)]
struct TextPart {
    #[serde(default)]
    text: String,
}

fn answer(request: &Request<'_>, seen: &Seen, out: &mut TcpStream) -> Result<(), Refusal> {
    match (request.method, request.path) {
        ("GET", "/v1/models") => return Ok(http::json(out, reply::MODELS)?),
        ("POST", "/v1/chat/completions") => {}
        (method, path) => return Err(Refusal::Http("404 Not Found", format!("no {method} {path} here"))),
    }
    let bad = |message: String| Refusal::Http("400 Bad Request", message);
    let body: Body<'_> = serde_json::from_slice(request.body).map_err(|error| bad(error.to_string()))?;
    seen.body_bytes.store(request.body.len(), Ordering::Relaxed);
    seen.messages.store(body.messages.len(), Ordering::Relaxed);
    if !body.stream {
        return Err(bad("this mock only streams".into()));
    }
    let user = body.messages.iter().rposition(|message| message.role == "user");
    let user = user.ok_or_else(|| bad("no user message".into()))?;
    let calls_before = body.messages[user..].iter().filter(|message| message.role == "assistant").count();
    let script = text(&body.messages[user]).map_err(bad)?;
    let step = script::step(&script, calls_before).map_err(bad)?;
    Ok(reply::play(&step, out)?)
}

/// A message's text, whether it is written as a string or as parts.
fn text(message: &Message<'_>) -> Result<String, String> {
    let raw = message.content.map_or("\"\"", RawValue::get);
    if let Ok(text) = serde_json::from_str::<String>(raw) {
        return Ok(text);
    }
    let parts: Vec<TextPart> =
        serde_json::from_str(raw).map_err(|_| "content is neither text nor parts".to_string())?;
    Ok(parts.into_iter().map(|part| part.text).collect())
}
