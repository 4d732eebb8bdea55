//! The store's own shelf, with what a test has to see of it.

use std::future::ready;
use std::sync::{Arc, Mutex};

use store::MemoryStore;
use vocab::{Fault, Later, Shelf, ShelfKind, ShelfPlace, Shelved};

pub(crate) struct SeenShelf {
    below: Arc<MemoryStore>,
    /// Everything that was ever put there.
    pub(crate) bytes: Mutex<Vec<u8>>,
    /// What it says to everything, where it is broken.
    pub(crate) broken: Mutex<Option<Fault>>,
}

impl SeenShelf {
    pub(crate) fn on(below: Arc<MemoryStore>) -> Self {
        Self { below, bytes: Mutex::default(), broken: Mutex::default() }
    }
    fn unless_broken<T: Send + 'static>(
        &self,
        answer: Later<'static, Result<T, Fault>>,
    ) -> Later<'static, Result<T, Fault>> {
        match self.broken.lock().unwrap().clone() {
            Some(fault) => Box::pin(ready(Err(fault))),
            None => answer,
        }
    }
}

impl Shelf for SeenShelf {
    fn put(
        &self,
        place: ShelfPlace,
        payload: Arc<[u8]>,
        at_most: Option<u64>,
    ) -> Later<'static, Result<Shelved, Fault>> {
        self.bytes.lock().unwrap().extend_from_slice(&payload);
        self.unless_broken(self.below.put(place, payload, at_most))
    }
    fn get(&self, place: ShelfPlace) -> Later<'static, Result<Option<Shelved>, Fault>> {
        self.unless_broken(self.below.get(place))
    }
    fn list(
        &self,
        kind: ShelfKind,
        owner: Option<Arc<str>>,
        limit: usize,
    ) -> Later<'static, Result<Vec<Shelved>, Fault>> {
        self.unless_broken(self.below.list(kind, owner, limit))
    }
    fn remove(&self, place: ShelfPlace) -> Later<'static, Result<bool, Fault>> {
        self.unless_broken(self.below.remove(place))
    }
    fn clear(&self, kind: ShelfKind, owner: Arc<str>) -> Later<'static, Result<u64, Fault>> {
        self.unless_broken(self.below.clear(kind, owner))
    }
}
