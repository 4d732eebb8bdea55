//! One connection: TLS where it is wanted, then HTTP/1.1 or HTTP/2, whichever the other side begins with.

mod idleness;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::http::{self, ConnectionFacts, Wire};
use crate::limits::{HANDSHAKE, HEAD_BYTES_MAX, HEADERS_MAX, IDLE, PING, RESET_STREAMS_MAX, STREAMS_MAX};
use crate::state::ServerState;
use idleness::ConnectionIdleness;

pub(crate) async fn tls(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    facts: Arc<ConnectionFacts>,
    state: Arc<ServerState>,
) {
    if let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await {
        serve(stream, facts, state).await;
    }
}

pub(crate) async fn serve<S: Wire>(stream: S, facts: Arc<ConnectionFacts>, state: Arc<ServerState>) {
    let ending = state.ending.clone();
    let idleness = Arc::<ConnectionIdleness>::default();
    let counts = idleness.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (state, facts, one) = (state.clone(), facts.clone(), counts.begin());
        async move { Ok::<_, Infallible>(http::answer::<S>(state, facts, request).await.map(|body| one.told_in(body))) }
    });
    let builder = builder();
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
    tokio::select! {
        // What a peer does wrong ends its connection and concerns nobody else.
        _ = connection.as_mut() => return,
        () = without_a_request(&idleness) => return,
        // HTTP/1.1 looks at the time between two requests itself.
        () = idleness.none_for(IDLE) => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(HANDSHAKE, connection).await;
            return;
        }
        _ = ending.wait() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Ends a connection without a request within `HANDSHAKE`: nothing else times it before the HTTP version is known.
async fn without_a_request(idleness: &ConnectionIdleness) {
    sleep(HANDSHAKE).await;
    if idleness.were_any() {
        std::future::pending().await
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .max_concurrent_streams(STREAMS_MAX)
        .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
        .keep_alive_interval(PING);
    builder
}
