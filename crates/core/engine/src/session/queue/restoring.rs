//! What waited when a process ended, in the queue of the next one.

use vocab::{Delivery, Item};

use super::{Queue, QueueAct, QueuedItem, WAITING_MAX, tidy, wants_own_turn};

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
        self.waiting.extend(items.by_ref().take(room).map(|item| QueuedItem { item, backlog: true, drawn: None }));
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

    /// As [`Queue::release`], also of what would only join a turn: the one that it waited for is gone, and no other comes by
    /// itself.
    pub(crate) fn go_on(&mut self, now_ms: i64) -> Vec<QueueAct> {
        let mut acts = self.release(now_ms);
        if !self.is_busy() && self.due().is_none() {
            self.start_joining(&mut acts);
        }
        acts
    }

    /// Whether what came back from a restart runs before a new message: it was taken in first. Steering joins whatever turn
    /// comes.
    pub(super) fn is_rested_on(&self) -> bool {
        self.resting && self.waiting.iter().any(|waiting| waiting.item.delivery != Delivery::Steer)
    }

    /// A new message behind what came back from a restart, which goes on with it.
    pub(super) fn wake_with(&mut self, mut item: Item, now_ms: i64) -> Vec<QueueAct> {
        self.resting = false;
        let follow_up = self.waiting.iter().position(|waiting| waiting.item.delivery == Delivery::FollowUp);
        let own_turn = self.waiting.iter().position(|waiting| wants_own_turn(&waiting.item));
        let mut acts = Vec::new();
        if follow_up.is_some_and(|at| own_turn.is_none_or(|own| at < own)) {
            let first = self.take(1, |waiting| waiting.item.delivery == Delivery::FollowUp);
            acts.push(self.begin(first));
        }
        if item.delivery == Delivery::RejectIfBusy {
            // Nothing was running when it came, so it is not refused: it has the place of the one that starts.
            item.delivery = Delivery::Enqueue;
            if !self.is_busy() {
                self.start_next(now_ms, &mut acts);
            }
            if self.is_busy() {
                acts.push(QueueAct::Waiting { id: item.id.clone(), position: self.waiting.len() + 1 });
                self.waiting.push_back(QueuedItem { item, backlog: false, drawn: Some(self.drawn) });
                acts.push(QueueAct::Changed);
                return tidy(acts);
            }
        }
        acts.extend(self.admit(item, now_ms));
        acts
    }
}
