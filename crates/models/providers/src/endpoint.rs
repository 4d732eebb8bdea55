//! A server that is no model and is asked many times; its answers come as they are sent, so they may be long streams.
//!
//! Same TLS and proxy rules as a model call; redirects are not followed. Every request has a connection of its own: one that
//! is kept may break before it answers, and nobody could tell whether the request may be sent again. Knows nothing of
//! what is said.

use std::fmt;
use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, Uri};
use vocab::{Fault, FaultKind, ModelFault};

use crate::body::Pieces;
use crate::credentials::{Known, Late};
use crate::http::{Ask, Http, Reach, Reply};
use crate::{Proxy, faults};

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
        let uri: Uri = url.trim().parse().map_err(|_| Fault::new(FaultKind::Invalid, "the address is not a URL"))?;
        let authority = uri.authority().map_or("", |it| it.as_str());
        let origin = format!("{}://{authority}", uri.scheme_str().unwrap_or_default());
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let http = Http::new(Reach {
            late: Some(credentials),
            ..Reach::new(&origin, &Known::default(), connect_timeout, proxy)
        })?;
        Ok(Self { http, path })
    }

    /// The server as people may see it.
    pub fn server(&self) -> &str {
        &self.http.server
    }

    /// Posts JSON and waits for the head of the answer. Dropping the answer closes the connection.
    pub async fn post(&self, accept: &'static str, body: Bytes) -> Result<Incoming<'_>, Fault> {
        self.send(Method::POST, accept, || Pieces::new(vec![body.clone()])).await
    }

    pub async fn get(&self, accept: &'static str) -> Result<Incoming<'_>, Fault> {
        self.send(Method::GET, accept, Pieces::empty).await
    }

    pub async fn delete(&self) -> Result<Incoming<'_>, Fault> {
        self.send(Method::DELETE, "*/*", Pieces::empty).await
    }

    async fn send(
        &self,
        method: Method,
        accept: &'static str,
        body: impl FnMut() -> Pieces,
    ) -> Result<Incoming<'_>, Fault> {
        match self.http.send(Ask { method: &method, path: &self.path, accept, headers: &[] }, body).await {
            Ok((head, reply)) => {
                let (head, ()) = head.into_parts();
                Ok(Incoming { status: head.status.as_u16(), headers: head.headers, reply, http: &self.http })
            }
            Err(fault) => Err(self.http.seal(fault).fault),
        }
    }
}

/// An answer whose head is there.
pub struct Incoming<'a> {
    pub status: u16,
    headers: HeaderMap,
    reply: Reply,
    http: &'a Http,
}

impl Incoming<'_> {
    /// `None` also for a value that is no text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The next bytes of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        poll_fn(|cx| self.reply.poll_bytes(cx)).await.transpose().map_err(|error| self.seal(faults::cut(Some(&error))))
    }

    /// The whole body; a longer one is a fault.
    pub async fn collect(&mut self, bytes_max: usize) -> Result<Vec<u8>, Fault> {
        match self.reply.collect(bytes_max).await {
            Ok((body, true)) => Ok(body),
            Ok((_, false)) => {
                let message = format!("the answer of {} is longer than {bytes_max} bytes", self.http.server);
                Err(Fault::new(FaultKind::Provider, message))
            }
            Err(error) => Err(self.seal(faults::cut(Some(&error)))),
        }
    }

    /// Why the server refused, from the status and the beginning of the body, with all secrets masked.
    pub async fn refusal(mut self, bytes_max: usize) -> Fault {
        let body = self.reply.collect(bytes_max).await.map_or_else(|_| Vec::new(), |(body, _)| body);
        let refused = faults::refused(self.status, &self.headers, &body, &self.http.server);
        let mut fault = self.seal(refused);
        // Those are about models.
        fault.hints.clear();
        fault
    }

    fn seal(&self, fault: ModelFault) -> Fault {
        self.http.seal(fault).fault
    }
}
