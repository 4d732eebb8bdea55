//! What a queue wants done, and what it is told of turns.

use vocab::{Fault, Item, ItemEnd, ItemId, SettleReason};

#[cfg(doc)]
use super::{Queue, opening};

/// What the session has to do, in this order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum QueueAct {
    /// Begin a turn. Several items are one user message; [`opening`] joins them. The queue counts as busy from here
    /// until [`Queue::turn_ended`].
    Start { items: Vec<Item>, note: Option<String> },
    /// The offered item waits; position 1 is the front of the list.
    Waiting { id: ItemId, position: usize },
    /// Not taken in. Tell the sender.
    Refuse { item: Item, fault: Fault },
    /// An item that waited ended without running. Tell its sender.
    Settle { item: Item, end: ItemEnd, why: SettleReason },
    /// Cancel the running turn; then report [`Queue::turn_ended`] as always. `item`: the message that takes its place, where
    /// one does.
    InterruptTurn { item: Option<ItemId> },
    /// The waiting list is different now: tell whoever watches it.
    Changed,
}

/// How a turn was over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TurnOver {
    Completed,
    Interrupted,
    Failed,
}
