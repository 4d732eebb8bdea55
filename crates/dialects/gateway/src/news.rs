//! News of the services: one call that waits for them, asked again with each answer.

use crate::events;
use crate::ledger::{IdLedger, SubscriptionId};
use crate::own::{NewsItem, NewsMark, Out, Topic};

/// Which subscription wants which topics.
#[derive(Default, Debug)]
pub(crate) struct News {
    wanted: Vec<(SubscriptionId, Vec<Topic>)>,
    mark: Option<NewsMark>,
    /// The call that counts; an older one was for other topics.
    pub(crate) asked: u64,
}

impl News {
    /// Whether there is more to ask for now.
    pub(crate) fn want(&mut self, subscription: SubscriptionId, topics: Vec<Topic>) -> bool {
        if topics.is_empty() {
            return false;
        }
        let before = self.topics();
        self.wanted.push((subscription, topics));
        self.topics() != before
    }
    /// Whether there is less to ask for now.
    pub(crate) fn forget(&mut self, subscription: SubscriptionId) -> bool {
        let before = self.topics();
        self.wanted.retain(|(it, _)| *it != subscription);
        self.topics() != before
    }
    /// All that are wanted, each once.
    pub(crate) fn topics(&self) -> Vec<Topic> {
        let mut topics: Vec<Topic> = self.wanted.iter().flat_map(|(_, topics)| topics.iter().copied()).collect();
        topics.sort();
        topics.dedup();
        topics
    }
    pub(crate) fn mark(&self) -> Option<NewsMark> {
        self.mark
    }
    /// Tells everybody who wants it.
    pub(crate) fn tell(&mut self, items: &[NewsItem], mark: NewsMark, ledger: &IdLedger, out: &mut Out) {
        self.mark = Some(mark);
        for item in items {
            let mut tail = events::head(item.event);
            tail.extend_from_slice(item.data.on_one_line().as_str().as_bytes());
            tail.push(b'}');
            for (subscription, _) in self.wanted.iter().filter(|(_, topics)| topics.contains(&item.topic)) {
                ledger.news(*subscription, &tail, out);
            }
        }
    }
}
