//! What the log says about how a session behaves, folded from its entries. The log keeps it twice: as it will be once
//! everything on its way is written, and as it was told.

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{Body, Entry, KEPT_ANSWERS_MAX, KEY_MS_MAX, Keyed, Mode, NoteEntry, Principal, SettingEntry, TodoPhase};

use crate::weight;

#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) model: Arc<str>,
    pub(crate) model_called: Option<Arc<str>>,
    pub(crate) mode: Mode,
    pub(crate) thinking: Option<Arc<str>>,
    pub(crate) title: Option<Arc<str>>,
    pub(crate) todos: Arc<[TodoPhase]>,
    pub(crate) keys: KnownKeys,
    /// Which of the running turn the next reply is.
    pub(crate) next_reply: u32,
}

impl Default for Logged {
    fn default() -> Self {
        Self {
            model: "".into(),
            model_called: None,
            mode: Mode::Prompt,
            thinking: None,
            title: None,
            todos: Arc::from([]),
            keys: KnownKeys::default(),
            next_reply: 0,
        }
    }
}

impl Logged {
    pub(crate) fn take(&mut self, entry: &Entry) {
        self.next_reply = vocab::next_reply(self.next_reply, &entry.body);
        match &entry.body {
            Body::Opened { model, mode, .. } => {
                (self.model, self.model_called) = (model.clone(), None);
                self.mode = *mode;
                self.thinking = None;
            }
            Body::Setting(SettingEntry::Model { model, called }) => {
                (self.model, self.model_called) = (model.clone(), called.clone());
            }
            Body::Setting(SettingEntry::Mode { mode }) => self.mode = *mode,
            Body::Setting(SettingEntry::Thinking { level }) => self.thinking = level.clone(),
            Body::Setting(SettingEntry::Title { title }) => self.title = Some(title.clone()),
            Body::Setting(SettingEntry::Todos { phases }) => self.todos = phases.as_slice().into(),
            Body::Note(NoteEntry::Keyed(keyed)) => self.keys.take(entry, keyed),
            _ => {}
        }
    }
}

/// What the answers that a session remembers weigh together; of more, the oldest are forgotten before their time. The newest
/// is remembered whatever it weighs.
const KEYS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The commands with keys that were carried out of late, oldest first. A key is its sender's own: two of them may choose the
/// same one.
#[derive(Clone, Default, Debug)]
pub(crate) struct KnownKeys {
    keys: VecDeque<Arc<KnownKey>>,
    bytes: usize,
}

#[derive(Debug)]
struct KnownKey {
    at_ms: i64,
    by: Option<Principal>,
    keyed: Keyed,
}

impl KnownKeys {
    /// Those that a log has.
    pub(crate) fn of<'a>(entries: impl Iterator<Item = &'a Arc<Entry>>) -> Self {
        let mut keys = Self::default();
        for entry in entries {
            if let Body::Note(NoteEntry::Keyed(keyed)) = &entry.body {
                keys.take(entry, keyed);
            }
        }
        keys
    }
    fn take(&mut self, entry: &Entry, keyed: &Keyed) {
        let at_ms = entry.at_ms;
        self.bytes += weight::keyed(keyed);
        let is_full = |keys: &Self| keys.keys.len() >= KEPT_ANSWERS_MAX || keys.bytes > KEYS_BYTES_MAX;
        while self.keys.front().is_some_and(|old| is_full(self) || !is_young(old.at_ms, at_ms)) {
            let old = self.keys.pop_front();
            self.bytes -= old.map_or(0, |old| weight::keyed(&old.keyed));
        }
        self.keys.push_back(Arc::new(KnownKey { at_ms, by: entry.by.clone(), keyed: keyed.clone() }));
    }
    pub(crate) fn find(&self, by: Option<&Principal>, key: &str, now_ms: i64) -> Option<&Keyed> {
        let is_it = |it: &&Arc<KnownKey>| &*it.keyed.key == key && it.by.as_ref() == by && is_young(it.at_ms, now_ms);
        self.keys.iter().rev().find(is_it).map(|it| &it.keyed)
    }
}

fn is_young(at_ms: i64, now_ms: i64) -> bool {
    now_ms.saturating_sub(at_ms) < KEY_MS_MAX
}

#[cfg(test)]
mod tests {
    use vocab::{Delivery, Item, KeptReply, Part};

    use super::*;

    #[test]
    fn an_answer_is_remembered_for_a_day_and_so_many_of_them() {
        let mut keys = KnownKeys::default();
        let (ann, bob) = (Principal::user("ann"), Principal::user("bob"));
        let take = |keys: &mut KnownKeys, at_ms: i64, key: String| {
            let keyed = Keyed { key: key.into(), of: 1, reply: KeptReply::Done };
            let body = Body::Note(NoteEntry::Keyed(keyed.clone()));
            keys.take(&Entry { seq: 1, parent: 0, at_ms, body, by: Some(ann.clone()) }, &keyed);
        };
        take(&mut keys, 1000, "a".into());
        assert!(keys.find(Some(&ann), "a", 1000 + KEY_MS_MAX - 1).is_some());
        assert!(keys.find(Some(&bob), "a", 1000).is_none(), "another one's key");
        assert!(keys.find(Some(&ann), "a", 1000 + KEY_MS_MAX).is_none());
        assert!(keys.find(Some(&ann), "b", 1000).is_none());
        for number in 0..KEPT_ANSWERS_MAX {
            take(&mut keys, 2000, number.to_string());
        }
        assert!(keys.find(Some(&ann), "a", 2000).is_none() && keys.find(Some(&ann), "0", 2000).is_some());
        take(&mut keys, 2000 + KEY_MS_MAX, "next day".into());
        assert_eq!(keys.keys.len(), 1, "what is too old makes room");
    }

    #[test]
    fn answers_are_remembered_up_to_so_many_bytes() {
        let mut keys = KnownKeys::default();
        let large = |bytes: usize| {
            let parts = vec![Part::text("x".repeat(bytes))];
            let item = Item {
                id: "i".into(),
                parts,
                delivery: Delivery::Queue,
                at_ms: 0,
                sender: None,
                by: None,
                until_ms: None,
            };
            KeptReply::Queue(vec![item])
        };
        let mut take = |key: &str, reply: KeptReply| {
            let keyed = Keyed { key: key.into(), of: 1, reply };
            let body = Body::Note(NoteEntry::Keyed(keyed.clone()));
            keys.take(&Entry { seq: 1, parent: 0, at_ms: 1, body, by: None }, &keyed);
            ["a", "b", "c"].map(|key| keys.find(None, key, 1).is_some())
        };
        assert_eq!(take("a", large(KEYS_BYTES_MAX / 2)), [true, false, false]);
        assert_eq!(take("b", large(KEYS_BYTES_MAX / 3)), [true, true, false]);
        assert_eq!(take("c", large(KEYS_BYTES_MAX / 3)), [false, true, true], "the oldest makes room");
        assert_eq!(take("a", large(KEYS_BYTES_MAX * 2)), [true, false, false], "the newest is remembered in any case");
        assert_eq!(take("b", KeptReply::Done), [false, true, false]);
    }
}
