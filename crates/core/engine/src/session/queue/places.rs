//! What waits because as many turns run as may, in other sessions. As with a debounce these are messages whose delivery is the
//! policy's; the others were promised a turn at once, and that turn waits for its place.

use vocab::{Delivery, Item};

use super::{Queue, QueueAct, wants_own_turn};
use crate::turn_places::WaitsSince;

impl Queue {
    /// Whether a turn could have a place now. The session says so before whatever may start one.
    pub(crate) fn set_has_place(&mut self, has_place: bool) {
        self.has_place = has_place;
    }
    /// The number of whoever comes now.
    pub(crate) fn set_drawn(&mut self, drawn: u64) {
        self.drawn = drawn;
    }

    /// Since when the message waits that is next.
    pub(crate) fn next_waits_since(&self) -> Option<WaitsSince> {
        let next = self.waiting.iter().find(|waiting| wants_own_turn(&waiting.item))?;
        Some(next.drawn.map_or(WaitsSince::Earlier(next.item.at_ms), WaitsSince::Here))
    }

    /// Whether a place is all that the next message waits for.
    pub(crate) fn awaits_place(&self, now_ms: i64) -> bool {
        !self.has_place && self.due().is_some() && self.debounce_over(now_ms)
    }

    /// The idle queue's way where there is no place: what came first is first in the line for one.
    pub(super) fn wait_for_place(&mut self, item: Item, now_ms: i64) -> Vec<QueueAct> {
        debug_assert!(item.delivery == Delivery::Policy, "the others do not wait for a place here");
        self.note_idleness();
        self.admit(item, now_ms)
    }
}
