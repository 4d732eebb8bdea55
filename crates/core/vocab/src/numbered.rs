//! Maps by numbers that nobody from outside can choose to harm us: ours, or so few that it does not matter how they fall. They
//! need no hash that withstands an attack, which costs more than all the rest of a look into a small map.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// By a number, or by a few of them.
pub type NumberedMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;
pub type NumberedSet<K> = HashSet<K, BuildHasherDefault<NumberHasher>>;

/// Spreads numbers that follow one another over the whole range.
#[derive(Default)]
pub struct NumberHasher(u64);

/// An odd number without a pattern: the fraction of the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for NumberHasher {
    fn write_u64(&mut self, number: u64) {
        let spread = u128::from(self.0 ^ number) * u128::from(SPREAD);
        self.0 = spread as u64 ^ (spread >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, Hash};

    use super::*;
    use crate::{PeerId, Tag};

    fn hashes<K: Hash>(keys: impl Iterator<Item = K>, of: impl Fn(u64) -> u64) -> usize {
        let hasher = BuildHasherDefault::<NumberHasher>::default();
        keys.map(|key| of(hasher.hash_one(key))).collect::<HashSet<u64>>().len()
    }

    #[test]
    fn numbers_that_follow_one_another_fall_apart() {
        assert_eq!(hashes((0..1000).map(PeerId), |hash| hash), 1000);
        assert_eq!(hashes((0..1000).map(|n| (PeerId(n % 10), Tag(n / 10))), |hash| hash), 1000);
        // A table looks at the low bits for the place and at the high ones for the rest.
        assert!(hashes((0..64).map(Tag), |hash| hash & 63) > 32);
        assert!(hashes((0..1000).map(Tag), |hash| hash >> 57) == 128);
    }
}
