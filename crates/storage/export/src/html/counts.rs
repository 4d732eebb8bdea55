//! The figures at the top of a page.

use std::sync::Arc;

use vocab::{Body, Entry, Totals, TurnEntry, Usage};

/// More models than this are not named at the top of a page.
const MODELS_MAX: usize = 8;

/// Messages, turns and calls are what the page shows; tokens were paid for whether or not they were undone later, so
/// they are the log's [`Totals`], and what the turn under way has told so far.
#[derive(Default)]
pub(super) struct PageCounts<'a> {
    pub(super) messages: u64,
    pub(super) turns: u64,
    pub(super) calls: u64,
    pub(super) usage: Usage,
    /// Models that answered, in the order of their first answer.
    pub(super) models: Vec<&'a str>,
}

impl<'a> PageCounts<'a> {
    pub(super) fn of(entries: &[Arc<Entry>], path: &[&'a Entry]) -> Self {
        let totals = Totals::of(entries);
        let mut counts = PageCounts { usage: totals.usage(), ..PageCounts::default() };
        counts.usage.add(&totals.open_usage());
        for entry in path {
            match &entry.body {
                Body::User { .. } => counts.messages += 1,
                Body::Turn(TurnEntry::Started { .. }) => counts.turns += 1,
                Body::Assistant { message, .. } => {
                    counts.messages += 1;
                    counts.calls += message.calls().count() as u64;
                    if counts.models.len() < MODELS_MAX && !counts.models.contains(&&*message.model) {
                        counts.models.push(&message.model);
                    }
                }
                _ => {}
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use store::{suite, summary};
    use vocab::{AssistantMessage, Finish, MessageEnd, ModelEntry, Stop, TurnEnd};

    use super::*;

    fn log(bodies: impl IntoIterator<Item = Body>) -> Vec<Arc<Entry>> {
        let entry = |(at, body)| Arc::new(Entry { seq: at as u64 + 1, parent: at as u64, at_ms: 0, body, by: None });
        bodies.into_iter().enumerate().map(entry).collect()
    }

    /// What the list of sessions says of the log.
    fn listed(entries: &[Arc<Entry>]) -> Usage {
        let mut listed = summary::blank(&suite::new_session("s"));
        entries.iter().for_each(|entry| summary::fold(&mut listed, entry));
        listed.usage
    }

    /// What the page says of it.
    fn shown(entries: &[Arc<Entry>]) -> Usage {
        let path: Vec<&Entry> = entries.iter().map(|entry| &**entry).collect();
        PageCounts::of(entries, &path).usage
    }

    #[test]
    fn a_log_with_everything_in_it_has_one_sum() {
        // Nothing is open at its end: what the page says of a turn under way, the list cannot know.
        let entries = log(suite::bodies().into_iter().chain([Body::Turn(TurnEntry::Started { turn: "t".into() })]));
        assert!(listed(&entries).context() > 0);
        assert_eq!(shown(&entries), listed(&entries));
        assert_eq!(Totals::of(&entries).usage(), listed(&entries), "as `/cost` says it");
        let failed = |entry: &Arc<Entry>| matches!(entry.body, Body::Model(ModelEntry::Spent { turn: None, .. }));
        assert!(entries.iter().any(failed), "a compaction that was paid and failed is among it");
    }

    #[test]
    fn the_page_counts_what_the_list_counts_whatever_a_server_says() {
        let usage = |tokens| Usage { input: tokens, output: tokens / 2, cache_read: tokens, ..Usage::default() };
        let message = |tokens| AssistantMessage {
            blocks: Vec::new(),
            model: "m".into(),
            end: MessageEnd::Finished(Finish::Stop),
            usage: usage(tokens),
        };
        let end = |tokens| TurnEnd {
            turn: "t".into(),
            stop: Stop::EndTurn,
            iterations: 0,
            usage: usage(tokens),
            mutations: Vec::new(),
            fault: None,
        };
        for tokens in [7, vocab::TOKENS_MAX, u64::MAX] {
            let bodies = [
                Body::Turn(TurnEntry::Started { turn: "t".into() }),
                Body::Assistant { turn: Some("t".into()), message: message(tokens) },
                Body::Model(ModelEntry::Spent {
                    turn: Some("t".into()),
                    call: None,
                    model: "m".into(),
                    usage: usage(1),
                }),
                Body::Turn(TurnEntry::Ended(end(tokens))),
                Body::Model(ModelEntry::Spent { turn: None, call: None, model: "m".into(), usage: usage(tokens) }),
            ];
            let entries = log(bodies);
            assert_eq!(shown(&entries), listed(&entries), "{tokens}");
        }
    }
}
