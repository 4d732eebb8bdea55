//! The end of everything: at once, or when what runs has come to a point where it can stop. All sessions end beside each
//! other, so that many take about as long as one.

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use crate::Engine;
use crate::registry::Handle;
use crate::session::Mail;

impl Engine {
    /// Ends every session in order: turns are interrupted, logs written, leases given back.
    pub async fn shutdown(&self) {
        self.shared.registry.close().await;
        self.shared.ports.store.hurry();
        // Who has children ends them; one that was ended first would be the result of a call, and be answered.
        let (children, parents) = self.live_apart();
        all(parents, stop).await;
        all(children, stop).await;
    }

    /// Ends every session as soon as it can stop: nothing new begins, a running turn goes on to its end, or until the
    /// results of its next tool calls are in the log, and what waits stays in the log. After the limit it is a
    /// [`Engine::shutdown`].
    pub async fn drain(&self, limit: Duration) {
        self.shared.registry.close().await;
        // A child goes on for as long as its parent's call does.
        let (_, parents) = self.live_apart();
        let _ = timeout(limit, all(parents, drain)).await;
        self.shutdown().await;
    }

    /// Children, and all others.
    fn live_apart(&self) -> (Vec<Handle>, Vec<Handle>) {
        self.shared.registry.live().into_iter().partition(|handle| handle.is_child)
    }
}

async fn all<F: Future<Output = ()> + Send + 'static>(handles: Vec<Handle>, end: impl Fn(Handle) -> F) {
    let mut ending: JoinSet<()> = handles.into_iter().map(end).collect();
    while ending.join_next().await.is_some() {}
}

async fn stop(handle: Handle) {
    let (stopped, done) = oneshot::channel();
    if handle.mail.send(Mail::Stop(stopped)).await.is_ok() {
        let _ = done.await;
    }
    handle.gone().await;
}

async fn drain(handle: Handle) {
    let _ = handle.mail.send(Mail::Drain).await;
    handle.gone().await;
}
