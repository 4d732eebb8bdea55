//! The server as a process: the signals that it obeys.

use tokio::signal::unix::{Signal, SignalKind, signal};
use vocab::{Fault, FaultKind};

use crate::server::ServerHandle;

/// Signals, taken before anything is promised: one that comes while the server starts is not lost.
pub struct DaemonSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl DaemonSignals {
    /// Must be called on a runtime.
    pub fn take() -> Result<Self, Fault> {
        let one = |kind| signal(kind).map_err(|error| Fault::new(FaultKind::Internal, format!("signals: {error}")));
        Ok(Self {
            terminate: one(SignalKind::terminate())?,
            interrupt: one(SignalKind::interrupt())?,
            hangup: one(SignalKind::hangup())?,
        })
    }

    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

impl ServerHandle {
    /// Says that it is ready, then serves until SIGTERM or SIGINT, and ends in order; a second one hurries. SIGHUP reads the
    /// configuration again.
    pub async fn run(self, mut signals: DaemonSignals) {
        self.set_ready();
        loop {
            tokio::select! {
                _ = signals.terminate.recv() => break,
                _ = signals.interrupt.recv() => break,
                _ = signals.hangup.recv() => self.reload().await,
            }
        }
        self.shutdown(signals.end()).await;
    }
}
