//! Signals that would end the process without a word.

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// A write beyond the limit on the size of files (`ulimit -f`) fails like one to a full disk, and is told like one. The
/// handler does nothing and stays for good; it is not handed on to programs that we start, as an ignored signal would be.
pub(crate) fn survive_file_limits() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _entered = runtime.enter();
    // Without it everything works but the limit.
    let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
}
