//! HTTP as the web tools speak it: one request on a connection of its own, a body read up to a bound, errors as sentences
//! for the model. Redirects are answers here; who follows them knows what it may send along. TLS roots are read at the
//! first https request, never before.

pub(crate) mod host;
mod resolve;
pub(crate) mod url;

use std::sync::OnceLock;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Builder};
use hyper_util::rt::TokioExecutor;

pub(crate) use resolve::Reach;
use resolve::Resolver;
use url::Url;

/// How we name ourselves.
pub(crate) const AGENT: &str = concat!("tillerman/", env!("CARGO_PKG_VERSION"));

type Plain = legacy::Client<HttpConnector<Resolver>, Full<Bytes>>;
type Tls = legacy::Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>;

pub(crate) struct Client {
    user_agent: String,
    reach: Reach,
    plain: OnceLock<Plain>,
    tls: OnceLock<Result<Tls, String>>,
}

impl Client {
    pub(crate) fn new(user_agent: String, reach: Reach) -> Self {
        Self { user_agent, reach, plain: OnceLock::new(), tls: OnceLock::new() }
    }

    pub(crate) async fn get(&self, url: &Url, accept: &'static str) -> Result<Response<Incoming>, String> {
        let headers = [(hyper::header::ACCEPT, HeaderValue::from_static(accept))].into_iter().collect();
        self.send(Method::GET, url, headers, Bytes::new()).await
    }

    pub(crate) async fn post(&self, url: &Url, headers: HeaderMap, body: Bytes) -> Result<Response<Incoming>, String> {
        self.send(Method::POST, url, headers, body).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, String> {
        let mut request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(USER_AGENT, &self.user_agent)
            .body(Full::new(body))
            .map_err(|error| format!("{} cannot be requested: {error}", url.as_str()))?;
        request.headers_mut().extend(headers);
        let answer = match url.is_https() {
            true => self.tls()?.request(request).await,
            false => self.plain.get_or_init(|| builder().build(self.connector())).request(request).await,
        };
        answer.map_err(|error| format!("{} cannot be reached: {}", url.as_str(), causes(&error)))
    }

    fn tls(&self) -> Result<&Tls, String> {
        let tls = self.tls.get_or_init(|| {
            let roots = HttpsConnectorBuilder::new().with_native_roots();
            let roots = roots.map_err(|error| format!("no certificates to check https with: {error}"))?;
            let mut connector = self.connector();
            connector.enforce_http(false);
            Ok(builder().build(roots.https_only().enable_http1().wrap_connector(connector)))
        });
        tls.as_ref().map_err(Clone::clone)
    }

    /// Connects to the addresses that were looked up and checked, and looks nothing up again.
    fn connector(&self) -> HttpConnector<Resolver> {
        HttpConnector::new_with_resolver(Resolver(self.reach))
    }
}

/// No idle connections: a call leaves nothing behind.
fn builder() -> Builder {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.pool_max_idle_per_host(0);
    builder
}

pub(crate) fn header(response: &Response<Incoming>, name: HeaderName) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// The body, and whether it was longer than `bytes_max`; the rest is left unread.
pub(crate) async fn read(url: &Url, mut body: Incoming, bytes_max: usize) -> Result<(Vec<u8>, bool), String> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("{} broke off: {}", url.as_str(), causes(&error)))?;
        let Some(data) = frame.data_ref() else { continue };
        let room = bytes_max - bytes.len();
        bytes.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return Ok((bytes, true));
        }
    }
    Ok((bytes, false))
}

/// An error with all its causes; the outermost alone says "client error".
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    text
}
