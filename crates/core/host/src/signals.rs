//! Signals that ask a process to end: a dialect hears of them as [`wire::Parting::Asked`], with their name. And one that
//! would end it without a word.

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) const SIGTERM: &str = "sigterm";

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
            _ = signals.terminate.recv() => SIGTERM,
            _ = signals.interrupt.recv() => "sigint",
            _ = signals.hangup.recv() => "sighup",
        }
    }
}

/// A write beyond the limit on the size of files (`ulimit -f`) fails like one to a full disk, and is told like one. The
/// handler does nothing and stays for good; it is not handed on to programs that we start, as an ignored signal would be.
pub fn survive_file_limits() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _entered = runtime.enter();
    // Without it everything works but the limit.
    let _ = signal(SignalKind::from_raw(Number::XFSZ.as_raw()));
}
