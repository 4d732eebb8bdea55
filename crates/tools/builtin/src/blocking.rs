//! Runs the file work of a call on a blocking thread, and tells that thread when nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vocab::{Later, Outcome};

/// Set when the call was dropped. Walks and searches look at it often; writers look last before they commit.
#[derive(Clone, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

/// What a cancelled call would have answered; nobody reads it.
pub(crate) const CANCELLED: &str = "cancelled";

impl Cancel {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.is_set() { Err(CANCELLED.to_owned()) } else { Ok(()) }
    }
}

#[cfg(test)]
impl Cancel {
    /// One that is already set.
    pub(crate) fn cancelled() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Does one step of a call on a blocking thread. Dropping the future tells the thread.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce(&Cancel) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let cancel = Cancel::default();
    let seen = cancel.clone();
    let _guard = CancelOnDrop(cancel);
    let result = tokio::task::spawn_blocking(move || match seen.check() {
        Ok(()) => work(&seen),
        Err(error) => Err(error),
    });
    let failed = |_| Err("the tool failed inside; this is a bug, not a mistake in the arguments".to_owned());
    result.await.unwrap_or_else(failed)
}

/// A call that is one such step. An error becomes an error result for the model.
pub(crate) fn blocking(
    work: impl FnOnce(&Cancel) -> Result<Outcome, String> + Send + 'static,
) -> Later<'static, Outcome> {
    outcome(on_thread(work))
}

/// A call whose error is one for the model.
pub(crate) fn outcome(call: impl Future<Output = Result<Outcome, String>> + Send + 'static) -> Later<'static, Outcome> {
    Box::pin(async { call.await.unwrap_or_else(Outcome::error) })
}
