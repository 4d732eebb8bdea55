//! Calls of models, by model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telemetry::metrics::{Counter, Histogram, Labelled, MetricsPage, OTHER, SampleKind};
use telemetry::watch::{CallWatch, ModelWatch};
use vocab::{CallAbout, CallSpec, Message, ModelEvent, ModelInfo, Prices, Usage};

use crate::services::latency::{CallFailure, CallTimes, TimedCall, in_ms};

const CALL_BOUNDS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0];
const FIRST_BOUNDS: &[f64] = &[0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

pub(crate) struct ModelNumbers {
    rows: Labelled<ModelRow>,
    /// The calls of the last day, one by one.
    pub(in crate::services) times: Arc<CallTimes>,
}

impl Default for ModelNumbers {
    fn default() -> Self {
        Self { rows: Labelled::new(ModelRow::default), times: Arc::default() }
    }
}

struct ModelRow {
    ok: Counter,
    failed: Counter,
    interrupted: Counter,
    took: Histogram,
    first: Histogram,
    input: Counter,
    cache_read: Counter,
    cache_write: Counter,
    output: Counter,
    cost_micro_usd: AtomicU64,
}

impl Default for ModelRow {
    fn default() -> Self {
        Self {
            ok: Counter::default(),
            failed: Counter::default(),
            interrupted: Counter::default(),
            took: Histogram::new(CALL_BOUNDS),
            first: Histogram::new(FIRST_BOUNDS),
            input: Counter::default(),
            cache_read: Counter::default(),
            cache_write: Counter::default(),
            output: Counter::default(),
            cost_micro_usd: AtomicU64::new(0),
        }
    }
}

impl ModelWatch for ModelNumbers {
    fn called(&self, model: &ModelInfo, _: &CallSpec, _: Option<&CallAbout>, _: &[Message]) -> Box<dyn CallWatch> {
        // A client's word makes no series: only what exists by somebody else's does.
        let label = if model.unlisted { OTHER } else { &model.slug };
        let (row, prices) = (self.rows.of(label), model.prices);
        Box::new(CountedCall {
            row,
            times: self.times.clone(),
            model: label.into(),
            prices,
            since: Instant::now(),
            first: None,
            has_ended: false,
            usage: None,
        })
    }
}

struct CountedCall {
    row: Arc<ModelRow>,
    times: Arc<CallTimes>,
    model: Arc<str>,
    prices: Option<Prices>,
    since: Instant,
    /// When the first word came, after the request.
    first: Option<Duration>,
    has_ended: bool,
    usage: Option<Usage>,
}

impl CountedCall {
    fn end(&mut self, outcome: fn(&ModelRow) -> &Counter) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        outcome(&self.row).one();
        self.row.took.observe(self.since.elapsed());
        let Some(usage) = self.usage else { return };
        self.row.input.add(usage.input);
        self.row.cache_read.add(usage.cache_read);
        self.row.cache_write.add(usage.cache_write);
        self.row.output.add(usage.output);
        if let Some(prices) = self.prices {
            self.row.cost_micro_usd.fetch_add((prices.cost(&usage) * 1e6).round() as u64, Ordering::Relaxed);
        }
    }
}

impl CountedCall {
    /// Nobody gave it up: how long it took says something of its server.
    fn ended_itself(&mut self, failed: Option<CallFailure>) {
        if !self.has_ended {
            self.times.add(TimedCall {
                model: self.model.clone(),
                ended: Instant::now(),
                took_ms: in_ms(self.since.elapsed()),
                first_ms: self.first.map(in_ms),
                failed,
            });
        }
        self.end(if failed.is_some() { |row| &row.failed } else { |row| &row.ok });
    }
}

impl CallWatch for CountedCall {
    fn heard(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Text(_) | ModelEvent::Thinking(_) | ModelEvent::Call { .. } => {
                if self.first.is_none() {
                    let first = self.since.elapsed();
                    self.row.first.observe(first);
                    self.first = Some(first);
                }
            }
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::Finished(_) => self.ended_itself(None),
            ModelEvent::Failed(failed) => self.ended_itself(Some(CallFailure::of(&failed.fault))),
            ModelEvent::Sent { .. } | ModelEvent::Seal(_) | ModelEvent::Redacted(_) => {}
        }
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        self.end(|row| &row.interrupted);
    }
}

impl ModelNumbers {
    pub(super) fn page(&self, page: &mut MetricsPage) {
        let rows = self.rows.all();
        const CALLS: &str = "tillerman_model_calls_total";
        page.family(CALLS, SampleKind::Counter, "Calls of models, by what came of them.");
        for (model, row) in &rows {
            for (outcome, count) in [("ok", &row.ok), ("failed", &row.failed), ("interrupted", &row.interrupted)] {
                page.row(CALLS, &[("model", model), ("outcome", outcome)], count.get() as f64);
            }
        }
        const TOOK: &str = "tillerman_model_call_seconds";
        page.family(TOOK, SampleKind::Histogram, "From the request to the end of the answer.");
        rows.iter().for_each(|(model, row)| page.histogram(TOOK, &[("model", model)], &row.took));
        const FIRST: &str = "tillerman_model_first_token_seconds";
        page.family(FIRST, SampleKind::Histogram, "From the request to the first word of the answer.");
        rows.iter().for_each(|(model, row)| page.histogram(FIRST, &[("model", model)], &row.first));
        const TOKENS: &str = "tillerman_tokens_total";
        page.family(
            TOKENS,
            SampleKind::Counter,
            "Tokens, as the models' servers count them; no kind contains another.",
        );
        for (model, row) in &rows {
            let kinds = [
                ("input", &row.input),
                ("cache_read", &row.cache_read),
                ("cache_write", &row.cache_write),
                ("output", &row.output),
            ];
            for (kind, count) in kinds {
                page.row(TOKENS, &[("model", model), ("kind", kind)], count.get() as f64);
            }
        }
        const COST: &str = "tillerman_cost_usd_total";
        page.family(COST, SampleKind::Counter, "What tokens cost in dollars, for models whose prices are known.");
        for (model, row) in &rows {
            let dollars = row.cost_micro_usd.load(Ordering::Relaxed) as f64 / 1e6;
            page.row(COST, &[("model", model)], dollars);
        }
    }
}
