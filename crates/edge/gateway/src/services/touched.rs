//! Sessions that were used since the process began, with the time of their newest message where it is known.

use std::collections::{BTreeMap, HashMap};

use vocab::SessionId;

/// Sessions remembered; beyond that the one that was touched longest ago is forgotten.
const TOUCHED_MAX: usize = 100_000;

#[derive(Default)]
pub(super) struct TouchedSessions {
    by_id: HashMap<SessionId, (u64, LastMessage)>,
    by_use: BTreeMap<u64, SessionId>,
    uses: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LastMessage {
    /// The store knows.
    Unknown,
    At(Option<i64>),
}

impl TouchedSessions {
    pub(super) fn touch(&mut self, session: &SessionId) {
        self.put(session, None);
    }

    pub(super) fn message(&mut self, session: &SessionId, at_ms: i64) {
        self.put(session, Some(LastMessage::At(Some(at_ms))));
    }

    /// The store said so; what was learned since is newer.
    pub(super) fn learn(&mut self, session: &SessionId, last: Option<i64>) {
        if let Some((_, known @ LastMessage::Unknown)) = self.by_id.get_mut(session) {
            *known = LastMessage::At(last);
        }
    }

    pub(super) fn forget(&mut self, session: &SessionId) {
        if let Some((used, _)) = self.by_id.remove(session) {
            self.by_use.remove(&used);
        }
    }

    fn put(&mut self, session: &SessionId, last: Option<LastMessage>) {
        self.uses += 1;
        let (used, known) = self.by_id.entry(session.clone()).or_insert((0, LastMessage::Unknown));
        self.by_use.remove(used);
        *used = self.uses;
        *known = last.unwrap_or(*known);
        self.by_use.insert(self.uses, session.clone());
        if self.by_id.len() > TOUCHED_MAX
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.by_id.remove(&oldest);
        }
    }

    pub(super) fn all(&self) -> Vec<(SessionId, LastMessage)> {
        self.by_id.iter().map(|(session, (_, last))| (session.clone(), *last)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_word_counts_and_the_longest_unused_goes() {
        let mut touched = TouchedSessions::default();
        let id = |number: usize| SessionId::from(format!("s{number}"));
        (0..TOUCHED_MAX).for_each(|number| touched.touch(&id(number)));
        touched.message(&id(0), 5);
        touched.learn(&id(0), Some(3));
        touched.learn(&id(1), Some(3));
        touched.touch(&id(TOUCHED_MAX));
        let all: HashMap<_, _> = touched.all().into_iter().collect();
        assert_eq!(all.len(), TOUCHED_MAX);
        assert_eq!(all.get(&id(0)), Some(&LastMessage::At(Some(5))));
        assert_eq!(all.get(&id(1)), None, "nobody touched it for longest");
        touched.forget(&id(0));
        assert_eq!(touched.all().len(), TOUCHED_MAX - 1);
    }
}
