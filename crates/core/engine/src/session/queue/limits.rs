//! What waits and has a time to end at.

use vocab::{ItemEnd, SettleReason};

use super::{Queue, QueueAct};

impl Queue {
    /// The earliest of these times.
    pub(crate) fn next_limit(&self) -> Option<i64> {
        self.waiting.iter().filter_map(|waiting| waiting.item.until_ms).min()
    }

    /// Those that had until then wait no more.
    pub(crate) fn expire(&mut self, upto_ms: i64) -> Vec<QueueAct> {
        self.settle_where(ItemEnd::Cancelled, SettleReason::TimedOut, |waiting| {
            waiting.item.until_ms.is_some_and(|until_ms| until_ms <= upto_ms)
        })
    }

    /// The running turn is to stop. As [`Queue::interrupt`], but no peer wants it, and what waits goes on.
    pub(crate) fn stop_turn(&mut self) -> Vec<QueueAct> {
        let mut acts = Vec::new();
        self.stop(None, &mut acts);
        acts
    }
}
