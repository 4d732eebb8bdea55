//! One request and its whole answer, for small exchanges: sign-ins, tokens, profiles.
//!
//! Redirects are not followed. Knows nothing of what is said.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, Uri};
use vocab::{Fault, FaultKind, Secret};

use crate::body::Pieces;
use crate::credentials::KnownCredentials;
use crate::fault;
use crate::http::{Http, HttpConfig, RequestHead};
use crate::proxy::Proxy;

/// What is asked. The body may hold secrets and is never shown.
pub struct Exchange<'a> {
    pub url: &'a str,
    /// `None` is a GET.
    pub content: Option<PostBody<'a>>,
    /// Sent as `Authorization: Bearer`.
    pub bearer: Option<&'a Secret>,
    /// More headers.
    pub headers: &'a [(&'a str, &'a str)],
    pub proxy: Option<Proxy>,
    /// From the first packet to the last byte of the answer.
    pub timeout: Duration,
    /// A longer answer is a fault: nothing that is asked this way has one.
    pub answer_bytes_max: usize,
}

/// A body to be posted.
#[derive(Clone, Copy)]
pub enum PostBody<'a> {
    Json(&'a str),
    Form(&'a str),
}

/// A whole answer, whatever its status.
pub struct WholeResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

impl fmt::Debug for WholeResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WholeResponse({}, {} bytes)", self.status, self.body.len())
    }
}

impl Exchange<'_> {
    /// Sends it. `Network` when there was no whole answer in time, `Provider` when it was too long; messages name the
    /// server, never the path's parameters, the body or a key.
    pub async fn send(self) -> Result<WholeResponse, Fault> {
        let uri: Uri = self.url.parse().map_err(|_| Fault::new(FaultKind::Invalid, "the address is not a URL"))?;
        let origin =
            format!("{}://{}", uri.scheme_str().unwrap_or_default(), uri.authority().map_or("", |it| it.as_str()));
        let (method, kind, body) = match self.content {
            None => (Method::GET, None, None),
            Some(PostBody::Json(text)) => (Method::POST, None, Some(text)),
            Some(PostBody::Form(text)) => (Method::POST, Some("application/x-www-form-urlencoded"), Some(text)),
        };
        let headers = kind.iter().map(|kind| ("content-type", *kind)).chain(self.headers.iter().copied());
        let headers = headers.filter_map(|(name, value)| Some((name.to_owned(), Secret::new(value)?))).collect();
        let known = KnownCredentials { key: self.bearer.cloned(), headers };
        let http = Http::new(HttpConfig::new(&origin, &known, self.timeout, self.proxy))?;
        let body = body.map(|text| Bytes::copy_from_slice(text.as_bytes()));
        let pieces = || body.clone().map_or_else(Pieces::empty, |body| Pieces::new(vec![body]));
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let head = RequestHead { method: &method, path, accept: "application/json", headers: &[] };
        let exchange = async {
            let (answered, mut body) = http.send(head, pieces).await.map_err(|fault| fault.fault)?;
            let read = body.collect(self.answer_bytes_max).await;
            let (body, whole) = read
                .map_err(|error| fault::cut(Some(&error)).fault)
                .map_err(|fault| Fault { kind: FaultKind::Network, ..fault })?;
            if !whole {
                let max = self.answer_bytes_max;
                let message = format!("the answer of {} is longer than {max} bytes", http.server);
                return Err(Fault::new(FaultKind::Provider, message));
            }
            Ok(WholeResponse { status: answered.status().as_u16(), body })
        };
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(done) => done,
            Err(_) => {
                let message = format!("no whole answer from {} within {:?}", http.server, self.timeout);
                Err(Fault::new(FaultKind::Network, message))
            }
        }
    }
}
