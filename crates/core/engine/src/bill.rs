//! What a session has used, by model: each has its own prices. Pure.

use std::sync::Arc;

use vocab::{Body, BranchEntry, Entry, ModelEntry, Prices, TurnEntry, Usage};

/// Usage by model. Its sum is what the store's summary of the same log has.
#[derive(Default)]
pub(crate) struct Bill {
    used: Vec<(Arc<str>, Usage)>,
    /// Turns that have ended.
    pub(crate) turns: u64,
}

/// What a log has cost in dollars; `None` as soon as one price is not known.
pub fn cost_of(entries: &[Arc<Entry>], prices: impl Fn(&str) -> Option<Prices>) -> Option<f64> {
    Bill::of(entries).cost(prices)
}

impl Bill {
    /// Of everything that has come to its end, undone or not: it was paid all the same.
    pub(crate) fn of(entries: &[Arc<Entry>]) -> Self {
        let (mut bill, mut turn) = (Bill::default(), Bill::default());
        for entry in entries {
            match &entry.body {
                Body::Turn(TurnEntry::Started { .. }) => turn = Bill::default(),
                Body::Assistant { message, .. } => turn.add(&message.model, &message.usage),
                Body::Model(ModelEntry::Spent { turn: Some(_), model, usage, .. }) => turn.add(model, usage),
                Body::Model(ModelEntry::Spent { turn: None, model, usage, .. }) => bill.add(model, usage),
                Body::Branch(BranchEntry::Compacted(done)) => bill.add(&done.model, &done.usage),
                Body::Turn(TurnEntry::Ended(end)) => {
                    bill.turns += 1;
                    // Logs of older versions do not say which try cost what.
                    let rest = end.usage.less(&turn.total());
                    let model = turn.used.last().map_or_else(|| "".into(), |(model, _)| model.clone());
                    turn.add(&model, &rest);
                    for (model, usage) in std::mem::take(&mut turn).used {
                        bill.add(&model, &usage);
                    }
                }
                _ => {}
            }
        }
        bill
    }

    fn add(&mut self, model: &Arc<str>, usage: &Usage) {
        if usage.context() == 0 {
            return;
        }
        let at = self.used.iter().position(|(known, _)| known == model).unwrap_or_else(|| {
            self.used.push((model.clone(), Usage::default()));
            self.used.len() - 1
        });
        self.used[at].1.add(usage);
    }

    pub(crate) fn total(&self) -> Usage {
        let mut total = Usage::default();
        self.used.iter().for_each(|(_, usage)| total.add(usage));
        total
    }

    /// In dollars. `None` as soon as one price is not known: a sum without it would be wrong.
    pub(crate) fn cost(&self, prices: impl Fn(&str) -> Option<Prices>) -> Option<f64> {
        self.used.iter().map(|(model, usage)| Some(prices(model)?.cost(usage))).sum()
    }
}
