//! The same number once for each label.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Different labels of one family. What comes beyond is counted as [`OTHER`]: a client can make no more series than this.
pub const LABELS_MAX: usize = 50;
pub const OTHER: &str = "other";
/// The longest label; the rest of a longer one is cut off.
const LABEL_BYTES_MAX: usize = 100;

pub struct Labelled<T> {
    rows: RwLock<BTreeMap<Arc<str>, Arc<T>>>,
    make: fn() -> T,
}

impl<T> Labelled<T> {
    pub fn new(make: fn() -> T) -> Self {
        Self { rows: RwLock::default(), make }
    }

    /// What is counted under this label.
    pub fn of(&self, label: &str) -> Arc<T> {
        let label = &label[..label.floor_char_boundary(LABEL_BYTES_MAX)];
        if let Some(row) = self.rows.read().unwrap_or_else(PoisonError::into_inner).get(label) {
            return row.clone();
        }
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        let label = if rows.len() < LABELS_MAX || rows.contains_key(label) { label } else { OTHER };
        rows.entry(label.into()).or_insert_with(|| Arc::new((self.make)())).clone()
    }

    pub fn all(&self) -> Vec<(Arc<str>, Arc<T>)> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        rows.iter().map(|(label, row)| (label.clone(), row.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Counter;
    use super::*;

    #[test]
    fn nobody_can_make_more_series_than_there_may_be() {
        let family = Labelled::new(Counter::default);
        for number in 0..10_000 {
            family.of(&format!("model-{number}{}", "x".repeat(500))).one();
        }
        let all = family.all();
        assert_eq!(all.len(), LABELS_MAX + 1);
        assert_eq!(all.iter().map(|(_, row)| row.get()).sum::<u64>(), 10_000);
        assert_eq!(family.of(OTHER).get(), 10_000 - LABELS_MAX as u64);
    }
}
