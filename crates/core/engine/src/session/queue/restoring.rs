//! What waited when a process ended, in the queue of the next one.

use vocab::{Delivery, Item};

use super::{Queue, QueueAct, QueuedItem, WAITING_MAX};

impl Queue {
    /// Puts back what waited when the process ended; nothing starts until the next message or [`Queue::release`].
    /// Returns what exceeds [`WAITING_MAX`], and steering that comes too late by the policy: the caller settles it as
    /// dropped. `goes_on`: the turn that was running then runs on, and can still be steered.
    pub(crate) fn restore(&mut self, items: Vec<Item>, goes_on: bool) -> Vec<Item> {
        let late = |item: &Item| !goes_on && self.drops_late_steering() && item.delivery == Delivery::Steer;
        let (mut late, items): (Vec<Item>, Vec<Item>) = items.into_iter().partition(late);
        let mut items = items.into_iter();
        let room = WAITING_MAX.saturating_sub(self.waiting.len());
        // Of those whose delivery is the policy's nobody knows whether they were meant to steer that turn.
        self.waiting.extend(items.by_ref().take(room).map(|item| QueuedItem { item, backlog: true }));
        self.resting = !self.waiting.is_empty();
        late.extend(items);
        late
    }

    /// What was dropped before the process ended, and no turn was told of.
    pub(crate) fn restore_dropped(&mut self, items: &[Item]) {
        items.iter().for_each(|item| self.dropped.count(item, self.policy.summarise));
    }

    /// Whether restored items wait for a message.
    pub(crate) fn rests(&self) -> bool {
        self.resting
    }

    /// Starts restored items without waiting for a message.
    pub(crate) fn release(&mut self, now_ms: i64) -> Vec<QueueAct> {
        self.resting = false;
        self.tick(now_ms)
    }
}
