//! The shelf of a store in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use vocab::{Fault, FaultKind, Later, Shelf, ShelfKind, ShelfNames, ShelfPlace, Shelved};

use super::{MemoryStore, now, now_ms};

/// Kind, owner and name.
type ShelfKey = (&'static str, Arc<str>, Arc<str>);

/// What is there, and in which order it was put there.
#[derive(Default)]
pub(super) struct ShelfRows {
    rows: BTreeMap<ShelfKey, (u64, Shelved)>,
    puts: u64,
}

impl ShelfRows {
    pub(super) fn forget_of(&mut self, session: &str) {
        self.rows.retain(|_, (_, it)| !it.place.kind.goes_with_session || &*it.place.owner != session);
    }
}

fn key(place: &ShelfPlace) -> ShelfKey {
    (place.kind.name, place.owner.clone(), place.name.clone())
}

impl Shelf for MemoryStore {
    fn put(
        &self,
        place: ShelfPlace,
        payload: Arc<[u8]>,
        at_most: Option<u64>,
    ) -> Later<'static, Result<Shelved, Fault>> {
        let mut sessions = self.lock();
        let shelf = &mut sessions.shelf;
        let found = shelf.rows.get(&key(&place)).map(|(_, it)| it.clone());
        let of_owner =
            |it: &&(u64, Shelved)| it.1.place.kind.name == place.kind.name && it.1.place.owner == place.owner;
        let count = shelf.rows.values().filter(of_owner).count() as u64;
        if let Some(most) = at_most.filter(|most| found.is_none() && count >= *most) {
            let text = format!("there are {most} of them already, and no more are kept");
            return now(Err(Fault::new(FaultKind::QueueFull, text).hint("remove one first")));
        }
        let at = now_ms();
        let shelved = Shelved {
            version: found.as_ref().map_or(0, |found| found.version) + 1,
            created_ms: found.as_ref().map_or(at, |found| found.created_ms),
            updated_ms: found.as_ref().map_or(at, |found| at.max(found.updated_ms)),
            place,
            payload,
        };
        shelf.puts += 1;
        // One that is replaced keeps its place among those of the same moment, as a row on a disk does.
        let number = shelf.rows.get(&key(&shelved.place)).map_or(shelf.puts, |(number, _)| *number);
        shelf.rows.insert(key(&shelved.place), (number, shelved.clone()));
        now(Ok(shelved))
    }

    fn get(&self, place: ShelfPlace) -> Later<'static, Result<Option<Shelved>, Fault>> {
        now(Ok(self.lock().shelf.rows.get(&key(&place)).map(|(_, it)| it.clone())))
    }

    fn list(
        &self,
        kind: ShelfKind,
        owner: Option<Arc<str>>,
        limit: usize,
    ) -> Later<'static, Result<Vec<Shelved>, Fault>> {
        let sessions = self.lock();
        let fits = |it: &&(u64, Shelved)| {
            it.1.place.kind.name == kind.name && owner.as_ref().is_none_or(|owner| *owner == it.1.place.owner)
        };
        let mut found: Vec<&(u64, Shelved)> = sessions.shelf.rows.values().filter(fits).collect();
        found.sort_by_key(|(number, it)| std::cmp::Reverse((it.updated_ms, *number)));
        now(Ok(found.into_iter().take(limit).map(|(_, it)| it.clone()).collect()))
    }

    fn names(&self, kind: ShelfKind, owner: Arc<str>, limit: usize) -> Later<'static, Result<ShelfNames, Fault>> {
        let listed = self.list(kind, Some(owner), usize::MAX);
        Box::pin(async move {
            let listed = listed.await?;
            let names = listed.iter().take(limit).map(|it| it.place.name.clone()).collect();
            Ok(ShelfNames { names, total: listed.len() as u64 })
        })
    }

    fn remove(&self, place: ShelfPlace) -> Later<'static, Result<bool, Fault>> {
        now(Ok(self.lock().shelf.rows.remove(&key(&place)).is_some()))
    }

    fn clear(&self, kind: ShelfKind, owner: Arc<str>) -> Later<'static, Result<u64, Fault>> {
        let mut sessions = self.lock();
        let before = sessions.shelf.rows.len();
        sessions.shelf.rows.retain(|_, (_, it)| it.place.kind.name != kind.name || it.place.owner != owner);
        now(Ok((before - sessions.shelf.rows.len()) as u64))
    }
}
