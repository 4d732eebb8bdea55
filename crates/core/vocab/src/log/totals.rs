//! What a log adds up to: tokens, turns, and dollars where prices are known. Undone or not, it was paid for.

use std::sync::Arc;

use crate::{
    Body, BranchEntry, CallEntry, Entry, ModelEntry, NoteEntry, Prices, QueueEntry, SettingEntry, ShellEntry,
    TurnEntry, Usage,
};

/// What an entry adds to the tokens of its session: the end of a turn has all of that turn, a compaction has its own,
/// and what was spent outside of a turn (a compaction that was paid and failed) stands alone.
pub fn settled_usage(body: &Body) -> Option<&Usage> {
    match body {
        Body::Turn(TurnEntry::Ended(end)) => Some(&end.usage),
        Body::Branch(BranchEntry::Compacted(compaction)) => Some(&compaction.usage),
        Body::Model(ModelEntry::Spent { turn: None, usage, .. }) => Some(usage),
        // In the end of its turn.
        Body::Assistant { .. } | Body::Model(ModelEntry::Spent { turn: Some(_), .. }) => None,
        Body::Opened { .. }
        | Body::User { .. }
        | Body::Turn(TurnEntry::Started { .. } | TurnEntry::Taken { .. } | TurnEntry::Cut { .. })
        | Body::Call(CallEntry::Started { .. } | CallEntry::Ended { .. })
        | Body::Ask(_)
        | Body::Queue(QueueEntry::Queued(_) | QueueEntry::Settled { .. })
        | Body::Model(ModelEntry::Requested(_) | ModelEntry::Retrying { .. } | ModelEntry::FellBack(_))
        | Body::Branch(BranchEntry::Moved { .. } | BranchEntry::Restored { .. } | BranchEntry::Summary { .. })
        | Body::Setting(
            SettingEntry::Model { .. }
            | SettingEntry::Mode { .. }
            | SettingEntry::Thinking { .. }
            | SettingEntry::Gadgets { .. }
            | SettingEntry::Title { .. }
            | SettingEntry::Lane { .. }
            | SettingEntry::Elevated { .. }
            | SettingEntry::Todos { .. },
        )
        | Body::Shell(
            ShellEntry::Started { .. } | ShellEntry::Ended(_) | ShellEntry::Called { .. } | ShellEntry::Returned(_),
        )
        | Body::Note(
            NoteEntry::Imported { .. }
            | NoteEntry::Label { .. }
            | NoteEntry::Keyed(_)
            | NoteEntry::Recovered { .. }
            | NoteEntry::Waived { .. },
        ) => None,
    }
}

/// What an entry says of one model's use, as it happens: an answer, a summary, what was paid and came to nothing. What the own
/// sessions of a call spent is in their logs.
pub fn answered_usage(body: &Body) -> Option<(&Arc<str>, &Usage)> {
    match body {
        Body::Assistant { message, .. } => Some((&message.model, &message.usage)),
        Body::Model(ModelEntry::Spent { call: None, model, usage, .. }) => Some((model, usage)),
        Body::Branch(BranchEntry::Compacted(it)) => Some((&it.model, &it.usage)),
        _ => None,
    }
}

/// The sums over a log, entry by entry.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Totals {
    usage: Usage,
    turns: u64,
    by_model: ModelUsage,
    /// What the turn under way has told so far; its end tells all of it again.
    open: ModelUsage,
}

impl Totals {
    pub fn of(entries: &[Arc<Entry>]) -> Self {
        let mut totals = Totals::default();
        entries.iter().for_each(|entry| totals.add(&entry.body));
        totals
    }

    pub fn add(&mut self, body: &Body) {
        if let Some(usage) = settled_usage(body) {
            self.usage.add(usage);
        }
        match body {
            Body::Turn(TurnEntry::Started { .. }) => self.open = ModelUsage::default(),
            Body::Assistant { message, .. } => self.open.add(&message.model, &message.usage),
            Body::Turn(TurnEntry::Ended(end)) => {
                self.turns += 1;
                self.close_turn(&end.usage);
            }
            Body::Model(ModelEntry::Spent { turn: Some(_), model, usage, .. }) => self.open.add(model, usage),
            Body::Model(ModelEntry::Spent { turn: None, model, usage, .. }) => self.by_model.add(model, usage),
            Body::Branch(BranchEntry::Compacted(compaction)) => {
                self.by_model.add(&compaction.model, &compaction.usage);
            }
            Body::Model(ModelEntry::Requested(_) | ModelEntry::Retrying { .. } | ModelEntry::FellBack(_))
            | Body::Branch(BranchEntry::Moved { .. } | BranchEntry::Restored { .. } | BranchEntry::Summary { .. })
            | Body::Turn(TurnEntry::Taken { .. } | TurnEntry::Cut { .. })
            | Body::Opened { .. }
            | Body::User { .. }
            | Body::Call(_)
            | Body::Ask(_)
            | Body::Queue(_)
            | Body::Setting(_)
            | Body::Shell(_)
            | Body::Note(_) => {}
        }
    }

    fn close_turn(&mut self, all: &Usage) {
        let mut turn = std::mem::take(&mut self.open);
        // Logs of older versions do not say which try cost what: the rest was the last model's.
        let rest = all.less(&turn.sum());
        let last = turn.0.last().map_or_else(|| "".into(), |(model, _)| model.clone());
        turn.add(&last, &rest);
        turn.0.iter().for_each(|(model, usage)| self.by_model.add(model, usage));
    }

    /// Everything that has come to its end.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What the turn under way has told so far; it is in [`Totals::usage`] once the turn has ended.
    pub fn open_usage(&self) -> Usage {
        self.open.sum()
    }

    /// Turns that have ended.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// What each model has used, in the order of their first use. Each has its own prices.
    pub fn by_model(&self) -> &[(Arc<str>, Usage)] {
        &self.by_model.0
    }

    /// In dollars. `None` as soon as one price is not known: a sum without it would be wrong.
    pub fn cost(&self, prices: impl Fn(&str) -> Option<Prices>) -> Option<f64> {
        self.by_model().iter().try_fold(0.0, |sum, (model, usage)| Some(sum + prices(model)?.cost(usage)))
    }
}

/// Usage by model; one that has used nothing is not named.
#[derive(Clone, Default, PartialEq, Debug)]
struct ModelUsage(Vec<(Arc<str>, Usage)>);

impl ModelUsage {
    fn add(&mut self, model: &Arc<str>, usage: &Usage) {
        if usage.context() == 0 {
            return;
        }
        let at = self.0.iter().position(|(known, _)| known == model).unwrap_or_else(|| {
            self.0.push((model.clone(), Usage::default()));
            self.0.len() - 1
        });
        self.0[at].1.add(usage);
    }

    fn sum(&self) -> Usage {
        let mut sum = Usage::default();
        self.0.iter().for_each(|(_, usage)| sum.add(usage));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssistantMessage, CompactReason, Compaction, Finish, MessageEnd, Stop, TOKENS_MAX, TurnEnd, TurnId};

    fn usage(tokens: u64) -> Usage {
        Usage { input: tokens, output: 1, ..Usage::default() }
    }
    fn turn() -> TurnId {
        "t".into()
    }
    fn started() -> Body {
        Body::Turn(TurnEntry::Started { turn: turn() })
    }
    fn ended(usage: Usage) -> Body {
        let (stop, iterations, mutations, fault) = (Stop::EndTurn, 0, Vec::new(), None);
        Body::Turn(TurnEntry::Ended(TurnEnd { turn: turn(), stop, iterations, usage, mutations, fault }))
    }
    fn answered(model: &str, tokens: u64) -> Body {
        let (blocks, end) = (Vec::new(), MessageEnd::Finished(Finish::Stop));
        let message = AssistantMessage { blocks, model: model.into(), end, usage: usage(tokens) };
        Body::Assistant { turn: Some(turn()), message }
    }
    fn spent(turn: Option<TurnId>, model: &str, tokens: u64) -> Body {
        Body::Model(ModelEntry::Spent { turn, call: None, model: model.into(), usage: usage(tokens) })
    }
    fn compacted(model: &str, tokens: u64) -> Body {
        Body::Branch(BranchEntry::Compacted(Compaction {
            reason: CompactReason::Manual,
            summary: "".into(),
            first_kept: 1,
            tokens_before: 0,
            tokens_after: 0,
            messages_before: 0,
            messages_after: 0,
            usage: usage(tokens),
            model: model.into(),
        }))
    }
    fn totals(bodies: &[Body]) -> Totals {
        let mut totals = Totals::default();
        bodies.iter().for_each(|body| totals.add(body));
        totals
    }

    #[test]
    fn everything_that_was_paid_is_counted_once_and_under_its_model() {
        let all = [
            started(),
            spent(Some(turn()), "a", 10),
            answered("b", 100),
            ended(Usage { input: 110, output: 2, ..Usage::default() }),
            compacted("c", 1000),
            spent(None, "a", 10_000),
        ];
        let totals = totals(&all);
        assert_eq!(totals.usage(), Usage { input: 11_110, output: 4, ..Usage::default() });
        assert_eq!(totals.turns(), 1);
        let used: Vec<(&str, u64)> = totals.by_model().iter().map(|(model, usage)| (&**model, usage.input)).collect();
        assert_eq!(used, [("a", 10_010), ("b", 100), ("c", 1000)]);
        let prices = Prices { input: 1e6, cache_read: 0.0, cache_write: 0.0, output: 0.0 };
        assert_eq!(totals.cost(|_| Some(prices)), Some(11_110.0));
        assert_eq!(totals.cost(|model| (model != "c").then_some(prices)), None);
    }

    #[test]
    fn an_open_turn_is_told_apart_and_one_without_an_end_is_dropped() {
        let open = totals(&[started(), answered("a", 5)]);
        assert_eq!((open.usage(), open.open_usage(), open.turns()), (Usage::default(), usage(5), 0));
        let next = totals(&[started(), answered("a", 5), started(), answered("a", 7), ended(usage(7))]);
        assert_eq!((next.usage(), next.open_usage(), next.turns()), (usage(7), Usage::default(), 1));
    }

    #[test]
    fn what_no_message_accounts_for_was_the_last_models() {
        let old = totals(&[started(), answered("a", 5), answered("b", 5), ended(usage(30))]);
        let used: Vec<(&str, u64)> = old.by_model().iter().map(|(model, usage)| (&**model, usage.input)).collect();
        assert_eq!(used, [("a", 5), ("b", 25)]);
    }

    #[test]
    fn nonsense_of_a_server_stops_at_the_largest_number() {
        let all = totals(&[started(), answered("a", u64::MAX), ended(usage(u64::MAX)), spent(None, "a", u64::MAX)]);
        assert_eq!((all.usage().input, all.by_model()[0].1.input), (TOKENS_MAX, TOKENS_MAX));
    }
}
