//! What is counted on the way into the store, and of model calls.

use std::sync::Arc;
use std::time::Duration;

use dialect_gateway::Topic;
use dialect_gateway::services::sessions::frontend_and_user;
use telemetry::watch::{LogWatch, WatchedProvider, WatchedStore};
use vocab::{Body, Durability, Entry, Fault, Provider, SessionId, Store, UserFrom};

use super::board::deleted_news;
use super::{GatewayCounts, json, lock};

impl GatewayCounts {
    /// The store that the engine is to write to.
    pub fn counted(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(WatchedStore::new(store, Arc::new(self.clone())))
    }

    /// The models that the engine is to call.
    pub fn models(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(WatchedProvider::new(provider, self.0.numbers.models.clone()))
    }
}

impl LogWatch for GatewayCounts {
    fn written(&self, session: &SessionId, entries: &[Arc<Entry>], durability: Durability, took: Duration) {
        self.0.numbers.store.written(durability, took);
        lock(&self.0.touched).touch(session, last_said(entries));
        for entry in entries {
            let is_written_by_people =
                matches!(entry.body, Body::User { from: UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp, .. });
            if is_written_by_people {
                let (frontend, user) = frontend_and_user(session);
                lock(&self.0.presence).seen(frontend, user, entry.at_ms);
            }
        }
        lock(&self.0.asks).written(session, entries);
        entries.iter().for_each(|entry| self.0.numbers.logged.count(session, entry));
        let mut counters = lock(&self.0.counters);
        entries.iter().for_each(|entry| counters.count(session, entry));
        drop(counters);
        let mut history = lock(&self.0.history);
        entries.iter().for_each(|entry| history.count(session, entry));
    }

    /// They say when the session was last spoken in, and add to nothing.
    fn copied(&self, session: &SessionId, entries: &[Arc<Entry>]) {
        if let Some(said_ms) = last_said(entries) {
            lock(&self.0.touched).touch(session, Some(said_ms));
        }
    }

    fn refused(&self, _: &SessionId, _: &Fault) {
        self.0.numbers.store.errors.one();
    }

    fn unread(&self, _: &SessionId, _: &Fault) {
        self.0.numbers.store.errors.one();
    }

    fn deleted(&self, session: &SessionId) {
        lock(&self.0.touched).forget(session);
        lock(&self.0.asks).forget(session);
        lock(&self.0.counters).forget(session);
        lock(&self.0.history).forget(session);
        self.0.numbers.logged.forget(session);
        self.0.deletions.tell(session);
        // Without `about`: a later `session` item must not replace the news of the deletion.
        self.0.news.tell(Topic::Sessions, None, "session", || json(&deleted_news(session)));
    }

    fn released(&self, session: &SessionId) {
        self.0.numbers.logged.forget(session);
    }
}

/// When the last of the messages among these was said.
fn last_said(entries: &[Arc<Entry>]) -> Option<i64> {
    let is_said = |entry: &&Arc<Entry>| matches!(entry.body, Body::User { .. } | Body::Assistant { .. });
    entries.iter().rfind(is_said).map(|entry| entry.at_ms)
}
