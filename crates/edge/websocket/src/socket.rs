//! A WebSocket over any stream, as a pipe of messages. An idle one keeps no buffer: bytes are read into one that the thread
//! has, messages that go out together are put into another (`batch.rs`), and a long one is written from where it lies.

mod batch;
mod state;
mod wakers;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use host::{MessageSink, MessageStream, PrincipalCell};
use tokio::io::{AsyncRead, AsyncWrite};
use wire::{Close, CloseCode};

use crate::codec::{Codec, WsLimits};
use crate::pings::Pings;
use state::SocketState;
use wakers::Wakers;

pub use wakers::Kick;

/// What a binary message is to whoever hears messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
    /// A message that means nothing, so that it is answered: [`wire::NO_TEXT`].
    Invalid,
    /// Nothing at all.
    Ignored,
}

/// When the other side's close is answered, behind which nothing more can be said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnClose {
    #[default]
    AtOnce,
    /// When our side has said what it owes: RFC 6455 lets a client hear that (5.5.1).
    WhenDone,
}

pub struct SocketOptions {
    pub binary: Binary,
    pub on_close: OnClose,
    pub pings: Pings,
    /// What holds as soon as it is known who is there.
    pub once_known: Option<(PrincipalCell, WsLimits)>,
}

/// The receiving half.
pub struct SocketStream<S>(Arc<SocketShared<S>>);
/// The sending half.
pub struct SocketSink<S>(Arc<SocketShared<S>>);

struct SocketShared<S> {
    state: Mutex<SocketState<S>>,
    wakers: Arc<Wakers>,
}

impl<S> SocketShared<S> {
    fn lock(&self) -> MutexGuard<'_, SocketState<S>> {
        // A panic inside ends the connection's task; nobody else holds this.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Both halves of a socket whose handshake is over, and what ends it from outside. `first`: what came behind the handshake.
pub fn socket<S>(
    stream: S,
    first: Bytes,
    codec: Codec,
    options: SocketOptions,
) -> (SocketStream<S>, SocketSink<S>, Kick)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let wakers = Arc::new(Wakers::default());
    let state = Mutex::new(SocketState::new(stream, &first, codec, options));
    let shared = Arc::new(SocketShared { state, wakers: wakers.clone() });
    (SocketStream(shared.clone()), SocketSink(shared), Kick::new(wakers))
}

impl<S> SocketStream<S> {
    /// How the other side said that it ended, if it did: code and reason.
    pub fn closed_with(&self) -> Option<(u16, String)> {
        self.0.lock().closed_with.as_deref().cloned()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> SocketSink<S> {
    /// Says that nothing more will be sent. What the other side still says is received as before.
    pub fn poll_last_word(&mut self, context: &mut Context<'_>, close: &Close) -> Poll<io::Result<()>> {
        self.0.wakers.write_by(context.waker());
        let both = Waker::from(self.0.wakers.clone());
        self.0.lock().poll_last_word(&mut Context::from_waker(&both), close)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> MessageStream for SocketStream<S> {
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        self.0.wakers.read_by(context.waker());
        let both = Waker::from(self.0.wakers.clone());
        let mut state = self.0.lock();
        if let Some((code, why)) = self.0.wakers.kicked() {
            state.end_with(code, why);
        }
        state.poll_receive(&mut Context::from_waker(&both))
    }
    fn refuses_more(&self) -> Option<Close> {
        self.0.lock().flooded.map(|why| Close::new(CloseCode::PolicyViolation, why))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> MessageSink for SocketSink<S> {
    fn poll_send(&mut self, context: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>> {
        self.0.wakers.write_by(context.waker());
        let both = Waker::from(self.0.wakers.clone());
        self.0.lock().poll_send(&mut Context::from_waker(&both), message)
    }

    fn poll_send_some(
        &mut self,
        context: &mut Context<'_>,
        messages: &mut dyn Iterator<Item = &[u8]>,
    ) -> Poll<io::Result<usize>> {
        self.0.wakers.write_by(context.waker());
        let both = Waker::from(self.0.wakers.clone());
        self.0.lock().poll_send_some(&mut Context::from_waker(&both), messages)
    }

    fn poll_close(&mut self, context: &mut Context<'_>, close: &Close) -> Poll<()> {
        self.0.wakers.write_by(context.waker());
        let both = Waker::from(self.0.wakers.clone());
        self.0.lock().poll_close(&mut Context::from_waker(&both), close)
    }
}
