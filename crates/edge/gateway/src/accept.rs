//! Takes connections, up to what there is room for, and gives each a task.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_rustls::TlsAcceptor;

use crate::connection;
use crate::entrance::PeerAddress;
use crate::http::ConnectionFacts;
use crate::limits::{ACCEPT_PAUSE, NO_PROGRESS};
use crate::listen;
use crate::state::ServerState;
use crate::tls::TlsShelf;

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Until the server ends.
pub(crate) async fn tcp(listener: TcpListener, tls: Option<Arc<TlsShelf>>, state: Arc<ServerState>) {
    let ending = state.ending.clone();
    let accepting = async {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let peer = PeerAddress::Tcp(peer);
                    let acceptor = tls.as_ref().map(|tls| tls.acceptor());
                    one_tcp(stream, peer, acceptor, &state);
                }
                Err(error) => rest(&error).await,
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = ending.wait() => {}
    }
}

fn one_tcp(stream: TcpStream, peer: PeerAddress, acceptor: Option<TlsAcceptor>, state: &Arc<ServerState>) {
    let Some(place) = state.places.connection(peer) else {
        // Told if it can be told at once; nobody waits for a guest who cannot come in.
        let _ = stream.try_write(FULL);
        return;
    };
    let _ = stream.set_nodelay(true);
    let _ = listen::give_up_after(&stream, NO_PROGRESS);
    let facts =
        Arc::new(ConnectionFacts { peer, local: stream.local_addr().ok(), tls: acceptor.is_some(), _place: place });
    let state = state.clone();
    tokio::spawn(async move {
        match acceptor {
            Some(acceptor) => connection::tls(acceptor, stream, facts, state).await,
            None => connection::serve(stream, facts, state).await,
        }
    });
}

pub(crate) async fn unix(listener: UnixListener, state: Arc<ServerState>) {
    let ending = state.ending.clone();
    let accepting = async {
        loop {
            match listener.accept().await {
                Ok((mut stream, _)) => {
                    // Whose process it is: without that it is nobody's.
                    let Ok(peer) = stream.peer_cred() else { continue };
                    let peer = PeerAddress::Unix { uid: peer.uid(), pid: peer.pid() };
                    let Some(place) = state.places.connection(peer) else {
                        let _ = stream.write_all(FULL).await;
                        continue;
                    };
                    let facts = Arc::new(ConnectionFacts { peer, local: None, tls: false, _place: place });
                    tokio::spawn(connection::serve(stream, facts, state.clone()));
                }
                Err(error) => rest(&error).await,
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = ending.wait() => {}
    }
}

/// Without descriptors `accept` fails at once, again and again.
async fn rest(error: &io::Error) {
    let is_of_one = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    );
    if !is_of_one {
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}
