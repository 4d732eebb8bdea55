//! Word of what others write.

use crate::SessionId;

/// Where somebody who watches a whole store is. A store reads its own and no other's; it ends with the store's handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreMoment {
    /// Changes that this handle has seen.
    pub seen: u64,
    /// The newest use of a session, and the end of that session's log.
    pub used: u64,
    pub last_seq: u64,
}

/// What has changed in a store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoreChange {
    pub now: StoreMoment,
    /// Sessions that were used, with the end of their log. Nothing in it: something else was written, such as a name; a list
    /// says what.
    pub used: Vec<(SessionId, u64)>,
}
