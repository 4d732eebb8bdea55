//! Who wrote, and when: in memory, and the longest unheard goes when there are too many.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use dialect_gateway::services::system::{Online, PresenceParams, PresenceResult, PresenceRow, PresenceSummary};
use dialect_gateway::shape::Nullable;

/// Senders remembered.
pub(super) const PRESENCE_MAX: usize = 10_000;

type Sender = (Arc<str>, Arc<str>);

#[derive(Default)]
pub(super) struct PresenceBook {
    /// By channel and name.
    senders: HashMap<Arc<str>, HashMap<Arc<str>, SeenSender>>,
    by_use: BTreeMap<u64, Sender>,
    uses: u64,
}

struct SeenSender {
    first_ms: i64,
    last_ms: i64,
    messages: u64,
    used: u64,
}

impl PresenceBook {
    pub(super) fn seen(&mut self, channel: &str, sender: &str, at_ms: i64) {
        self.uses += 1;
        let known = self.senders.get_mut(channel).and_then(|senders| senders.get_mut(sender));
        let key = if let Some(seen) = known {
            (seen.last_ms, seen.messages) = (at_ms, seen.messages + 1);
            self.by_use.remove(&std::mem::replace(&mut seen.used, self.uses))
        } else {
            let (channel, sender): Sender = (channel.into(), sender.into());
            let fresh = SeenSender { first_ms: at_ms, last_ms: at_ms, messages: 1, used: self.uses };
            self.senders.entry(channel.clone()).or_default().insert(sender.clone(), fresh);
            Some((channel, sender))
        };
        self.by_use.extend(key.map(|key| (self.uses, key)));
        if self.by_use.len() > PRESENCE_MAX
            && let Some((_, (channel, sender))) = self.by_use.pop_first()
            && let Some(senders) = self.senders.get_mut(&channel)
        {
            senders.remove(&sender);
            if senders.is_empty() {
                self.senders.remove(&channel);
            }
        }
    }

    fn of(&self, (channel, sender): &Sender) -> Option<&SeenSender> {
        self.senders.get(channel)?.get(sender)
    }

    pub(super) fn list(&self, params: &PresenceParams, now_ms: i64, online_ms: i64) -> PresenceResult {
        let newest_first = self.by_use.values().rev().filter_map(|key| Some((key, self.of(key)?)));
        let of_channel =
            newest_first.filter(|((channel, _), _)| params.channel.as_ref().is_none_or(|it| it.0 == *channel));
        let mut summary = PresenceSummary { total: 0, online: 0, offline: 0 };
        let mut presence = Vec::new();
        for ((channel, sender), seen) in of_channel {
            let status = if now_ms - seen.last_ms <= online_ms { Online::Online } else { Online::Offline };
            summary.total += 1;
            match status {
                Online::Online => summary.online += 1,
                Online::Offline => summary.offline += 1,
            }
            if params.status.is_none_or(|wanted| wanted == status) && presence.len() < params.limit.size() {
                presence.push(PresenceRow {
                    channel: channel.clone(),
                    sender_id: sender.clone(),
                    sender_name: Nullable(None),
                    first_seen_at: seen.first_ms,
                    last_seen_at: seen.last_ms,
                    message_count: seen.messages,
                    status,
                });
            }
        }
        PresenceResult { presence, summary }
    }
}

#[cfg(test)]
mod tests {
    use dialect_gateway::shape::{Count, Text};

    use super::*;

    #[test]
    fn senders_are_listed_newest_first_and_counted_before_status_and_limit() {
        let mut book = PresenceBook::default();
        book.seen("telegram", "1", 1_000);
        book.seen("ws", "a", 2_000);
        book.seen("telegram", "2", 3_000);
        book.seen("telegram", "1", 4_000);
        let list = |channel: Option<&str>, status, limit| {
            let channel = channel.map(|it| Text(it.into()));
            book.list(&PresenceParams { channel, status, limit: Count(limit) }, 5_000, 1_500)
        };
        let all = list(None, None, 50);
        let names: Vec<&str> = all.presence.iter().map(|row| &*row.sender_id).collect();
        assert_eq!(names, ["1", "2", "a"]);
        let first = &all.presence[0];
        assert_eq!((first.first_seen_at, first.last_seen_at, first.message_count), (1_000, 4_000, 2));
        assert_eq!((all.summary.total, all.summary.online, all.summary.offline), (3, 1, 2));
        let some = list(Some("telegram"), Some(Online::Offline), 1);
        assert_eq!((some.presence.len(), some.summary.total, some.summary.online), (1, 2, 1));
        assert_eq!(&*some.presence[0].sender_id, "2");
    }

    #[test]
    fn the_longest_unheard_goes_when_there_are_too_many() {
        let mut book = PresenceBook::default();
        (0..PRESENCE_MAX).for_each(|it| book.seen("c", &it.to_string(), 0));
        book.seen("c", "0", 1);
        book.seen("c", "new", 2);
        assert_eq!((book.senders["c"].len(), book.by_use.len()), (PRESENCE_MAX, PRESENCE_MAX));
        let has = |name: &str| book.of(&("c".into(), name.into())).is_some();
        assert_eq!((has("0"), has("1"), has("new")), (true, false, true));
    }
}
