//! The only place that listens: a page or two of HTTP for the browser that comes back from the issuer.
//!
//! It reads one request head per connection, within a size and a time, and answers it. The first request with the
//! right path, the right state and a code (or the issuer's refusal) is the one it waits for; nothing after it counts.

mod page;
mod request;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use vocab::Secret;

use crate::flow::RunningFlow;
use crate::pkce::OAuthState;
use request::{CallbackHead, CallbackRequest};

/// Browsers open connections they do not use, and others may knock. At this many the one that has been silent for longest
/// makes room: a browser says at once what it wants.
const CONNECTIONS_MAX: usize = 16;
/// How long a browser may take to read its page; it is some hundred bytes.
const WRITE_TIME_MAX: Duration = Duration::from_secs(2);
/// What is read behind an answered request, so that closing does not cut off the answer.
const DRAIN_BYTES_MAX: usize = 64 * 1024;
const DRAIN_TIME_MAX: Duration = Duration::from_millis(200);
/// The pause after a failed accept: the process is short of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

pub(crate) enum CallbackOutcome {
    Code(Secret),
    /// The issuer, or the user there, said no; with a text for people.
    Denied(String),
}

/// What the browser brought, and the browser itself, which waits for its page.
pub(crate) struct Arrived {
    pub(crate) outcome: CallbackOutcome,
    pub(crate) browser: WaitingBrowser,
}

pub(crate) struct WaitingBrowser(TcpStream);

impl WaitingBrowser {
    /// Shows how it went and closes. A browser that has gone misses nothing that counts.
    pub(crate) async fn show(self, failed: Option<&str>) {
        let page = match failed {
            None => page::page(200, "Signed in", "You are signed in. You can close this window."),
            Some(why) => page::page(400, "Sign-in failed", why),
        };
        answer(self.0, &page).await;
    }
}

/// What a request is judged by.
struct Door {
    path: String,
    state: OAuthState,
    used: AtomicBool,
    time: Duration,
}

pub(crate) struct Callback<'a> {
    flow: &'a RunningFlow,
    door: Arc<Door>,
    /// Dropping it ends the connections.
    open: JoinSet<()>,
    /// The same, the oldest first; some may be over already.
    order: VecDeque<AbortHandle>,
    sender: mpsc::Sender<Arrived>,
    arrivals: mpsc::Receiver<Arrived>,
}

impl<'a> Callback<'a> {
    pub(crate) fn new(flow: &'a RunningFlow, path: &str, state: OAuthState, time: Duration) -> Self {
        let door = Arc::new(Door { path: path.to_owned(), state, used: AtomicBool::new(false), time });
        // One is enough: the door lets one through.
        let (sender, arrivals) = mpsc::channel(1);
        Self { flow, door, open: JoinSet::new(), order: VecDeque::new(), sender, arrivals }
    }

    pub(crate) async fn arrival(&mut self) -> Arrived {
        loop {
            tokio::select! {
                Some(arrived) = self.arrivals.recv() => return arrived,
                stream = self.flow.accept() => self.welcome(stream).await,
                Some(_) = self.open.join_next() => {}
            }
        }
    }

    /// Answers whoever else comes, until it is dropped.
    pub(crate) async fn turn_away(&mut self) -> Infallible {
        loop {
            // The door is shut, so nobody arrives.
            drop(self.arrival().await);
        }
    }

    async fn welcome(&mut self, stream: io::Result<TcpStream>) {
        match stream {
            Ok(stream) => {
                self.order.retain(|connection| !connection.is_finished());
                if self.order.len() >= CONNECTIONS_MAX
                    && let Some(oldest) = self.order.pop_front()
                {
                    oldest.abort();
                }
                self.order.push_back(self.open.spawn(serve(stream, self.door.clone(), self.sender.clone())));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn serve(mut stream: TcpStream, door: Arc<Door>, sender: mpsc::Sender<Arrived>) {
    let head = match timeout(door.time, request::read(&mut stream)).await {
        Ok(Ok(head)) => head,
        // Gone, or too slow: there is nobody to answer.
        Ok(Err(_)) | Err(_) => return,
    };
    match door.judge(&head) {
        Ok(outcome) => {
            let _ = sender.send(Arrived { outcome, browser: WaitingBrowser(stream) }).await;
        }
        Err(page) => answer(stream, &page).await,
    }
}

impl Door {
    /// The outcome of the flow, or what to answer instead.
    fn judge(&self, head: &CallbackHead) -> Result<CallbackOutcome, String> {
        let no = |status, text: &str| Err(page::page(status, "Sign-in", text));
        let request = match head {
            CallbackHead::Request(request) => request,
            CallbackHead::TooLong => return no(431, "The request is too long."),
            CallbackHead::Strange => return no(400, "This is not a request."),
        };
        if request.path != self.path {
            return no(404, "There is nothing here.");
        }
        if request.method != "GET" {
            return no(405, "Only GET is understood here.");
        }
        if !request.state().is_some_and(|state| self.state.matches(&state)) {
            return no(
                400,
                "This answer does not belong to the sign-in that is waiting. Start again from the newest link.",
            );
        }
        let Some(outcome) = outcome(request) else {
            return no(400, "The answer lacks a code.");
        };
        if self.used.swap(true, Ordering::AcqRel) {
            return no(409, "This sign-in has been answered already. You can close this window.");
        }
        Ok(outcome)
    }
}

fn outcome(request: &CallbackRequest) -> Option<CallbackOutcome> {
    if let Some(error) = request.value("error").filter(|it| !it.is_empty()) {
        let words = request.value("error_description").unwrap_or_default();
        let (error, words) = (crate::faults::clean(&error, &[]), crate::faults::clean(&words, &[]));
        let detail = if words.is_empty() { error.clone() } else { words };
        return Some(CallbackOutcome::Denied(match error.as_str() {
            "access_denied" => format!("the sign-in was denied: {detail}"),
            _ => format!("the issuer refused the sign-in ({error}): {detail}"),
        }));
    }
    Secret::new(&request.value("code")?).map(CallbackOutcome::Code)
}

async fn answer(mut stream: TcpStream, page: &str) {
    let written = timeout(WRITE_TIME_MAX, async {
        stream.write_all(page.as_bytes()).await?;
        stream.shutdown().await
    });
    if !matches!(written.await, Ok(Ok(()))) {
        return;
    }
    // Closing with unread bytes would reset the connection, and the page with it.
    let drain = async {
        let mut buffer = [0; 4096];
        let mut left = DRAIN_BYTES_MAX;
        while left > 0 {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(bytes) => left = left.saturating_sub(bytes),
            }
        }
    };
    let _ = timeout(DRAIN_TIME_MAX, drain).await;
}
