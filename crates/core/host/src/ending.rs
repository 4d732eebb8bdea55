//! The end of a process that serves many: each of its conversations hears of it, and goes on until it has settled.

use std::sync::Arc;

use tokio::sync::watch;

/// Asked once, heard by all. Clones are the same.
#[derive(Clone, Debug)]
pub struct DaemonEnding(Arc<watch::Sender<Option<&'static str>>>);

impl Default for DaemonEnding {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl DaemonEnding {
    /// Everybody is to come to an end; `by` is why, in one word (`shutdown`). The first word counts.
    pub fn ask(&self, by: &'static str) {
        self.0.send_if_modified(|asked| {
            let is_first = asked.is_none();
            asked.get_or_insert(by);
            is_first
        });
    }

    pub fn asked(&self) -> Option<&'static str> {
        *self.0.borrow()
    }

    /// Waits until somebody asks.
    pub async fn wait(&self) -> &'static str {
        let mut hears = self.0.subscribe();
        loop {
            if let Some(by) = *hears.borrow_and_update() {
                return by;
            }
            if hears.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }
}
