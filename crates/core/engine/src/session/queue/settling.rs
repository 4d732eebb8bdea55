//! How what waits in a queue ends without running.

use vocab::{Delivery, ItemEnd, LaneMode, LateSteer, SettleReason};

use super::{Queue, QueueAct, QueuePhase, QueuedItem, TurnOver, steers};

impl Queue {
    /// What the end of a turn means for those who wait. The queue is in `next` afterwards, unless it was idle.
    pub(super) fn settle_turn(&mut self, how: TurnOver, next: QueuePhase) -> Vec<QueueAct> {
        let mut acts = Vec::new();
        match self.phase {
            QueuePhase::Idle => return acts,
            // Nobody came through `interrupt`, yet the turn was interrupted: the promise to `Queue` items holds.
            QueuePhase::Running if how == TurnOver::Interrupted => acts = self.interrupt_unasked(),
            QueuePhase::Running | QueuePhase::Occupied | QueuePhase::Stopping => {}
        }
        self.phase = next;
        acts.extend(self.settle_missed_steering());
        acts
    }

    pub(super) fn drops_late_steering(&self) -> bool {
        self.policy.late_steer == LateSteer::Dropped
    }

    pub(super) fn drop_late_steering(&mut self) -> Vec<QueueAct> {
        match self.drops_late_steering() {
            true => self.settle_where(ItemEnd::Dropped, SettleReason::TooLate, |w| w.item.delivery == Delivery::Steer),
            false => Vec::new(),
        }
    }

    fn settle_missed_steering(&mut self) -> Vec<QueueAct> {
        let policy = self.policy;
        let missed = move |waiting: &QueuedItem| waiting.item.delivery == Delivery::Policy && steers(&policy, waiting);
        let mut acts = self.drop_late_steering();
        let newest = self.waiting.iter().rposition(missed);
        if policy.mode == LaneMode::Steer
            && let Some(newest) = newest
        {
            self.waiting[newest].backlog = true;
            acts.extend(self.settle_where(ItemEnd::Superseded, SettleReason::Newer, missed));
        }
        self.waiting.iter_mut().filter(|waiting| missed(waiting)).for_each(|waiting| waiting.backlog = true);
        acts
    }

    fn interrupt_unasked(&mut self) -> Vec<QueueAct> {
        let mut acts = self.interrupt();
        acts.retain(|act| !matches!(act, QueueAct::InterruptTurn { .. }));
        acts
    }

    pub(super) fn settle_where(
        &mut self,
        end: ItemEnd,
        why: SettleReason,
        which: impl Fn(&QueuedItem) -> bool,
    ) -> Vec<QueueAct> {
        let items = self.take(usize::MAX, which);
        if end == ItemEnd::Superseded {
            items.iter().for_each(|_| self.dropped.count_superseded());
        }
        let mut acts: Vec<QueueAct> = items.into_iter().map(|item| QueueAct::Settle { item, end, why }).collect();
        if !acts.is_empty() {
            acts.push(QueueAct::Changed);
        }
        acts
    }
}
