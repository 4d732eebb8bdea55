//! The server as a process: signals, and what the service manager hears.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;
use vocab::{Fault, FaultKind};

use crate::server::ServerHandle;
use crate::service_manager::ServiceManager;

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
        let manager = ServiceManager::of_process();
        self.set_ready();
        let status = self.url().map(|url| format!("\nSTATUS=listening on {url}")).unwrap_or_default();
        manager.tell(&format!("READY=1{status}"));
        loop {
            tokio::select! {
                _ = signals.terminate.recv() => break,
                _ = signals.interrupt.recv() => break,
                _ = signals.hangup.recv() => {
                    manager.reloading();
                    self.reload().await;
                    manager.tell("READY=1");
                }
                () = time_to_live(manager.alive_every()) => {
                    // A process whose store is stuck is restarted by who watches it.
                    if self.is_well().await {
                        manager.tell("WATCHDOG=1");
                    }
                }
            }
        }
        manager.tell("STOPPING=1");
        self.shutdown(signals.end()).await;
    }
}

async fn time_to_live(every: Option<Duration>) {
    match every {
        Some(every) => sleep(every).await,
        None => std::future::pending().await,
    }
}
