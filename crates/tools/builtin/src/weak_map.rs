//! Things that live as long as somebody uses them, found by their names.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Names of what is gone are swept out when the map has become twice as large as it was after the last time.
const SWEEP_FROM: usize = 32;

pub(crate) struct WeakMap<K, V>(Mutex<Entries<K, V>>);

struct Entries<K, V> {
    map: HashMap<K, Weak<V>>,
    sweep_at: usize,
}

impl<K, V> Default for WeakMap<K, V> {
    fn default() -> Self {
        Self(Mutex::new(Entries { map: HashMap::new(), sweep_at: SWEEP_FROM }))
    }
}

impl<K: Eq + Hash, V> WeakMap<K, V> {
    fn lock(&self) -> MutexGuard<'_, Entries<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        self.lock().map.get(key).and_then(Weak::upgrade)
    }

    pub(crate) fn insert(&self, key: K, value: &Arc<V>) {
        let mut entries = self.lock();
        if entries.map.len() >= entries.sweep_at {
            entries.map.retain(|_, value| value.strong_count() > 0);
            entries.map.shrink_to_fit();
            entries.sweep_at = (entries.map.len() * 2).max(SWEEP_FROM);
        }
        entries.map.insert(key, Arc::downgrade(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_uses_is_gone_and_its_name_is_swept_out() {
        let map = WeakMap::default();
        let kept = Arc::new(0);
        map.insert(0, &kept);
        for n in 1..10_000 {
            map.insert(n, &Arc::new(n));
            assert!(map.get(&n).is_none());
        }
        assert_eq!(map.get(&0), Some(kept));
        assert!(map.lock().map.len() <= SWEEP_FROM, "{}", map.lock().map.len());
    }
}
