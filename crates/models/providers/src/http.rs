//! HTTP/1.1 to one server: connecting, keeping connections, one request at a time on each. Knows nothing of models.
//!
//! A connection is driven by whoever waits for its answer, not by a task of its own: a byte goes from the socket to the
//! reader without a hop through the scheduler, and dropping the reader closes the socket at once. An idle connection
//! is looked at when it is taken up again, so that one the server has closed meanwhile is not used.

use std::error::Error;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::service::Service;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use vocab::{Fault, FaultKind, Keyring, ModelFault};

use crate::body::Pieces;
use crate::credentials::{KeyHeader, Known, Late, Pass, Passes};
use crate::faults;
use crate::proxy::Proxy;
use crate::tls::{self, Tls};

/// Idle connections kept; one more is closed.
const IDLE_MAX: usize = 8;
/// An idle connection older than this is not used again: servers and middle boxes forget quietly.
const IDLE_AGE_MAX: Duration = Duration::from_secs(60);
/// What is read at most behind the end of an answer, to be able to use its connection again.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(1);
const DRAIN_BYTES_MAX: usize = 64 * 1024;
/// Headers that are lists: what somebody configured comes behind what a format says, not instead of it.
const LISTS: [&str; 1] = ["anthropic-beta"];

type Io = MaybeHttpsStream<TokioIo<TcpStream>>;

/// One server and the connections to it.
pub(crate) struct Http {
    /// The base URL as people may see it: no credentials, no slash at the end.
    pub(crate) server: Arc<str>,
    /// `scheme://host:port/`
    origin: Uri,
    host: HeaderValue,
    path: String,
    query: String,
    /// Empty until it has been fetched.
    pass: OnceCell<Pass>,
    late: Option<Late>,
    /// Of a live source; empty for every other.
    passes: Passes,
    live: bool,
    key_header: KeyHeader,
    key_name: Option<Arc<str>>,
    connect_timeout: Duration,
    plain: TowerToHyperService<HttpConnector>,
    /// Made by the first https call: reading the system's roots costs more than anything else here.
    tls: OnceCell<Tls>,
    proxy: Option<Proxy>,
    ca_file: Option<PathBuf>,
    keyring: Keyring,
    idle: Mutex<Vec<(Wire, Instant)>>,
}

/// One server and how to get to it.
pub(crate) struct Reach<'a> {
    pub(crate) base_url: &'a str,
    pub(crate) known: &'a Known,
    /// Asked before the first request, or before each where it is live; then it counts instead of `known`.
    pub(crate) late: Option<Late>,
    pub(crate) key_header: KeyHeader,
    /// Where people set the key, for hints: the name of a variable.
    pub(crate) key_name: Option<Arc<str>>,
    pub(crate) connect_timeout: Duration,
    /// Used for https only: through a tunnel the key stays between us and the server, while a plain request would show
    /// it to the proxy.
    pub(crate) proxy: Option<Proxy>,
    /// Authorities to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// Learns every key that is sent.
    pub(crate) keyring: Keyring,
}

impl<'a> Reach<'a> {
    pub(crate) fn new(base_url: &'a str, known: &'a Known, connect_timeout: Duration, proxy: Option<Proxy>) -> Self {
        let key_header = KeyHeader::Bearer;
        let ca_file = tls::trusted_everywhere();
        let keyring = Keyring::default();
        Self { base_url, known, late: None, key_header, key_name: None, connect_timeout, proxy, ca_file, keyring }
    }
}

/// What is asked for, apart from its body.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) accept: &'static str,
    pub(crate) headers: &'a [(&'static str, String)],
}

impl Http {
    /// Fails on a base URL or key that could never work.
    pub(crate) fn new(reach: Reach<'_>) -> Result<Self, Fault> {
        let Reach { base_url, known, late, key_header, key_name, connect_timeout, proxy, ca_file, keyring } = reach;
        let invalid = |why: &str| {
            let shown = base_url.rsplit_once('@').map_or(base_url, |(_, host)| host);
            Fault::new(FaultKind::Invalid, format!("the base URL {shown:?} {why}"))
                .hint("it should look like http://127.0.0.1:11434/v1")
        };
        let uri: Uri = base_url.trim().parse().map_err(|_| invalid("is not a URL"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(invalid("lacks http:// or https://"));
        };
        if !matches!(scheme, "http" | "https") {
            return Err(invalid("is neither http nor https"));
        }
        if authority.as_str().contains('@') {
            return Err(invalid("contains credentials; give the key separately"));
        }
        let path = uri.path().trim_end_matches('/').to_owned();
        let pass = Pass::new(known, key_header)?;
        Ok(Self {
            key_header,
            key_name,
            server: format!("{scheme}://{authority}{path}").into(),
            origin: format!("{scheme}://{authority}/").parse().map_err(|_| invalid("is not a URL"))?,
            host: HeaderValue::try_from(authority.as_str()).map_err(|_| invalid("has no usable host"))?,
            query: uri.query().map(|query| format!("?{query}")).unwrap_or_default(),
            path,
            pass: OnceCell::new_with(late.is_none().then_some(pass)),
            live: late.as_ref().is_some_and(|late| late.0.is_live()),
            late,
            passes: Passes::default(),
            connect_timeout,
            plain: TowerToHyperService::new(tcp(connect_timeout)),
            tls: OnceCell::new(),
            proxy,
            ca_file,
            keyring,
            idle: Mutex::default(),
        })
    }

    /// Sends a request and waits for the head of its answer. `body` is called again when a kept connection turns out
    /// to have been closed before it answered.
    pub(crate) async fn send(
        &self,
        ask: Ask<'_>,
        mut body: impl FnMut() -> Pieces,
    ) -> Result<(Response<()>, Reply), ModelFault> {
        match &self.late {
            // On the heap: nobody else's request grows by what only accounts need.
            Some(late) if self.live => Box::pin(self.send_live(late, ask, &mut body)).await,
            _ => self.send_with(self.pass().await?, ask, &mut body).await,
        }
    }

    /// With what the source says now; after a 401 once more with what it says then. A second 401 is the answer.
    async fn send_live(
        &self,
        late: &Late,
        ask: Ask<'_>,
        body: &mut impl FnMut() -> Pieces,
    ) -> Result<(Response<()>, Reply), ModelFault> {
        let used = late.0.fetch().await.map_err(unsent)?;
        let pass = self.passes.of(&used, self.key_header).map_err(unsent)?;
        let refused = self.send_with(&pass, ask, body).await?;
        if refused.0.status() != StatusCode::UNAUTHORIZED {
            return Ok(refused);
        }
        match late.0.renewed(&used).await.map_err(unsent)?.filter(|fresh| *fresh != used) {
            Some(fresh) => {
                let pass = self.passes.of(&fresh, self.key_header).map_err(unsent)?;
                self.send_with(&pass, ask, body).await
            }
            None => Ok(refused),
        }
    }

    async fn send_with(
        &self,
        pass: &Pass,
        ask: Ask<'_>,
        body: &mut impl FnMut() -> Pieces,
    ) -> Result<(Response<()>, Reply), ModelFault> {
        pass.keys.iter().for_each(|key| self.keyring.learn(key.expose()));
        if let Some(mut wire) = self.kept().await {
            match wire.exchange(self.request(pass, ask, body())?).await {
                Ok(response) => return Ok(split(response, wire)),
                Err(error) if stale(&error) => {}
                Err(error) => return Err(faults::unanswered(&self.server, &error)),
            }
        }
        let mut wire = self.connect().await?;
        match wire.exchange(self.request(pass, ask, body())?).await {
            Ok(response) => Ok(split(response, wire)),
            Err(error) => Err(faults::unanswered(&self.server, &error)),
        }
    }

    /// The last step before a fault leaves the crate: says what may help, and masks what a server may have echoed.
    pub(crate) fn seal(&self, mut fault: ModelFault) -> ModelFault {
        if fault.fault.kind == FaultKind::Auth && fault.fault.hints.is_empty() {
            let advice = match (&self.key_name, &self.late) {
                (Some(name), _) => format!("check {name}"),
                (None, Some(_)) if self.live => "check the account or its key".to_owned(),
                (None, _) => "check the key of this provider".to_owned(),
            };
            faults::hint(&mut fault, &advice);
        }
        match self.live {
            true => faults::seal(fault, &self.passes.secrets()),
            false => faults::seal(fault, self.pass.get().map_or(&[], |pass| &pass.secrets)),
        }
    }

    async fn pass(&self) -> Result<&Pass, ModelFault> {
        let fetch = || async {
            let Some(late) = &self.late else { return Pass::new(&Known::default(), self.key_header) };
            Pass::new(&late.0.fetch().await?, self.key_header)
        };
        self.pass.get_or_try_init(fetch).await.map_err(|fault| {
            // Nothing was sent, and the same key will not come by itself.
            ModelFault { fault, retryable: false, retry_after_ms: None, status: None }
        })
    }

    fn request(&self, pass: &Pass, ask: Ask<'_>, body: Pieces) -> Result<Request<Pieces>, ModelFault> {
        let Ask { method, path, accept, headers: more } = ask;
        let mut headers = HeaderMap::with_capacity(pass.headers.len() + more.len() + 4);
        headers.insert(HOST, self.host.clone());
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("tillerman/", env!("CARGO_PKG_VERSION"))));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in more {
            let value = HeaderValue::try_from(value).map_err(|error| faults::unreachable(&self.server, &error))?;
            headers.insert(HeaderName::from_static(name), value);
        }
        // What somebody configured wins.
        for (name, value) in &pass.headers {
            let said = headers.get(name).filter(|_| LISTS.contains(&name.as_str()));
            let value = said.and_then(|said| joined(said, value)).unwrap_or_else(|| value.clone());
            headers.insert(name.clone(), value);
        }
        let request = Request::builder().method(method).uri(self.target(path)).body(body);
        let mut request = request.map_err(|error| faults::unreachable(&self.server, &error))?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Path and query, with that of the base URL.
    fn target(&self, path: &str) -> String {
        let query = match (path.contains('?'), self.query.strip_prefix('?')) {
            (true, Some(query)) => format!("&{query}"),
            _ => self.query.clone(),
        };
        format!("{}{path}{query}", self.path)
    }

    /// Where a request goes, as people may see it. The query of the base URL is left out: it may hold a key.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }

    /// Keeps a connection whose answer has been read to its end.
    pub(crate) fn keep(&self, wire: Wire) {
        let mut idle = self.idle.lock().expect("nothing panics while holding it");
        if idle.len() < IDLE_MAX && wire.connection.is_some() {
            idle.push((wire, Instant::now()));
        }
    }

    /// The connection used last, if it is still open.
    async fn kept(&self) -> Option<Wire> {
        loop {
            let (mut wire, since) = self.idle.lock().expect("nothing panics while holding it").pop()?;
            if since.elapsed() < IDLE_AGE_MAX && poll_fn(|cx| Poll::Ready(wire.usable(cx))).await {
                return Some(wire);
            }
        }
    }

    async fn connect(&self) -> Result<Wire, ModelFault> {
        let dialled = tokio::time::timeout(self.connect_timeout, self.dial()).await;
        let io = match dialled {
            Ok(io) => io?,
            Err(_) => {
                let text = format!("no connection within {} ms", self.connect_timeout.as_millis());
                return Err(self.unreachable(&*Box::<dyn Error>::from(text)));
            }
        };
        let (sender, connection) =
            http1::handshake(io).await.map_err(|error| faults::unreachable(&self.server, &error))?;
        Ok(Wire { sender, connection: Some(Box::pin(connection)) })
    }

    async fn dial(&self) -> Result<Io, ModelFault> {
        if self.is_plain() {
            let stream = self.plain.call(self.origin.clone()).await;
            return stream.map(MaybeHttpsStream::Http).map_err(|error| self.unreachable(&error));
        }
        let (timeout, proxy, ca_file) = (self.connect_timeout, self.proxy.clone(), self.ca_file.clone());
        let tls = self.tls.get_or_try_init(|| async move {
            // Off the runtime's thread: it reads some hundred files.
            let made = tokio::task::spawn_blocking(move || Tls::new(timeout, proxy, ca_file.as_deref())).await;
            made.unwrap_or_else(|error| Err(Fault::new(FaultKind::Internal, error.to_string())))
        });
        let dialled = match tls.await.map_err(unsent)? {
            Tls::Direct(connector) => connector.call(self.origin.clone()).await,
            Tls::Proxied(connector) => connector.call(self.origin.clone()).await,
        };
        dialled.map_err(|error| self.unreachable(&*error))
    }

    fn is_plain(&self) -> bool {
        self.origin.scheme_str() == Some("http")
    }

    /// Why there is no connection, and what may help.
    fn unreachable(&self, error: &(dyn Error + 'static)) -> ModelFault {
        if let Some(fault) = tls::distrusted(&self.server, error) {
            return fault;
        }
        let mut fault = faults::unreachable(&self.server, error);
        if let Some(proxy) = self.proxy.as_ref().filter(|_| !self.is_plain()) {
            faults::hint(
                &mut fault,
                &format!("the way there goes through the proxy {proxy:?}: does it let us through?"),
            );
        }
        fault
    }
}

/// One list of both. As secret as the second: it may be.
fn joined(first: &HeaderValue, second: &HeaderValue) -> Option<HeaderValue> {
    let mut both = HeaderValue::from_bytes(&[first.as_bytes(), second.as_bytes()].join(&b',')).ok()?;
    both.set_sensitive(second.is_sensitive());
    Some(both)
}

/// Nothing was sent. A key that is missing will not come by itself; a server that was down may be up again.
fn unsent(fault: Fault) -> ModelFault {
    let retryable = matches!(fault.kind, FaultKind::Network | FaultKind::RateLimited | FaultKind::Provider);
    ModelFault { fault, retryable, retry_after_ms: None, status: None }
}

pub(crate) fn tcp(timeout: Duration) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(timeout));
    tcp.enforce_http(false);
    tcp
}

/// Whether the server closed the connection instead of answering.
fn stale(error: &hyper::Error) -> bool {
    let io = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    let gone = io.is_some_and(|io| {
        use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
        matches!(io.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
    });
    gone || error.is_incomplete_message() || error.is_closed() || error.is_canceled()
}

fn split(response: Response<Incoming>, wire: Wire) -> (Response<()>, Reply) {
    let (head, body) = response.into_parts();
    (Response::from_parts(head, ()), Reply { body, wire })
}

/// One connection.
pub(crate) struct Wire {
    sender: http1::SendRequest<Pieces>,
    /// `None` once it has ended.
    connection: Option<Pin<Box<http1::Connection<Io, Pieces>>>>,
}

impl Wire {
    async fn exchange(&mut self, request: Request<Pieces>) -> hyper::Result<Response<Incoming>> {
        let mut answer = pin!(self.sender.send_request(request));
        let connection = &mut self.connection;
        poll_fn(|cx| drive(connection, cx, |cx| answer.as_mut().poll(cx))).await
    }

    /// Open, and ready for a request.
    fn usable(&mut self, cx: &mut Context<'_>) -> bool {
        let sender = &mut self.sender;
        matches!(drive(&mut self.connection, cx, |cx| sender.poll_ready(cx)), Poll::Ready(Ok(())))
            && self.connection.is_some()
    }
}

/// Polls `what` and the connection that moves it on. An ended connection has told its error to whoever waits.
fn drive<T>(
    connection: &mut Option<Pin<Box<http1::Connection<Io, Pieces>>>>,
    cx: &mut Context<'_>,
    mut what: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    if let Poll::Ready(done) = what(cx) {
        return Poll::Ready(done);
    }
    if let Some(running) = connection
        && running.as_mut().poll(cx).is_ready()
    {
        *connection = None;
    }
    what(cx)
}

/// The body of an answer and the connection it comes over. Dropping it closes the connection.
pub(crate) struct Reply {
    body: Incoming,
    wire: Wire,
}

impl Reply {
    /// The next bytes; `None` at the end.
    pub(crate) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Bytes>>> {
        loop {
            let body = &mut self.body;
            let frame = ready!(drive(&mut self.wire.connection, cx, |cx| Pin::new(&mut *body).poll_frame(cx)));
            match frame.map(|frame| frame.map(hyper::body::Frame::into_data)) {
                Some(Ok(Ok(bytes))) => return Poll::Ready(Some(Ok(bytes))),
                // Trailers say nothing to us.
                Some(Ok(Err(_))) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// Reads the body into memory, at most `limit` bytes of it. The second value tells whether that was all.
    pub(crate) async fn collect(&mut self, limit: usize) -> hyper::Result<(Vec<u8>, bool)> {
        let mut all = Vec::new();
        while let Some(bytes) = poll_fn(|cx| self.poll_bytes(cx)).await {
            let bytes = bytes?;
            let room = limit - all.len();
            all.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() > room {
                return Ok((all, false));
            }
        }
        Ok((all, true))
    }

    /// The answer is over, except perhaps for the mark that ends its body. Keeps the connection for the next call:
    /// at once when that mark is here, as it nearly always is, else when it comes.
    pub(crate) fn give_back(mut self, http: &Arc<Http>, cx: &mut Context<'_>) {
        let mut behind = 0;
        while let Poll::Ready(more) = self.poll_bytes(cx) {
            behind += more.as_ref().and_then(|more| more.as_ref().ok()).map_or(0, Bytes::len);
            match more {
                Some(Ok(_)) if behind <= DRAIN_BYTES_MAX => {}
                Some(_) => return,
                None if self.wire.usable(cx) => return http.keep(self.wire),
                None => return,
            }
        }
        let http = http.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let drained = tokio::time::timeout(DRAIN_TIME_MAX, self.collect(DRAIN_BYTES_MAX)).await;
                if matches!(drained, Ok(Ok((_, true)))) && poll_fn(|cx| Poll::Ready(self.wire.usable(cx))).await {
                    http.keep(self.wire);
                }
            });
        }
    }

    /// Keeps the connection; the caller has read the body to its end.
    pub(crate) async fn done(mut self, http: &Http) {
        if poll_fn(|cx| Poll::Ready(self.wire.usable(cx))).await {
            http.keep(self.wire);
        }
    }
}
