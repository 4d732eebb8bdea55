//! Small things with a name that are no log: kept beside the sessions, whole or not at all.

use std::sync::Arc;

use super::Later;
use crate::Fault;

pub trait Shelf: Send + Sync {
    /// Puts it there whole, in the place of what is there; its version is one more then. Answered when a power cut cannot take
    /// it back. `at_most`: so many of this kind and owner; one more is `QueueFull`.
    fn put(
        &self,
        place: ShelfPlace,
        payload: Arc<[u8]>,
        at_most: Option<u64>,
    ) -> Later<'static, Result<Shelved, Fault>>;
    fn get(&self, place: ShelfPlace) -> Later<'static, Result<Option<Shelved>, Fault>>;
    /// Newest first.
    fn list(
        &self,
        kind: ShelfKind,
        owner: Option<Arc<str>>,
        limit: usize,
    ) -> Later<'static, Result<Vec<Shelved>, Fault>>;
    /// What there is of this kind and owner, newest first; nothing of it is read.
    fn names(&self, kind: ShelfKind, owner: Arc<str>, limit: usize) -> Later<'static, Result<ShelfNames, Fault>>;
    /// Whether it was there.
    fn remove(&self, place: ShelfPlace) -> Later<'static, Result<bool, Fault>>;
    /// How many there were.
    fn clear(&self, kind: ShelfKind, owner: Arc<str>) -> Later<'static, Result<u64, Fault>>;
}

/// What a thing is found by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ShelfPlace {
    pub kind: ShelfKind,
    /// Whose it is: of a kind that goes with its session, the session's id.
    pub owner: Arc<str>,
    pub name: Arc<str>,
}

/// Things without what is in them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShelfNames {
    pub names: Vec<Arc<str>>,
    /// How many there are, the ones beyond the limit among them.
    pub total: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ShelfKind {
    pub name: &'static str,
    /// It is deleted with the session that owns it.
    pub goes_with_session: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shelved {
    pub place: ShelfPlace,
    /// 1 when it was put there first.
    pub version: u64,
    pub created_ms: i64,
    pub updated_ms: i64,
    pub payload: Arc<[u8]>,
}
