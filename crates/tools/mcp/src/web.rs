//! The way over HTTP: each request is a POST of its own whose answer is one JSON text or a stream of events. Where the server
//! has one, a further stream brings what it asks beside all calls.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use net::sse::Sse;
use net::{Credentials, Endpoint, KnownCredentials, Late, NetFault, Proxy, StreamedResponse};
use serde_json::value::RawValue;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use vocab::{Fault, FaultKind, Later, Progress, Secret};

use crate::MESSAGE_BYTES_MAX;
use crate::frames::{self, McpRequest, ServerMessage, Us};
use crate::link::{Link, LinkTrouble};

/// A server that cannot be reached for so long is not there.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// What nobody waits for (a cancellation, an answer of ours, the end) may take so long.
const ASIDE_LIMIT: Duration = Duration::from_secs(5);
/// Between two streams for what the server asks by itself: one that ends is opened again.
const LISTEN_PAUSE: Duration = Duration::from_secs(5);
/// As much of a refusal is read as people can be shown.
const REFUSAL_BYTES_MAX: usize = 4 * 1024;
/// A longer id of a session is none.
const SESSION_BYTES_MAX: usize = 1024;

const EVENTS: &str = "text/event-stream";
const ACCEPT: &str = "application/json, text/event-stream";
const SESSION: &str = "Mcp-Session-Id";
const VERSION: &str = "MCP-Protocol-Version";
/// The W3C's header for a place in a trace.
const TRACE: &str = "traceparent";

/// https, or http to this very machine: headers are secrets.
pub(crate) fn check_url(url: &str) -> Result<(), Fault> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_here =
        host.eq_ignore_ascii_case("localhost") || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let is_fine = !host.is_empty() && !authority.contains('@') && (scheme == "https" || scheme == "http" && is_here);
    if is_fine {
        return Ok(());
    }
    let text =
        "has an address that is not taken: it must be an https URL, or http on this machine, without credentials";
    Err(Fault::new(FaultKind::Invalid, text).hint("keys go into headers"))
}

/// What every request carries. It grows with the handshake.
struct Badge {
    headers: Vec<(String, Secret)>,
    session: Mutex<Option<Secret>>,
    version: OnceLock<Secret>,
}

impl Badge {
    fn session(&self) -> Option<Secret> {
        self.session.lock().expect("nothing panics while holding it").clone()
    }
}

impl Credentials for Badge {
    fn fetch(&self) -> Later<'_, Result<KnownCredentials, Fault>> {
        let mut headers = self.headers.clone();
        headers.extend(self.session().map(|session| (SESSION.to_owned(), session)));
        headers.extend(self.version.get().map(|version| (VERSION.to_owned(), version.clone())));
        Box::pin(std::future::ready(Ok(KnownCredentials { key: None, headers })))
    }
    fn is_live(&self) -> bool {
        true
    }
}

pub(crate) struct Web {
    shared: Arc<WebConnection>,
    /// Hears what the server asks by itself. Ended with this.
    listener: OnceLock<AbortHandle>,
}

struct WebConnection {
    endpoint: Endpoint,
    badge: Arc<Badge>,
    us: Arc<Us>,
    ids: AtomicU64,
    over: AtomicBool,
}

impl Web {
    pub(crate) fn new(
        url: &str,
        headers: Vec<(String, Secret)>,
        proxy: Option<Proxy>,
        us: Arc<Us>,
    ) -> Result<Self, Fault> {
        check_url(url)?;
        let badge = Arc::new(Badge { headers, session: Mutex::default(), version: OnceLock::new() });
        let endpoint = Endpoint::new(url, Late(badge.clone()), CONNECT_LIMIT, proxy)?;
        let (ids, over) = (AtomicU64::new(1), AtomicBool::new(false));
        let shared = Arc::new(WebConnection { endpoint, badge, us, ids, over });
        Ok(Self { shared, listener: OnceLock::new() })
    }
}

impl Link for Web {
    fn ask(&self, request: McpRequest, progress: Option<Progress>) -> Later<'_, Result<Box<RawValue>, LinkTrouble>> {
        Box::pin(async move {
            let shared = &self.shared;
            let id = shared.ids.fetch_add(1, Ordering::Relaxed);
            let mut line = Vec::new();
            request.write(&mut line, id);
            let mut open = OpenCall { shared, id: request.can_be_cancelled().then_some(id) };
            let trace: Vec<_> = request.trace_parent().map(|place| (TRACE, place.to_owned())).into_iter().collect();
            let incoming = shared.post_with(&trace, line).await;
            let outcome = match incoming {
                Ok(incoming) => shared.answer(incoming, id, progress).await,
                Err(trouble) => Err(trouble),
            };
            open.id = None;
            outcome
        })
    }

    fn agree(&self, version: &str) -> Later<'_, Result<(), LinkTrouble>> {
        if let Some(version) = Secret::new(version) {
            let _ = self.shared.badge.version.set(version);
        }
        Box::pin(async move {
            let mut line = Vec::new();
            frames::initialized(&mut line);
            self.shared.post(line).await?;
            let shared = self.shared.clone();
            let listening = tokio::spawn(async move { shared.listen().await });
            let _ = self.listener.set(listening.abort_handle());
            Ok(())
        })
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Relaxed)
    }

    fn last_words(&self) -> String {
        String::new()
    }
}

impl Drop for Web {
    /// Tells the server that it may forget us, if there is still time for that.
    fn drop(&mut self) {
        if let Some(listener) = self.listener.get() {
            listener.abort();
        }
        if self.is_over() || self.shared.badge.session().is_none() {
            return;
        }
        let shared = self.shared.clone();
        aside(async move { drop(shared.endpoint.delete().await) });
    }
}

/// A call whose answer is not there. Dropped like this, it is taken back.
struct OpenCall<'a> {
    shared: &'a Arc<WebConnection>,
    id: Option<u64>,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let shared = self.shared.clone();
        aside(async move {
            let mut line = Vec::new();
            frames::cancelled(&mut line, id);
            let _ = shared.post(line).await;
        });
    }
}

/// Does something that nobody waits for; not at all once the runtime is going down.
fn aside(what: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { drop(timeout(ASIDE_LIMIT, what).await) });
    }
}

impl WebConnection {
    async fn answer(
        &self,
        mut incoming: StreamedResponse<'_>,
        id: u64,
        progress: Option<Progress>,
    ) -> Result<Box<RawValue>, LinkTrouble> {
        if is_stream(&incoming) {
            return self.follow(incoming, Some(id), progress.as_ref()).await;
        }
        let body = incoming.collect(MESSAGE_BYTES_MAX).await.map_err(failed)?;
        self.settle(&body, Some(id), progress.as_ref()).await.unwrap_or_else(|| Err(unanswered()))
    }

    /// Answers what the server asks beside all calls, for as long as it offers a stream for that. Many do not.
    async fn listen(&self) {
        while let Ok(incoming) = self.endpoint.get(EVENTS).await {
            if incoming.status != 200 || !is_stream(&incoming) {
                return;
            }
            // It is an answer to nothing, so all it can do is end.
            let _ = self.follow(incoming, None, None).await;
            sleep(LISTEN_PAUSE).await;
        }
    }

    /// Reads a stream until it brings the answer that is waited for, or ends.
    async fn follow(
        &self,
        mut incoming: StreamedResponse<'_>,
        id: Option<u64>,
        progress: Option<&Progress>,
    ) -> Result<Box<RawValue>, LinkTrouble> {
        let mut events = Sse::new(MESSAGE_BYTES_MAX);
        let mut ended = false;
        while !ended {
            match incoming.chunk().await.map_err(failed)? {
                Some(bytes) => events.feed(&bytes),
                None => ended = true,
            }
            while let Some(event) = events.next() {
                let data = event.map_err(|_| too_long())?.to_vec();
                if let Some(outcome) = self.settle(&data, id, progress).await {
                    return outcome;
                }
            }
        }
        let rest = events.finish().map(<[u8]>::to_vec).unwrap_or_default();
        self.settle(&rest, id, progress).await.unwrap_or_else(|| Err(unanswered()))
    }

    /// Takes one message; `Some` is the answer that is waited for.
    async fn settle(
        &self,
        data: &[u8],
        id: Option<u64>,
        progress: Option<&Progress>,
    ) -> Option<Result<Box<RawValue>, LinkTrouble>> {
        let mut all = Vec::new();
        self.us.hear(data, |heard| all.push(heard));
        let mut answer = None;
        for heard in all {
            match heard {
                ServerMessage::Answer { id: theirs, outcome } if Some(theirs) == id => {
                    answer = Some(outcome.map_err(LinkTrouble::Refused))
                }
                ServerMessage::Progress { id: theirs, text } if Some(theirs) == id => {
                    if let Some(progress) = progress {
                        progress(&text);
                    }
                }
                // The server may wait for it before it goes on with this very stream.
                ServerMessage::Reply(line) => drop(timeout(ASIDE_LIMIT, self.post(line)).await),
                ServerMessage::Answer { .. }
                | ServerMessage::Progress { .. }
                | ServerMessage::Nothing
                | ServerMessage::Garbage => {}
            }
        }
        answer
    }

    async fn post(&self, line: Vec<u8>) -> Result<StreamedResponse<'_>, LinkTrouble> {
        self.post_with(&[], line).await
    }

    async fn post_with(
        &self,
        headers: &[(&'static str, String)],
        line: Vec<u8>,
    ) -> Result<StreamedResponse<'_>, LinkTrouble> {
        let had_session = self.badge.session().is_some();
        let incoming = self.endpoint.post_with(ACCEPT, headers, line.into()).await.map_err(failed)?;
        match incoming.status {
            200..300 => {
                if !had_session
                    && let Some(session) = incoming.header(SESSION).filter(|it| it.len() <= SESSION_BYTES_MAX)
                {
                    *self.badge.session.lock().expect("nothing panics while holding it") = Secret::new(session);
                }
                Ok(incoming)
            }
            404 if had_session => {
                self.over.store(true, Ordering::Relaxed);
                Err(LinkTrouble::Forgotten)
            }
            _ => Err(unasked(&incoming.refusal(REFUSAL_BYTES_MAX).await)),
        }
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Web({})", self.shared.endpoint.server())
    }
}

fn is_stream(incoming: &StreamedResponse<'_>) -> bool {
    incoming.header("content-type").is_some_and(|kind| kind.starts_with(EVENTS))
}

fn failed(fault: NetFault) -> LinkTrouble {
    unasked(&fault.fault)
}

fn unasked(fault: &Fault) -> LinkTrouble {
    LinkTrouble::Failed(format!("could not be asked: {}", fault.message))
}

fn unanswered() -> LinkTrouble {
    LinkTrouble::Failed("ended its answer before the result was there".into())
}

fn too_long() -> LinkTrouble {
    LinkTrouble::Failed(format!("sent a message of more than {MESSAGE_BYTES_MAX} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_keep_headers_secret_are_taken() {
        for good in ["https://x.example/mcp", "http://127.0.0.1:9/mcp", "http://localhost/", "http://[::1]:8080/a?b=c"]
        {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://x.example/mcp",
            "http://localhost.x.example/",
            "http://127.0.0.1@x.example/",
            "https://canary:pw@x.example/",
            "ftp://127.0.0.1/",
            "https://",
            "localhost",
            "",
        ] {
            let fault = check_url(bad).unwrap_err();
            assert!(!fault.message.contains("canary"), "{bad}: {fault}");
        }
    }
}
