//! Ids.

use std::time::{SystemTime, UNIX_EPOCH};

use vocab::{IdKind, Ids};

/// Time-ordered, so that a list of ids is a list by age.
pub(super) struct UuidIds;

impl Ids for UuidIds {
    fn mint(&self, kind: IdKind) -> String {
        let id = new_uuid();
        match kind {
            IdKind::Session => id.to_string(),
            // Turns, calls, questions and items live within a session: short is enough and reads better.
            IdKind::Turn => short("t", id),
            IdKind::Call => short("c", id),
            IdKind::Ask => short("r", id),
            IdKind::Item => short("q", id),
        }
    }
}

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

/// The random tail of an id, behind a letter.
fn short(letter: &str, id: uuid::Uuid) -> String {
    let text = id.simple().to_string();
    format!("{letter}-{}", &text[text.len() - 12..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_1970_mints_ids_all_the_same() {
        let early = UNIX_EPOCH - std::time::Duration::from_secs(400 * 86_400);
        let (one, two) = (uuid_at(early), uuid_at(early));
        assert!(one != two && one.to_string().starts_with("00000000-0000-7"), "{one} {two}");
        assert_eq!(uuid_at(SystemTime::now()).get_version_num(), 7);
    }
}
