//! A shelf in memory.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use vocab::{Clock, Fault, FaultKind, Later, Shelf, ShelfKind, ShelfPlace, Shelved};

pub(crate) struct MemoryShelf {
    things: Mutex<HashMap<ShelfPlace, (u64, Shelved)>>,
    clock: Arc<dyn Clock>,
    /// What it says to everything, where it is broken.
    pub(crate) broken: Mutex<Option<Fault>>,
}

impl MemoryShelf {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { things: Mutex::default(), clock, broken: Mutex::default() }
    }
    /// All bytes that lie there.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.things.lock().unwrap().values().flat_map(|(_, it)| it.payload.to_vec()).collect()
    }
    fn answer<T: Send + 'static>(&self, answer: Result<T, Fault>) -> Later<'static, Result<T, Fault>> {
        match self.broken.lock().unwrap().clone() {
            Some(fault) => Box::pin(ready(Err(fault))),
            None => Box::pin(ready(answer)),
        }
    }
}

impl Shelf for MemoryShelf {
    fn put(
        &self,
        place: ShelfPlace,
        payload: Arc<[u8]>,
        at_most: Option<u64>,
    ) -> Later<'static, Result<Shelved, Fault>> {
        let mut things = self.things.lock().unwrap();
        let of_owner = things.keys().filter(|it| it.kind == place.kind && it.owner == place.owner).count() as u64;
        if !things.contains_key(&place) && at_most.is_some_and(|most| of_owner >= most) {
            return self.answer(Err(Fault::new(FaultKind::QueueFull, "no room")));
        }
        let (now, order) = (self.clock.now_ms(), things.values().map(|(order, _)| *order).max().unwrap_or(0) + 1);
        let before = things.get(&place).map(|(_, it)| (it.version, it.created_ms));
        let (version, created_ms) = before.map_or((1, now), |(version, created)| (version + 1, created));
        let shelved = Shelved { place: place.clone(), version, created_ms, updated_ms: now, payload };
        things.insert(place, (order, shelved.clone()));
        self.answer(Ok(shelved))
    }
    fn get(&self, place: ShelfPlace) -> Later<'static, Result<Option<Shelved>, Fault>> {
        self.answer(Ok(self.things.lock().unwrap().get(&place).map(|(_, it)| it.clone())))
    }
    fn list(
        &self,
        kind: ShelfKind,
        owner: Option<Arc<str>>,
        limit: usize,
    ) -> Later<'static, Result<Vec<Shelved>, Fault>> {
        let things = self.things.lock().unwrap();
        let fits = |it: &Shelved| it.place.kind == kind && owner.as_ref().is_none_or(|owner| it.place.owner == *owner);
        let mut found: Vec<(u64, Shelved)> = things.values().filter(|(_, it)| fits(it)).cloned().collect();
        found.sort_by_key(|(order, _)| std::cmp::Reverse(*order));
        self.answer(Ok(found.into_iter().map(|(_, it)| it).take(limit).collect()))
    }
    fn remove(&self, place: ShelfPlace) -> Later<'static, Result<bool, Fault>> {
        self.answer(Ok(self.things.lock().unwrap().remove(&place).is_some()))
    }
    fn clear(&self, kind: ShelfKind, owner: Arc<str>) -> Later<'static, Result<u64, Fault>> {
        let mut things = self.things.lock().unwrap();
        let before = things.len();
        things.retain(|place, _| place.kind != kind || place.owner != owner);
        self.answer(Ok((before - things.len()) as u64))
    }
}
