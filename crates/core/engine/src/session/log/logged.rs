//! What the log says about how a session behaves, folded from its entries. The log keeps it twice: as it will be once
//! everything on its way is written, and as it was told.

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{Body, Entry, KEY_MS_MAX, Keyed, Mode, NoteEntry, SettingEntry, TodoPhase};

#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) model: Arc<str>,
    pub(crate) mode: Mode,
    pub(crate) thinking: Option<Arc<str>>,
    pub(crate) title: Option<Arc<str>>,
    pub(crate) todos: Arc<[TodoPhase]>,
    pub(crate) keys: KnownKeys,
}

impl Default for Logged {
    fn default() -> Self {
        Self {
            model: "".into(),
            mode: Mode::Prompt,
            thinking: None,
            title: None,
            todos: Arc::from([]),
            keys: KnownKeys::default(),
        }
    }
}

impl Logged {
    pub(crate) fn take(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Opened { model, mode, .. } => {
                self.model = model.clone();
                self.mode = *mode;
                self.thinking = None;
            }
            Body::Setting(SettingEntry::Model { model }) => self.model = model.clone(),
            Body::Setting(SettingEntry::Mode { mode }) => self.mode = *mode,
            Body::Setting(SettingEntry::Thinking { level }) => self.thinking = level.clone(),
            Body::Setting(SettingEntry::Title { title }) => self.title = Some(title.clone()),
            Body::Setting(SettingEntry::Todos { phases }) => self.todos = phases.as_slice().into(),
            Body::Note(NoteEntry::Keyed(keyed)) => self.keys.take(entry.at_ms, keyed),
            _ => {}
        }
    }
}

/// Answers a session remembers; of more, the oldest are forgotten before their time.
const KEYS_MAX: usize = 4096;

/// The commands with keys that were carried out of late, oldest first.
#[derive(Clone, Default, Debug)]
pub(crate) struct KnownKeys(VecDeque<(i64, Arc<Keyed>)>);

impl KnownKeys {
    /// Those that a log has which was read whole.
    pub(crate) fn of(entries: &[Arc<Entry>]) -> Self {
        let mut keys = Self::default();
        for entry in entries {
            if let Body::Note(NoteEntry::Keyed(keyed)) = &entry.body {
                keys.take(entry.at_ms, keyed);
            }
        }
        keys
    }
    fn take(&mut self, at_ms: i64, keyed: &Keyed) {
        while self.0.front().is_some_and(|(old_ms, _)| self.0.len() >= KEYS_MAX || !is_young(*old_ms, at_ms)) {
            self.0.pop_front();
        }
        self.0.push_back((at_ms, Arc::new(keyed.clone())));
    }
    pub(crate) fn find(&self, key: &str, now_ms: i64) -> Option<&Keyed> {
        let is_it = |(at_ms, keyed): &&(i64, Arc<Keyed>)| &*keyed.key == key && is_young(*at_ms, now_ms);
        self.0.iter().rev().find(is_it).map(|(_, keyed)| &**keyed)
    }
}

fn is_young(at_ms: i64, now_ms: i64) -> bool {
    now_ms.saturating_sub(at_ms) < KEY_MS_MAX
}

#[cfg(test)]
mod tests {
    use vocab::KeptReply;

    use super::*;

    #[test]
    fn an_answer_is_remembered_for_a_day_and_so_many_of_them() {
        let mut keys = KnownKeys::default();
        let keyed = |key: String| Keyed { key: key.into(), of: 1, reply: KeptReply::Done };
        keys.take(1000, &keyed("a".into()));
        assert!(keys.find("a", 1000 + KEY_MS_MAX - 1).is_some());
        assert!(keys.find("a", 1000 + KEY_MS_MAX).is_none());
        assert!(keys.find("b", 1000).is_none());
        for number in 0..KEYS_MAX {
            keys.take(2000, &keyed(number.to_string()));
        }
        assert!(keys.find("a", 2000).is_none() && keys.find("0", 2000).is_some());
        keys.take(2000 + KEY_MS_MAX, &keyed("next day".into()));
        assert_eq!(keys.0.len(), 1, "what is too old makes room");
    }
}
