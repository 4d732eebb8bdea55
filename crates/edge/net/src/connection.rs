//! One connection and the answer that comes over it.
//!
//! A connection is driven by the future that waits for its answer, not by a task of its own: a byte goes from the socket
//! to the reader without a hop through the scheduler, and dropping the reader closes the socket at once.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};

use crate::body::Pieces;
use crate::dial::Io;
use crate::driver::Driver;
use crate::http::Http;

/// What is read at most behind the end of an answer, to be able to use its connection again.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(1);
const DRAIN_BYTES_MAX: usize = 64 * 1024;

/// One connection.
pub(crate) struct Connection {
    sender: http1::SendRequest<Pieces>,
    driver: Driver,
}

impl Connection {
    pub(crate) async fn open(io: Io) -> hyper::Result<Self> {
        let (sender, driver) = http1::handshake(io).await?;
        Ok(Self { sender, driver: Driver::new(driver) })
    }

    pub(crate) async fn exchange(&mut self, request: Request<Pieces>) -> hyper::Result<Response<Incoming>> {
        let mut answer = pin!(self.sender.send_request(request));
        let driver = &mut self.driver;
        poll_fn(|cx| driver.drive(cx, |cx| answer.as_mut().poll(cx))).await
    }

    /// Open, and ready for a request.
    pub(crate) fn is_usable(&mut self, cx: &mut Context<'_>) -> bool {
        let sender = &mut self.sender;
        matches!(self.driver.drive(cx, |cx| sender.poll_ready(cx)), Poll::Ready(Ok(()))) && self.is_open()
    }

    /// The same, having looked whether the other side has closed it.
    pub(crate) fn is_still_open(&mut self, cx: &mut Context<'_>) -> bool {
        let _: Poll<()> = self.driver.drive(cx, |_| Poll::Pending);
        self.is_open()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.driver.is_running()
    }
}

pub(crate) fn split(response: Response<Incoming>, connection: Connection) -> (Response<()>, ResponseBody) {
    let (head, body) = response.into_parts();
    (Response::from_parts(head, ()), ResponseBody { body, connection })
}

/// The body of an answer and the connection it comes over. Dropping it closes the connection.
pub struct ResponseBody {
    body: Incoming,
    connection: Connection,
}

impl ResponseBody {
    /// The next bytes; `None` at the end.
    pub fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Bytes>>> {
        loop {
            let body = &mut self.body;
            let frame = ready!(self.connection.driver.drive(cx, |cx| Pin::new(&mut *body).poll_frame(cx)));
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
    pub async fn collect(&mut self, limit: usize) -> hyper::Result<(Vec<u8>, bool)> {
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
    pub fn give_back(mut self, http: &Arc<Http>, cx: &mut Context<'_>) {
        let mut behind = 0;
        while let Poll::Ready(more) = self.poll_bytes(cx) {
            behind += more.as_ref().and_then(|more| more.as_ref().ok()).map_or(0, Bytes::len);
            match more {
                Some(Ok(_)) if behind <= DRAIN_BYTES_MAX => {}
                Some(_) => return,
                None if self.connection.is_usable(cx) => return http.idle.keep(self.connection),
                None => return,
            }
        }
        let http = http.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let drained = tokio::time::timeout(DRAIN_TIME_MAX, self.collect(DRAIN_BYTES_MAX)).await;
                if matches!(drained, Ok(Ok((_, true)))) {
                    self.done(&http).await;
                }
            });
        }
    }

    /// Keeps the connection; the caller has read the body to its end.
    pub async fn done(mut self, http: &Http) {
        if poll_fn(|cx| Poll::Ready(self.connection.is_usable(cx))).await {
            http.idle.keep(self.connection);
        }
    }
}
