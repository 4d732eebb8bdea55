//! Ids.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use vocab::{IdKind, Ids};

/// Sessions' are time-ordered, so that a list of them is a list by age.
#[derive(Default)]
pub(super) struct UuidIds {
    /// Random numbers without a question to the kernel for each: a counter under a hash whose key nobody knows.
    key: RandomState,
    minted: AtomicU64,
}

impl Ids for UuidIds {
    fn mint(&self, kind: IdKind) -> String {
        match kind {
            IdKind::Session => new_uuid().to_string(),
            // Turns, calls, questions and items live within a session: short is enough and reads better.
            IdKind::Turn => self.short('t'),
            IdKind::Call => self.short('c'),
            IdKind::Ask => self.short('r'),
            IdKind::Item => self.short('q'),
        }
    }
}

impl UuidIds {
    /// A letter and 48 random bits.
    fn short(&self, letter: char) -> String {
        let number = self.key.hash_one(self.minted.fetch_add(1, Ordering::Relaxed));
        let digits = (0..SHORT_DIGITS).map(|at| DIGITS[(number >> (4 * at)) as usize % DIGITS.len()]);
        [letter, '-'].into_iter().chain(digits).collect()
    }
}

const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
const SHORT_DIGITS: u32 = 12;

/// A new id by the time of day. A clock that says a time before 1970 is taken to say 1970: the crate's own `now_v7` panics there.
pub(crate) fn new_uuid() -> uuid::Uuid {
    uuid_at(SystemTime::now())
}

fn uuid_at(now: SystemTime) -> uuid::Uuid {
    match now.duration_since(UNIX_EPOCH) {
        // Its own clock, because it counts what comes within a millisecond.
        Ok(_) => uuid::Uuid::now_v7(),
        Err(_) => uuid::Uuid::new_v7(uuid::Timestamp::from_unix(uuid::timestamp::context::ContextV7::new(), 0, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_are_a_letter_and_twelve_digits_and_none_is_like_another() {
        let ids = UuidIds::default();
        let minted: std::collections::HashSet<String> = (0..1000).map(|_| ids.mint(IdKind::Turn)).collect();
        assert_eq!(minted.len(), 1000);
        let is_well_formed = |id: &String| {
            let digits = id.strip_prefix("t-").unwrap_or_default();
            digits.len() == 12 && digits.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
        };
        assert!(minted.iter().all(is_well_formed), "{minted:?}");
        assert_ne!(ids.mint(IdKind::Item), UuidIds::default().mint(IdKind::Item));
    }

    #[test]
    fn a_clock_before_1970_mints_ids_all_the_same() {
        let early = UNIX_EPOCH - std::time::Duration::from_secs(400 * 86_400);
        let (one, two) = (uuid_at(early), uuid_at(early));
        assert!(one != two && one.to_string().starts_with("00000000-0000-7"), "{one} {two}");
        assert_eq!(uuid_at(SystemTime::now()).get_version_num(), 7);
    }
}
