//! HTTP/1.1 to one server: connecting, keeping connections, one request at a time on each.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode, Uri};
use tokio::sync::OnceCell;
use vocab::{Fault, FaultKind, Keyring};

use crate::address::address_keys;
use crate::body::Pieces;
use crate::connection::{Connection, ResponseBody, split};
use crate::credentials::{KeyHeader, KnownCredentials, Late, Pass, Passes};
use crate::dial::Dialer;
use crate::fault::{self, NetFault};
use crate::idle::IdleConnections;
use crate::proxy::Proxy;
use crate::resolve::AddressPolicy;
use crate::tls::Trust;

/// One server and the connections to it.
pub struct Http {
    /// The base URL as people may see it: no credentials, no slash at the end.
    pub server: Arc<str>,
    dialer: Dialer,
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
    list_headers: &'static [&'static str],
    keyring: Keyring,
    /// Keys in the address itself. They are that address's own: the ring of all keys would take the address for a leak.
    address_keys: Keyring,
    pub(crate) idle: IdleConnections,
}

/// One server and how to get to it.
pub struct HttpConfig<'a> {
    pub base_url: &'a str,
    pub known: &'a KnownCredentials,
    /// Asked before the first request, or before each where it is live; then it counts instead of `known`.
    pub late: Option<Late>,
    pub key_header: KeyHeader,
    /// Where people set the key, for hints: the name of a variable.
    pub key_name: Option<Arc<str>>,
    /// Headers that are lists: what the user configured comes behind what a request says, not instead of it.
    pub list_headers: &'static [&'static str],
    pub connect_timeout: Duration,
    /// Used for https only: through a tunnel the key stays between us and the server, while a plain request would show
    /// it to the proxy.
    pub proxy: Option<Proxy>,
    pub addresses: AddressPolicy,
    pub trust: Arc<Trust>,
    /// Learns every key that is sent.
    pub keyring: Keyring,
}

impl<'a> HttpConfig<'a> {
    pub fn new(
        base_url: &'a str,
        known: &'a KnownCredentials,
        connect_timeout: Duration,
        proxy: Option<Proxy>,
    ) -> Self {
        Self {
            base_url,
            known,
            late: None,
            key_header: KeyHeader::Bearer,
            key_name: None,
            list_headers: &[],
            connect_timeout,
            proxy,
            addresses: AddressPolicy::Anywhere,
            trust: Arc::default(),
            keyring: Keyring::default(),
        }
    }

    /// Authorities to trust beside the system's; `None` = as [`crate::trust_everywhere`] says.
    pub fn trusting(self, ca_file: Option<PathBuf>) -> Self {
        Self { trust: Arc::new(Trust::new(ca_file)), ..self }
    }
}

/// What is asked for, apart from its body.
#[derive(Clone, Copy)]
pub struct RequestHead<'a> {
    pub method: &'a Method,
    pub path: &'a str,
    pub accept: &'static str,
    pub headers: &'a [(&'static str, String)],
}

impl Http {
    /// Fails on a base URL or key that could never work.
    pub fn new(config: HttpConfig<'_>) -> Result<Self, Fault> {
        let base_url = config.base_url;
        let invalid = |why: &str| {
            let shown = crate::address::shown(base_url);
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
        let server: Arc<str> = format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/')).into();
        let origin = format!("{scheme}://{authority}/").parse().map_err(|_| invalid("is not a URL"))?;
        let pass = Pass::new(config.known, config.key_header)?;
        Ok(Self {
            host: HeaderValue::try_from(authority.as_str()).map_err(|_| invalid("has no usable host"))?,
            query: uri.query().map(|query| format!("?{query}")).unwrap_or_default(),
            path: uri.path().trim_end_matches('/').to_owned(),
            pass: OnceCell::new_with(config.late.is_none().then_some(pass)),
            live: config.late.as_ref().is_some_and(|late| late.0.is_live()),
            late: config.late,
            passes: Passes::default(),
            key_header: config.key_header,
            key_name: config.key_name,
            list_headers: config.list_headers,
            keyring: config.keyring,
            address_keys: address_keys(uri.query().unwrap_or_default()),
            idle: IdleConnections::default(),
            dialer: Dialer {
                server: server.clone(),
                origin,
                timeout: config.connect_timeout,
                proxy: config.proxy,
                addresses: config.addresses,
                trust: config.trust,
                tls: OnceCell::new(),
            },
            server,
        })
    }

    /// Sends a request and waits for the head of its answer. `body` is called again when a kept connection turns out
    /// to have been closed before it answered.
    pub async fn send(
        &self,
        head: RequestHead<'_>,
        mut body: impl FnMut() -> Pieces,
    ) -> Result<(Response<()>, ResponseBody), NetFault> {
        match &self.late {
            // On the heap: no other request grows by what only accounts need.
            Some(late) if self.live => Box::pin(self.send_live(late, head, &mut body)).await,
            _ => self.send_with(self.pass().await?, head, &mut body).await,
        }
    }

    /// With what the source says now; after a 401 once more with what it says then. A second 401 is the answer.
    async fn send_live(
        &self,
        late: &Late,
        head: RequestHead<'_>,
        body: &mut impl FnMut() -> Pieces,
    ) -> Result<(Response<()>, ResponseBody), NetFault> {
        let used = late.0.fetch().await.map_err(NetFault::unsent)?;
        let pass = self.passes.of(&used, self.key_header).map_err(NetFault::unsent)?;
        let refused = self.send_with(&pass, head, body).await?;
        if refused.0.status() != StatusCode::UNAUTHORIZED {
            return Ok(refused);
        }
        match late.0.renewed(&used).await.map_err(NetFault::unsent)?.filter(|fresh| *fresh != used) {
            Some(fresh) => {
                let pass = self.passes.of(&fresh, self.key_header).map_err(NetFault::unsent)?;
                self.send_with(&pass, head, body).await
            }
            None => Ok(refused),
        }
    }

    async fn send_with(
        &self,
        pass: &Pass,
        head: RequestHead<'_>,
        body: &mut impl FnMut() -> Pieces,
    ) -> Result<(Response<()>, ResponseBody), NetFault> {
        pass.keys.iter().for_each(|key| self.keyring.learn(key.expose()));
        if let Some(mut kept) = self.idle.take().await {
            match kept.exchange(self.request(pass, head, body())?).await {
                Ok(response) => return Ok(split(response, kept)),
                Err(error) if stale(&error) => {}
                Err(error) => return Err(NetFault::unanswered(&self.server, &error)),
            }
        }
        // On the heap: most requests find a connection that was kept, and need not carry what makes one.
        let mut fresh = Box::pin(self.connect()).await?;
        match fresh.exchange(self.request(pass, head, body())?).await {
            Ok(response) => Ok(split(response, fresh)),
            Err(error) => Err(NetFault::unanswered(&self.server, &error)),
        }
    }

    /// The last step before a fault is shown: says what may help, and masks what a server may have echoed.
    pub fn seal(&self, mut fault: Fault) -> Fault {
        if fault.kind == FaultKind::Auth && fault.hints.is_empty() {
            let advice = match (&self.key_name, &self.late) {
                (Some(name), _) => format!("check {name}"),
                (None, Some(_)) if self.live => "check the account or its key".to_owned(),
                (None, _) => "check the key of this provider".to_owned(),
            };
            fault.hints.push(advice);
        }
        fault.message = self.masked(&fault.message);
        fault
    }

    /// A server repeats what it was sent, and one behind a common proxy may have heard the keys of others.
    fn masked(&self, text: &str) -> String {
        let text = self.address_keys.scrub(text);
        let text = self.keyring.scrub(&text);
        match self.live {
            true => fault::sealed(&text, &self.passes.secrets()),
            false => fault::sealed(&text, self.pass.get().map_or(&[], |pass| &pass.secrets)),
        }
    }

    pub(crate) fn seal_net(&self, fault: NetFault) -> NetFault {
        NetFault { fault: self.seal(fault.fault), cause: self.masked(&fault.cause), ..fault }
    }

    async fn pass(&self) -> Result<&Pass, NetFault> {
        let fetch = || async {
            let Some(late) = &self.late else { return Pass::new(&KnownCredentials::default(), self.key_header) };
            Pass::new(&late.0.fetch().await?, self.key_header)
        };
        // The same key will not come by itself.
        self.pass.get_or_try_init(fetch).await.map_err(NetFault::lasting)
    }

    fn request(&self, pass: &Pass, head: RequestHead<'_>, body: Pieces) -> Result<Request<Pieces>, NetFault> {
        let RequestHead { method, path, accept, headers: more } = head;
        let mut headers = HeaderMap::with_capacity(pass.headers.len() + more.len() + 4);
        headers.insert(HOST, self.host.clone());
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("tillerman/", env!("CARGO_PKG_VERSION"))));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in more {
            let value = HeaderValue::try_from(value).map_err(|error| NetFault::unreachable(&self.server, &error))?;
            headers.insert(HeaderName::from_static(name), value);
        }
        // What the user configured wins.
        for (name, value) in &pass.headers {
            let said = headers.get(name).filter(|_| self.list_headers.contains(&name.as_str()));
            let value = said.and_then(|said| joined(said, value)).unwrap_or_else(|| value.clone());
            headers.insert(name.clone(), value);
        }
        let target = Uri::try_from(self.target(path));
        let mut request = Request::new(body);
        *request.method_mut() = method.clone();
        *request.uri_mut() = target.map_err(|error| NetFault::unreachable(&self.server, &error))?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Path and query, with that of the base URL.
    fn target(&self, path: &str) -> String {
        match (path.contains('?'), self.query.strip_prefix('?')) {
            (true, Some(query)) => [&*self.path, path, "&", query].concat(),
            _ => [&*self.path, path, &*self.query].concat(),
        }
    }

    /// Where a request goes, as people may see it. The query of the base URL is left out: it may hold a key.
    pub fn url(&self, path: &str) -> String {
        [&*self.server, path].concat()
    }

    async fn connect(&self) -> Result<Connection, NetFault> {
        let io = self.dialer.connect().await?;
        Connection::open(io).await.map_err(|error| NetFault::unreachable(&self.server, &error))
    }
}

/// One list of both. As secret as the second: it may be.
fn joined(first: &HeaderValue, second: &HeaderValue) -> Option<HeaderValue> {
    let mut both = HeaderValue::from_bytes(&[first.as_bytes(), second.as_bytes()].join(&b',')).ok()?;
    both.set_sensitive(second.is_sensitive());
    Some(both)
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
