//! Something that ends once, and those who wait for that. Smaller than any channel: every session has one.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Held by what is going to end; dropping it is the end.
pub(crate) struct EndGuard(Arc<Semaphore>);

/// Held by those who wait.
#[derive(Clone)]
pub(crate) struct EndSignal(Arc<Semaphore>);

pub(crate) fn end_signal() -> (EndGuard, EndSignal) {
    let semaphore = Arc::new(Semaphore::new(0));
    (EndGuard(semaphore.clone()), EndSignal(semaphore))
}

impl EndSignal {
    pub(crate) async fn ended(&self) {
        // There is never a permit: the only answer is that it was closed.
        let _ = self.0.acquire().await;
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.close();
    }
}
