//! A fast mock model server: SSE over HTTP/1.1 keep-alive, in every format that the agent speaks. Written by hand and with
//! pre-rendered chunks, so that what is measured is the agent and not the mock. A thread per connection; loopback only.

mod asked;
mod http;
mod reply;
mod said;

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

use anyhow::Context;

use crate::format::Format;
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

fn answer(request: &Request<'_>, seen: &Seen, out: &mut TcpStream) -> Result<(), Refusal> {
    let format = match (request.method, Format::of(request.path)) {
        ("GET", _) if request.path == "/v1/models" => return Ok(http::json(out, reply::MODELS)?),
        ("POST", Some(format)) => format,
        (method, _) => return Err(Refusal::Http("404 Not Found", format!("no {method} {} here", request.path))),
    };
    let bad = |message: String| Refusal::Http("400 Bad Request", message);
    let asked = asked::read(format, request.body).map_err(bad)?;
    seen.body_bytes.store(request.body.len(), Ordering::Relaxed);
    seen.messages.store(asked.messages, Ordering::Relaxed);
    let step = script::step(&asked.script, asked.calls_before).map_err(bad)?;
    if !reply::plays(format, &step) {
        return Err(bad(format!("this mock only says words in {}", format.api())));
    }
    Ok(reply::play(format, &step, out)?)
}
