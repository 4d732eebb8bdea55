//! Who watches which sessions, and the way from every session to them. A session never waits for a watcher: what one does not
//! read in time is joined (how a session stands) or left out and said to be (entries and deltas). With no watcher a session
//! pays one look at a number for each event.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vocab::{Event, Fault, FaultKind, Level, PeerId, SessionId, Told, Watched};

use crate::outbox::Outbox;

/// Sessions that one peer can name to watch; whoever wants more watches all.
pub(crate) const WATCHED_IDS_MAX: usize = 1024;

#[derive(Default)]
pub(crate) struct WatchBus {
    watchers: Mutex<Vec<Watcher>>,
    /// 0: nobody watches; else one more than the highest level that some watcher wants.
    highest: AtomicU8,
    /// Those who answer the questions of whatever session, without being on it.
    answering: AtomicUsize,
}

/// Somebody answers for all sessions until this is dropped.
pub struct AnswersForAll(Arc<WatchBus>);

impl Drop for AnswersForAll {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Watcher {
    outbox: Arc<Outbox>,
    /// `None`: all.
    sessions: Option<HashSet<SessionId>>,
    level: Level,
}

impl WatchBus {
    fn lock(&self) -> MutexGuard<'_, Vec<Watcher>> {
        // Every change below is one call of the list.
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether some watcher wants this level, of whatever session.
    pub(crate) fn is_wanted(&self, level: Level) -> bool {
        self.highest.load(Ordering::Relaxed) > level as u8
    }

    pub(crate) fn answers(self: &Arc<Self>) -> AnswersForAll {
        self.answering.fetch_add(1, Ordering::Relaxed);
        AnswersForAll(self.clone())
    }

    /// Whether somebody answers who need not be on a session for it.
    pub(crate) fn is_answered(&self) -> bool {
        self.answering.load(Ordering::Relaxed) > 0
    }

    /// In place of what the peer watched before.
    pub(crate) fn watch(&self, outbox: &Arc<Outbox>, sessions: Watched, level: Level) -> Result<(), Fault> {
        let sessions = match sessions {
            Watched::All => None,
            Watched::Ids(ids) if ids.len() > WATCHED_IDS_MAX => {
                let text = format!("{} sessions are too many to name; at most {WATCHED_IDS_MAX}", ids.len());
                return Err(Fault::new(FaultKind::Invalid, text).hint("watch all"));
            }
            Watched::Ids(ids) => Some(ids.into_iter().collect()),
        };
        let mut watchers = self.lock();
        watchers.retain(|watcher| watcher.outbox.peer != outbox.peer);
        watchers.push(Watcher { outbox: outbox.clone(), sessions, level });
        self.count(&watchers);
        Ok(())
    }

    pub(crate) fn unwatch(&self, peer: PeerId) {
        let mut watchers = self.lock();
        watchers.retain(|watcher| watcher.outbox.peer != peer);
        self.count(&watchers);
    }

    fn count(&self, watchers: &[Watcher]) {
        let highest = watchers.iter().map(|watcher| watcher.level as u8 + 1).max();
        self.highest.store(highest.unwrap_or(0), Ordering::Relaxed);
    }

    /// Tells all who watch this session at this level or above. Those whom `is_on` knows hear it as peers.
    pub(crate) fn tell(&self, told: &Told, level: Level, is_on: impl Fn(PeerId) -> bool) {
        for watcher in self.lock().iter() {
            let wants = watcher.level >= level
                && watcher.sessions.as_ref().is_none_or(|sessions| sessions.contains(&told.session));
            // How it stands is told to all who watch; a peer does not hear that otherwise.
            let is_twice = !matches!(told.event, Event::Watch(_)) && is_on(watcher.outbox.peer);
            if wants && !is_twice {
                watcher.outbox.push_watched(told.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Slow;

    #[test]
    fn only_what_some_watcher_wants_is_made() {
        let bus = WatchBus::default();
        let (one, two) = (Outbox::new(PeerId(1), Slow::Wait), Outbox::new(PeerId(2), Slow::Wait));
        let wanted = |bus: &WatchBus| [Level::Summaries, Level::Entries, Level::Deltas].map(|it| bus.is_wanted(it));
        assert_eq!(wanted(&bus), [false; 3]);
        bus.watch(&one, Watched::All, Level::Summaries).unwrap();
        assert_eq!(wanted(&bus), [true, false, false]);
        bus.watch(&two, Watched::Ids(vec!["s".into()]), Level::Deltas).unwrap();
        assert_eq!(wanted(&bus), [true; 3]);
        bus.watch(&two, Watched::All, Level::Entries).unwrap();
        assert_eq!(wanted(&bus), [true, true, false]);
        bus.unwatch(PeerId(2));
        bus.unwatch(PeerId(1));
        assert_eq!(wanted(&bus), [false; 3]);
        let ids = (0..=WATCHED_IDS_MAX).map(|number| SessionId::from(number.to_string())).collect();
        assert!(bus.watch(&one, Watched::Ids(ids), Level::Summaries).is_err());
    }
}
