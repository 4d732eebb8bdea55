//! A URL that is asked many times; its answers come as they are sent, so they may be long streams.
//!
//! Redirects are not followed. Every request has a connection of its own: one that is kept may break before it answers,
//! and nothing would tell whether the request may be sent again. Knows nothing of what is said.

use std::fmt;
use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, Uri};
use vocab::{Fault, FaultKind};

use crate::body::Pieces;
use crate::connection::ResponseBody;
use crate::credentials::{KnownCredentials, Late};
use crate::fault::{self, NetFault};
use crate::http::{Http, HttpConfig, RequestHead};
use crate::proxy::Proxy;

/// Where to ask, and with what.
pub struct Endpoint {
    http: Http,
    path: String,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.http.server)
    }
}

impl Endpoint {
    /// `credentials` are asked for the headers of every request where they are live. Messages name the server, never the
    /// rest of the URL.
    pub fn new(url: &str, credentials: Late, connect_timeout: Duration, proxy: Option<Proxy>) -> Result<Self, Fault> {
        Self::with(url, |origin| {
            let none = KnownCredentials::default();
            let config = HttpConfig::new(origin, &none, connect_timeout, proxy);
            Http::new(HttpConfig { late: Some(credentials), ..config })
        })
    }

    /// `connect` is given the origin of the URL.
    pub(crate) fn with(url: &str, connect: impl FnOnce(&str) -> Result<Http, Fault>) -> Result<Self, Fault> {
        let uri: Uri = url.trim().parse().map_err(|_| Fault::new(FaultKind::Invalid, "the address is not a URL"))?;
        let authority = uri.authority().map_or("", |it| it.as_str());
        let origin = format!("{}://{authority}", uri.scheme_str().unwrap_or_default());
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Self { http: connect(&origin)?, path })
    }

    /// The server as people may see it.
    pub fn server(&self) -> &str {
        &self.http.server
    }

    /// Posts JSON and waits for the head of the answer. Dropping the answer closes the connection.
    pub async fn post(&self, accept: &'static str, body: Bytes) -> Result<StreamedResponse<'_>, NetFault> {
        self.post_with(accept, &[], body).await
    }

    /// The same with headers of this request alone. Where the credentials say another value, that counts.
    pub async fn post_with(
        &self,
        accept: &'static str,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<StreamedResponse<'_>, NetFault> {
        self.send(Method::POST, accept, headers, || Pieces::new(vec![body.clone()])).await
    }

    pub async fn get(&self, accept: &'static str) -> Result<StreamedResponse<'_>, NetFault> {
        self.get_with(accept, &[]).await
    }

    /// The same with headers of this request alone.
    pub async fn get_with(
        &self,
        accept: &'static str,
        headers: &[(&'static str, String)],
    ) -> Result<StreamedResponse<'_>, NetFault> {
        self.send(Method::GET, accept, headers, Pieces::empty).await
    }

    pub async fn delete(&self) -> Result<StreamedResponse<'_>, NetFault> {
        self.delete_with(&[]).await
    }

    /// The same with headers of this request alone.
    pub async fn delete_with(&self, headers: &[(&'static str, String)]) -> Result<StreamedResponse<'_>, NetFault> {
        self.send(Method::DELETE, "*/*", headers, Pieces::empty).await
    }

    async fn send(
        &self,
        method: Method,
        accept: &'static str,
        headers: &[(&'static str, String)],
        body: impl FnMut() -> Pieces,
    ) -> Result<StreamedResponse<'_>, NetFault> {
        let head = RequestHead { method: &method, path: &self.path, accept, headers };
        match self.http.send(head, body).await {
            Ok((head, body)) => {
                let (head, ()) = head.into_parts();
                Ok(StreamedResponse { status: head.status.as_u16(), headers: head.headers, body, http: &self.http })
            }
            Err(fault) => Err(self.http.seal_net(fault)),
        }
    }
}

/// An answer whose head is there.
pub struct StreamedResponse<'a> {
    pub status: u16,
    headers: HeaderMap,
    body: ResponseBody,
    http: &'a Http,
}

impl StreamedResponse<'_> {
    /// `None` also for a value that is no text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The next bytes of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetFault> {
        poll_fn(|cx| self.body.poll_bytes(cx)).await.transpose().map_err(|error| self.broken(&error))
    }

    /// The whole body; a longer one is a fault.
    pub async fn collect(&mut self, bytes_max: usize) -> Result<Vec<u8>, NetFault> {
        match self.beginning(bytes_max).await? {
            (body, true) => Ok(body),
            (_, false) => {
                let message = format!("the answer of {} is longer than {bytes_max} bytes", self.http.server);
                Err(NetFault::lasting(Fault::new(FaultKind::Provider, message)))
            }
        }
    }

    /// The beginning of the body, and whether that is all of it; the rest is left unread.
    pub async fn beginning(&mut self, bytes_max: usize) -> Result<(Vec<u8>, bool), NetFault> {
        self.body.collect(bytes_max).await.map_err(|error| self.broken(&error))
    }

    /// Why the server refused, from the status and the beginning of the body, with all secrets masked.
    pub async fn refusal(mut self, bytes_max: usize) -> Fault {
        let body = self.body.collect(bytes_max).await.map_or_else(|_| Vec::new(), |(body, _)| body);
        let message = match self.status {
            300..400 => fault::redirected(self.status, &self.headers, &self.http.server),
            status => match fault::error_message(&body) {
                said if said.is_empty() => format!("{status} the server gave no reason"),
                said => format!("{status} {said}"),
            },
        };
        self.http.seal(Fault::new(FaultKind::Provider, message))
    }

    fn broken(&self, error: &hyper::Error) -> NetFault {
        self.http.seal_net(fault::cut(Some(error)))
    }
}
