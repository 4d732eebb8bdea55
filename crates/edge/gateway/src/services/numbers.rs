//! What an operator wants to know, as numbers that only grow. What stands now (sessions, queues) is asked of who knows it when
//! a page is made.

mod logged;
mod models;
mod wires;

use std::sync::Arc;
use std::time::Duration;

use telemetry::metrics::{Counter, Histogram, MetricsPage, SampleKind};
use vocab::Durability;

pub(super) use logged::LoggedNumbers;
pub(super) use models::ModelNumbers;
pub(crate) use wires::{CountedEntrance, WireNumbers};

/// Everything that is counted in one process.
#[derive(Default)]
pub(super) struct GatewayNumbers {
    pub(super) models: Arc<ModelNumbers>,
    pub(super) logged: LoggedNumbers,
    pub(super) store: StoreNumbers,
    pub(super) wires: Arc<WireNumbers>,
}

impl GatewayNumbers {
    pub(super) fn page(&self, page: &mut MetricsPage) {
        self.wires.page(page);
        self.logged.page(page);
        self.models.page(page);
        self.store.page(page);
    }
}

/// Seconds: from a write into memory that is fast to a disk that is sick.
const APPEND_BOUNDS: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// Appends to the store.
pub(super) struct StoreNumbers {
    written: Histogram,
    synced: Histogram,
    pub(super) errors: Counter,
}

impl Default for StoreNumbers {
    fn default() -> Self {
        let histogram = || Histogram::new(APPEND_BOUNDS);
        Self { written: histogram(), synced: histogram(), errors: Counter::default() }
    }
}

impl StoreNumbers {
    pub(super) fn written(&self, durability: Durability, took: Duration) {
        if durability.is_synced() { &self.synced } else { &self.written }.observe(took);
    }

    fn page(&self, page: &mut MetricsPage) {
        const NAME: &str = "tillerman_store_append_seconds";
        page.family(
            NAME,
            SampleKind::Histogram,
            "Until an append to a log was answered; with sync=yes it is on the disk.",
        );
        page.histogram(NAME, &[("sync", "no")], &self.written);
        page.histogram(NAME, &[("sync", "yes")], &self.synced);
        let errors = self.errors.get() as f64;
        page.one(
            "tillerman_store_errors_total",
            SampleKind::Counter,
            "Appends to logs, and readings of them by their sessions, that failed.",
            errors,
        );
    }
}
