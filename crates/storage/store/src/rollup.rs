//! What entries add to the sums of their day. Only what was done here counts: a copy of another log is nobody's doing, and
//! what a sub-agent used is in its own session.

use std::sync::Arc;

use vocab::{Body, CallEntry, Entry, Prices, Usage, UsageBy, UsageSum, UserFrom, answered_usage, day_of};

/// Prices of models, as they are now.
pub type PriceList = Arc<dyn Fn(&str) -> Option<Prices> + Send + Sync>;

/// What one entry adds.
#[derive(Clone, PartialEq, Debug)]
pub struct Used {
    pub day: i64,
    pub by: Arc<str>,
    pub what: UsedWhat,
}

#[derive(Clone, PartialEq, Debug)]
pub enum UsedWhat {
    Model {
        model: Arc<str>,
        usage: Usage,
    },
    Tool {
        tool: Arc<str>,
        failed: bool,
    },
    /// Somebody said something.
    Message,
}

impl Used {
    pub fn of(entry: &Entry) -> Option<Self> {
        let by = entry.by.as_ref()?.as_str().into();
        let what = match &entry.body {
            Body::Call(CallEntry::Ended { result, .. }) => {
                UsedWhat::Tool { tool: result.tool.clone(), failed: result.is_error }
            }
            Body::User { from: UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp, .. } => UsedWhat::Message,
            body => {
                let (model, usage) = answered_usage(body)?;
                UsedWhat::Model { model: model.clone(), usage: *usage }
            }
        };
        Some(Self { day: day_of(entry.at_ms), by, what })
    }
}

/// Billionths of a dollar, and the tokens whose price is not known.
pub fn cost_of(prices: Option<&Prices>, usage: &Usage) -> (u64, u64) {
    match prices {
        Some(prices) => ((prices.cost(usage) * 1e9).round().max(0.0) as u64, 0),
        None => (0, usage.context()),
    }
}

/// Days in their order, everything else by what it cost, then by how much it was used.
pub fn sorted(by: UsageBy, mut sums: Vec<UsageSum>) -> Vec<UsageSum> {
    match by {
        UsageBy::Day | UsageBy::MessageDay => sums.sort_by_key(|sum| sum.name.parse::<i64>().unwrap_or_default()),
        _ => sums.sort_by(|a, b| {
            let weight = |sum: &UsageSum| (sum.cost_nanos, sum.usage.context(), sum.calls);
            weight(b).cmp(&weight(a)).then_with(|| a.name.cmp(&b.name))
        }),
    }
    sums
}
