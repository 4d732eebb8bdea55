//! The store's own shelf, with what a test has to see of it.

use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use store::MemoryStore;
use vocab::{Fault, Later, Shelf, ShelfKind, ShelfNames, ShelfPlace, Shelved};

pub(crate) struct SeenShelf {
    below: Arc<MemoryStore>,
    /// Everything that was ever put there.
    pub(crate) bytes: Mutex<Vec<u8>>,
    /// The most bytes of payloads that it ever gave at once.
    pub(crate) given_max: Arc<AtomicUsize>,
    /// Whose things nobody ever gets to read.
    pub(crate) stuck: Mutex<Option<Arc<str>>>,
    /// What it says to everything, where it is broken.
    pub(crate) broken: Mutex<Option<Fault>>,
}

impl SeenShelf {
    pub(crate) fn on(below: Arc<MemoryStore>) -> Self {
        Self {
            below,
            bytes: Mutex::default(),
            given_max: Arc::default(),
            stuck: Mutex::default(),
            broken: Mutex::default(),
        }
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
        if self.stuck.lock().unwrap().as_ref() == Some(&place.owner) {
            return Box::pin(std::future::pending());
        }
        self.unless_broken(self.below.get(place))
    }
    fn list(
        &self,
        kind: ShelfKind,
        owner: Option<Arc<str>>,
        limit: usize,
    ) -> Later<'static, Result<Vec<Shelved>, Fault>> {
        let (listed, given_max) = (self.below.list(kind, owner, limit), self.given_max.clone());
        self.unless_broken(Box::pin(async move {
            let listed = listed.await?;
            given_max.fetch_max(listed.iter().map(|it| it.payload.len()).sum(), Ordering::Relaxed);
            Ok(listed)
        }))
    }
    fn names(&self, kind: ShelfKind, owner: Arc<str>, limit: usize) -> Later<'static, Result<ShelfNames, Fault>> {
        self.unless_broken(self.below.names(kind, owner, limit))
    }
    fn remove(&self, place: ShelfPlace) -> Later<'static, Result<bool, Fault>> {
        self.unless_broken(self.below.remove(place))
    }
    fn clear(&self, kind: ShelfKind, owner: Arc<str>) -> Later<'static, Result<u64, Fault>> {
        self.unless_broken(self.below.clear(kind, owner))
    }
}
