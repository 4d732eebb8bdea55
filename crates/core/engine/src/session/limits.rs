//! The time that messages have: one that waits is let go of when it is over, and the turn that began with it is cut. It is the
//! message's, so it holds whether or not the peer that sent it is still there, and in the next process, too: what is kept is when
//! it ends, by the clock on the wall.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Duration, Instant, Sleep};
use vocab::{CutBy, Item, TurnId};

use super::Session;

/// Made with the first message that has a limit.
pub(super) struct Limits {
    /// The same moment by both clocks. From there on it is counted: that somebody sets the clock on the wall moves no end.
    since: (Instant, i64),
    /// That of the running turn.
    turn: Option<(TurnId, i64)>,
    /// For the earliest end of all.
    timer: Option<(i64, Pin<Box<Sleep>>)>,
}

impl Limits {
    fn new(now_ms: i64) -> Self {
        Self { since: (Instant::now(), now_ms), turn: None, timer: None }
    }

    fn at(&self, until_ms: i64) -> Instant {
        self.since.0 + Duration::from_millis(until_ms.saturating_sub(self.since.1).max(0) as u64)
    }

    /// A turn begins with these. It has the time of the one that has most, and all the time there is where one has no limit: who
    /// sent that wants the turn to its end. Gives back until when.
    pub(super) fn begin(&mut self, turn: &TurnId, items: &[Item]) -> Option<i64> {
        let all: Option<Vec<i64>> = items.iter().map(|item| item.until_ms).collect();
        let until_ms = all.and_then(|all| all.into_iter().max());
        self.turn = until_ms.map(|until_ms| (turn.clone(), until_ms));
        until_ms
    }

    /// Others have come into the running turn, as those that it began with.
    pub(super) fn join(&mut self, items: &[Item]) {
        for item in items {
            if let Some((_, until_ms)) = &mut self.turn {
                match item.until_ms {
                    Some(later) => *until_ms = later.max(*until_ms),
                    None => self.turn = None,
                }
            }
        }
    }

    /// The same of a turn that an earlier process began.
    pub(super) fn go_on(&mut self, turn: &TurnId, until_ms: i64) {
        self.turn = Some((turn.clone(), until_ms));
    }

    pub(super) fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<i64> {
        let Some((until_ms, sleep)) = &mut self.timer else { return Poll::Pending };
        let until_ms = *until_ms;
        if sleep.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.timer = None;
        Poll::Ready(until_ms)
    }

    fn arm(&mut self, next: i64) {
        if self.timer.as_ref().is_none_or(|(until_ms, _)| *until_ms != next) {
            self.timer = Some((next, Box::pin(tokio::time::sleep_until(self.at(next)))));
        }
    }
}

impl Session {
    pub(super) fn limits(&mut self) -> &mut Limits {
        self.limits.get_or_insert_with(|| Box::new(Limits::new(self.shared.ports.clock.now_ms())))
    }

    /// Whether what had its time until then comes too late by now.
    pub(super) fn is_late(&self, until_ms: Option<i64>) -> bool {
        until_ms.is_some_and(|until_ms| until_ms <= self.shared.ports.clock.now_ms())
    }

    /// Sets the timer for the next end. Where nothing has one any more, nothing of this is left.
    pub(super) fn arm_limits(&mut self) {
        let (running, waits) = (self.current_turn(), self.prompts.queue.next_limit());
        let Some(limits) = &mut self.limits else { return };
        limits.turn.take_if(|(turn, _)| running.as_ref() != Some(turn));
        match limits.turn.iter().map(|(_, until_ms)| *until_ms).chain(waits).min() {
            Some(next) => limits.arm(next),
            None => self.limits = None,
        }
    }

    /// Lets go of what has no time left.
    pub(super) fn time_over(&mut self, upto_ms: i64) {
        let acts = self.prompts.queue.expire(upto_ms);
        self.act(acts);
        let late = self.limits.as_mut().and_then(|limits| limits.turn.take_if(|(_, until_ms)| *until_ms <= upto_ms));
        if late.is_some_and(|(turn, _)| self.current_turn() == Some(turn)) {
            self.activity.cut(CutBy::TimedOut, None);
            let acts = self.prompts.queue.stop_turn();
            self.act(acts);
            self.shared.ports.store.hasten();
        }
    }
}

#[cfg(test)]
mod tests {
    use vocab::{Delivery, Part};

    use super::*;

    fn item(until_ms: Option<i64>) -> Item {
        let parts = vec![Part::text("x")];
        Item { id: "i".into(), parts, delivery: Delivery::Policy, at_ms: 0, sender: None, by: None, until_ms }
    }

    #[tokio::test]
    async fn a_turn_has_the_time_of_who_gave_it_most() {
        let mut limits = Limits::new(0);
        let cases: [(&[Option<i64>], Option<i64>); 4] =
            [(&[], None), (&[Some(5)], Some(5)), (&[Some(5), Some(9), Some(7)], Some(9)), (&[Some(5), None], None)];
        for (has, want) in cases {
            let items: Vec<Item> = has.iter().copied().map(item).collect();
            assert_eq!(limits.begin(&"t".into(), &items), want, "{has:?}");
            // And of those who come into it later.
            let (first, rest) = items.split_at(items.len().min(1));
            limits.begin(&"t".into(), first);
            limits.join(rest);
            assert_eq!(limits.turn.as_ref().map(|(_, until_ms)| *until_ms), want, "{has:?}");
        }
    }
}
