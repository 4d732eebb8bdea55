//! What a session has cost since it was opened here: the sums of its log, each model at its own price.

use std::collections::BTreeMap;
use std::sync::Arc;

use vocab::{Body, ModelInfo, Prices, Totals};

/// Counted as `/cost` counts, so that the two cannot differ after a change of the model or a fallback.
#[derive(Default)]
pub(crate) struct SessionCost {
    totals: Totals,
    /// Prices of the models that were chosen here: the list of models need not have them.
    chosen: BTreeMap<Arc<str>, Prices>,
}

impl SessionCost {
    pub(crate) fn add(&mut self, body: &Body) {
        self.totals.add(body);
    }

    pub(crate) fn choose(&mut self, model: &ModelInfo) {
        match model.prices {
            Some(prices) => self.chosen.insert(model.slug.clone(), prices),
            None => self.chosen.remove(&model.slug),
        };
    }

    /// In dollars. `None` where a price is not known, and for a model without prices as long as nothing was used.
    pub(crate) fn dollars(&self, asked: &ModelInfo, listed: &[ModelInfo]) -> Option<f64> {
        let in_list = |slug: &str| listed.iter().find(|info| &*info.slug == slug).and_then(|info| info.prices);
        let cost = self.totals.cost(|slug| self.chosen.get(slug).copied().or_else(|| in_list(slug)));
        // The sum of nothing is a negative zero.
        let cost = cost.map(|sum| sum + 0.0);
        cost.filter(|_| asked.prices.is_some() || self.totals.usage().context() > 0)
    }
}
