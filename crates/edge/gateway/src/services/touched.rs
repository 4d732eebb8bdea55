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
enum LastMessage {
    /// The store knows.
    Unknown,
    At(Option<i64>),
}

impl TouchedSessions {
    /// It was used, and where something was said in it, that was then.
    pub(super) fn touch(&mut self, session: &SessionId, said_ms: Option<i64>) {
        self.uses += 1;
        let (used, known) = self.by_id.entry(session.clone()).or_insert((0, LastMessage::Unknown));
        let id = self.by_use.remove(used).unwrap_or_else(|| session.clone());
        self.by_use.insert(self.uses, id);
        *used = self.uses;
        if said_ms.is_some() {
            *known = LastMessage::At(said_ms);
        }
        if self.by_id.len() > TOUCHED_MAX
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.by_id.remove(&oldest);
        }
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

    pub(super) fn has(&self, session: &SessionId) -> bool {
        self.by_id.contains_key(session)
    }

    /// Those of which the store has to be asked first.
    pub(super) fn unknown(&self) -> Vec<SessionId> {
        let is_unknown = |last: &LastMessage| *last == LastMessage::Unknown;
        self.by_id.iter().filter(|(_, (_, last))| is_unknown(last)).map(|(session, _)| session.clone()).collect()
    }

    /// Those with the newest message first, without one last; then by name. And how many there are. Those that are unknown
    /// are not written yet and do not count.
    pub(super) fn page(&self, of: impl Fn(&SessionId) -> bool, limit: usize, offset: usize) -> (Vec<SessionId>, u64) {
        let known = self.by_id.iter().filter_map(|(session, (_, last))| match last {
            LastMessage::At(last) if of(session) => Some((std::cmp::Reverse(*last), session)),
            LastMessage::At(_) | LastMessage::Unknown => None,
        });
        let mut known: Vec<_> = known.collect();
        let (total, end) = (known.len(), offset.saturating_add(limit));
        // Only the beginning has to be in order.
        if end < total {
            known.select_nth_unstable(end);
            known.truncate(end);
        }
        known.sort_unstable();
        (known.into_iter().skip(offset).take(limit).map(|(_, session)| session.clone()).collect(), total as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_word_counts_and_the_longest_unused_goes() {
        let mut touched = TouchedSessions::default();
        let id = |number: usize| SessionId::from(format!("s{number}"));
        (0..TOUCHED_MAX).for_each(|number| touched.touch(&id(number), None));
        touched.touch(&id(0), Some(5));
        touched.learn(&id(0), Some(3));
        touched.learn(&id(1), Some(3));
        touched.touch(&id(TOUCHED_MAX), None);
        assert_eq!(touched.by_id.len(), TOUCHED_MAX);
        assert_eq!(touched.by_id.get(&id(0)).map(|(_, last)| *last), Some(LastMessage::At(Some(5))));
        assert!(!touched.by_id.contains_key(&id(1)), "nobody touched it for longest");
        touched.forget(&id(0));
        assert_eq!((touched.by_id.len(), touched.by_use.len()), (TOUCHED_MAX - 1, TOUCHED_MAX - 1));
        assert_eq!(touched.unknown().len(), TOUCHED_MAX - 1);
    }

    #[test]
    fn a_page_has_the_newest_first_and_those_without_a_message_last() {
        let mut touched = TouchedSessions::default();
        for (name, last) in [("d", None), ("b", Some(7)), ("a", Some(7)), ("c", Some(9)), ("e", None)] {
            touched.touch(&SessionId::from(name), None);
            touched.learn(&SessionId::from(name), last);
        }
        touched.touch(&SessionId::from("unwritten"), None);
        let page = |limit, offset| {
            let (page, total) = touched.page(|it| it.as_str() != "b", limit, offset);
            (page.iter().map(|it| it.as_str().to_owned()).collect::<Vec<_>>().join(""), total)
        };
        assert_eq!(page(9, 0), ("cade".to_owned(), 4));
        assert_eq!(
            (page(2, 0).0, page(2, 1).0, page(2, 3).0, page(2, 9).0),
            ("ca".into(), "ad".into(), "e".into(), "".into())
        );
    }
}
