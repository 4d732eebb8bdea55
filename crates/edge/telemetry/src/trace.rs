//! Traces: a turn, its model calls, its tools and their processes as spans, in the words of OpenTelemetry's conventions for
//! generative AI, sent by OTLP over HTTP. Written by hand: the libraries bring a second HTTP client, a second runtime and some
//! thirty crates for what is one message of few fields.

mod encode;
mod export;
mod ids;
mod open_spans;
mod sampler;
mod settings;
mod span;
mod tracer;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use vocab::{Keyring, Provider, Store, Toolbox};

use crate::watch::{WatchedProvider, WatchedStore, WatchedToolbox};
use export::Exporter;
pub use settings::TraceSettings;
use settings::read;
use tracer::Tracer;

/// How long the end of the process waits for spans that are on their way. What a collector has not taken by then is lost.
const FLUSH_TIME_MAX: Duration = Duration::from_millis(1_500);

/// The one exporter of the process, so that whatever ends it can wait for it.
static EXPORTER: OnceLock<Arc<Exporter>> = OnceLock::new();

/// What is to be said to people about the settings.
pub type TraceNotes = Vec<String>;

/// What the variables say. `None`: no traces. Costs one look at the environment.
pub fn read_environment(lookup: &dyn Fn(&str) -> Option<String>) -> (Option<TraceSettings>, TraceNotes) {
    read(lookup)
}

/// Traces of this process.
pub struct Tracing(Arc<Tracer>);

impl Tracing {
    /// Begins to send. `note` says once what goes wrong; `keyring` learns what proves us to the collector, and masks what
    /// spans say.
    pub fn start(settings: TraceSettings, version: &str, keyring: Keyring, note: fn(&str)) -> Result<Self, String> {
        settings.secrets().for_each(|secret| keyring.learn(secret));
        let exporter = Arc::new(Exporter::start(&settings, version, note)?);
        let _ = EXPORTER.set(exporter.clone());
        Ok(Self(Arc::new(Tracer::new(&settings, exporter, keyring))))
    }

    pub fn provider(&self, below: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(WatchedProvider::new(below, self.0.clone()))
    }
    pub fn store(&self, below: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(WatchedStore::new(below, self.0.clone()))
    }
    pub fn toolbox(&self, below: Arc<dyn Toolbox>) -> Arc<dyn Toolbox> {
        Arc::new(WatchedToolbox::new(below, Arc::new(self.0.clone())))
    }
}

/// The process is about to end: sends what is still here, for a limited time.
pub fn finish() {
    if let Some(exporter) = EXPORTER.get() {
        exporter.flush(FLUSH_TIME_MAX);
    }
}

/// Spans that were dropped, because the collector was too slow for them.
pub fn spans_dropped() -> u64 {
    EXPORTER.get().map_or(0, |exporter| exporter.dropped())
}
