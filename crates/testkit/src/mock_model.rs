//! A model server on loopback: real HTTP/1.1, scripted answers, in the wire formats of four vendors at once. The path of a
//! request tells its format ([`Format`]), and the answer comes in the same; a script knows nothing of it.
//!
//! Two ways to script it. Replies that a test pushes are served first, in order. When none is left, the prompt itself
//! is the script (see [`script`]), so that a test of the real binary needs no second channel to the server.
//!
//! A request that the vendor would refuse is refused, in the vendor's words and before any reply is used up (`checks`).
//!
//! It runs on a thread and runtime of its own: a test may pause its clock or block its thread without stopping the
//! server. It knows nothing of the client under test, and speaks only what such a server speaks.

mod answer;
pub mod anthropic;
mod checks;
mod completions;
mod format;
pub mod gemini;
mod http;
mod responses;
pub mod script;
mod steps;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, oneshot, watch};

pub use format::Format;
pub use steps::{Reply, Step};

/// How long a `wait_*` waits before it calls the test broken.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Bodies kept; beyond that the oldest become empty, so that a long session does not fill the memory.
const RECORD_BYTES_MAX: usize = 256 * 1024 * 1024;

/// OpenAI's model list: slug and context window. For the others see [`anthropic::MODELS`] and [`gemini::MODELS`].
pub const MODELS: [(&str, u64); 2] = [("mock/alpha", 128_000), ("mock/beta", 200_000)];

/// One request as it came in.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Which connection it came over, counted from 0.
    pub connection: usize,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }
    /// The body as JSON; `Null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// What has happened so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Connections accepted since the start.
    pub accepted: usize,
    /// Connections open now.
    pub open: usize,
    /// Chat requests that have arrived.
    pub chats: usize,
}

/// All requests, the newer ones with their bodies.
#[derive(Default)]
struct Record {
    requests: Vec<Request>,
    bytes: usize,
    /// Requests before this have lost their bodies.
    emptied: usize,
}

impl Record {
    fn add(&mut self, request: Request) {
        self.bytes += request.body.len();
        self.requests.push(request);
        while self.bytes > RECORD_BYTES_MAX {
            self.bytes -= std::mem::take(&mut self.requests[self.emptied].body).len();
            self.emptied += 1;
        }
    }
}

struct State {
    queue: Mutex<VecDeque<Reply>>,
    models_reply: Mutex<Option<Reply>>,
    requests: Mutex<Record>,
    fails: Mutex<script::Fails>,
    known: Mutex<checks::Known>,
    lenient: AtomicBool,
    counts: watch::Sender<Counts>,
    /// One permit per `release`; a `Hold` step takes one.
    releases: Semaphore,
}

/// The running server; it stops when dropped, and every connection with it.
pub struct MockModel {
    /// `http://127.0.0.1:PORT/v1`: all formats but Gemini's.
    pub base_url: String,
    /// `http://127.0.0.1:PORT/v1beta`. Cloud Code's Gemini is at the port itself.
    pub gemini_url: String,
    pub port: u16,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MockModel {
    pub async fn start() -> Self {
        Self::start_blocking()
    }

    /// For tests without a runtime.
    pub fn start_blocking() -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        listener.set_nonblocking(true).expect("a fresh socket takes the flag");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let state = Arc::new(State {
            queue: Mutex::default(),
            models_reply: Mutex::default(),
            requests: Mutex::default(),
            fails: Mutex::default(),
            known: Mutex::default(),
            lenient: AtomicBool::new(false),
            counts: watch::Sender::new(Counts::default()),
            releases: Semaphore::new(0),
        });
        let (stop, stopped) = oneshot::channel();
        let shared = state.clone();
        let thread = std::thread::Builder::new()
            .name("mock-model".into())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                // Leaving `block_on` drops the runtime, and with it every connection task and socket.
                runtime.expect("a runtime can be built").block_on(http::accept(listener, shared, stopped));
            })
            .expect("a thread can be started");
        let server = format!("http://127.0.0.1:{port}");
        let (base_url, gemini_url) = (format!("{server}/v1"), format!("{server}/v1beta"));
        Self { base_url, gemini_url, port, state, stop: Some(stop), thread: Some(thread) }
    }

    /// Serves this to the next chat request that finds no earlier reply waiting.
    pub fn push(&self, reply: Reply) {
        lock(&self.state.queue).push_back(reply);
    }
    /// The base URL a client of this format is given.
    pub fn url(&self, format: Format) -> &str {
        match format {
            Format::Completions | Format::Anthropic | Format::Responses => &self.base_url,
            Format::Gemini => &self.gemini_url,
        }
    }
    /// Serves this to every request for a list of models from now on.
    pub fn set_models(&self, reply: Reply) {
        *lock(&self.state.models_reply) = Some(reply);
    }
    /// Takes this seal in a request although no answer had it: that of a history written by hand.
    pub fn trust(&self, seal: &str) {
        lock(&self.state.known).trust(seal);
    }
    /// Takes every request from now on, also those that the vendor would refuse.
    pub fn be_lenient(&self) {
        self.state.lenient.store(true, Ordering::Relaxed);
    }
    /// Lets one `Hold` go on, now or when it is reached.
    pub fn release(&self) {
        self.state.releases.add_permits(1);
    }
    /// Replies pushed and not yet served.
    pub fn waiting(&self) -> usize {
        lock(&self.state.queue).len()
    }

    /// Every request, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.state.requests).requests.clone()
    }
    /// Chat requests only, of every format.
    pub fn chats(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| Format::of(&request.path).is_some()).collect()
    }
    /// The newest chat request's body.
    pub fn last_chat(&self) -> Value {
        self.chats().last().map_or(Value::Null, Request::json)
    }
    pub fn counts(&self) -> Counts {
        *self.state.counts.borrow()
    }
    /// Connections accepted since the start.
    pub fn connections(&self) -> usize {
        self.counts().accepted
    }

    /// Waits until the counts satisfy `until`; panics when they do not in time.
    pub async fn wait_until(&self, until: impl FnMut(&Counts) -> bool) -> Counts {
        let mut receiver = self.state.counts.subscribe();
        let waited = tokio::time::timeout(WAIT_MAX, receiver.wait_for(until)).await;
        *waited
            .unwrap_or_else(|_| panic!("mock model: still {:?} after {WAIT_MAX:?}", self.counts()))
            .expect("the server outlives its handle")
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the server has been printed already; a second one here would hide the test's own.
            let _ = thread.join();
        }
    }
}

/// A poisoned lock means that another test thread panicked in here; its data is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
