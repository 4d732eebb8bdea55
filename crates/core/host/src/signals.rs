//! Signals that ask a process to end. A dialect hears of them as [`wire::Parting::Asked`], with their name.

use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn new() -> Option<Self> {
        Some(Self {
            terminate: signal(SignalKind::terminate()).ok()?,
            interrupt: signal(SignalKind::interrupt()).ok()?,
            hangup: signal(SignalKind::hangup()).ok()?,
        })
    }

    /// The name of the next one.
    pub(crate) async fn next(signals: &mut Option<Self>) -> &'static str {
        let Some(signals) = signals else { return std::future::pending().await };
        tokio::select! {
            _ = signals.terminate.recv() => "sigterm",
            _ = signals.interrupt.recv() => "sigint",
            _ = signals.hangup.recv() => "sighup",
        }
    }
}
