//! Ids.

use vocab::{IdKind, Ids};

/// Time-ordered, so that a list of ids is a list by age.
pub(super) struct UuidIds;

impl Ids for UuidIds {
    fn mint(&self, kind: IdKind) -> String {
        let id = uuid::Uuid::now_v7();
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

/// The random tail of an id, behind a letter.
fn short(letter: &str, id: uuid::Uuid) -> String {
    let text = id.simple().to_string();
    format!("{letter}-{}", &text[text.len() - 12..])
}
