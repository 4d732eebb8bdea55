//! What a turn cost so far, where prices are known.

use std::sync::Arc;

use vocab::{Body, ModelEntry, Prices, TurnEnd, TurnEntry, Usage};

/// What a model costs.
pub type PriceOf = Box<dyn Fn(&str) -> Option<Prices> + Send + Sync>;

#[derive(Default)]
pub(super) struct TurnCost {
    prices: Option<PriceOf>,
    /// Usage of this turn, by model.
    used: Vec<(Arc<str>, Usage)>,
}

impl TurnCost {
    pub(super) fn new(prices: PriceOf) -> Self {
        Self { prices: Some(prices), ..Self::default() }
    }

    pub(super) fn logged(&mut self, body: &Body) {
        match body {
            Body::Turn(TurnEntry::Started { .. }) => self.used.clear(),
            Body::Assistant { message, .. } => self.used.push((message.model.clone(), message.usage)),
            Body::Model(ModelEntry::Spent { turn: Some(_), model, usage, .. }) => {
                self.used.push((model.clone(), *usage))
            }
            _ => {}
        }
    }

    /// In dollars; `None` as soon as one price is not known. What no message accounts for (a try that failed) was the last
    /// model's.
    pub(super) fn cost(&self, end: &TurnEnd) -> Option<f64> {
        let prices = self.prices.as_ref()?;
        let (last, _) = self.used.last()?;
        let mut told = Usage::default();
        self.used.iter().for_each(|(_, usage)| told.add(usage));
        let rest = prices(last)?.cost(&end.usage.less(&told));
        let costs = self.used.iter().map(|(model, usage)| Some(prices(model)?.cost(usage)));
        Some(costs.sum::<Option<f64>>()? + rest)
    }
}
