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

use vocab::{Keyring, McpServers, Provider, Store, Toolbox};

use crate::watch::{WatchedProvider, WatchedServers, WatchedStore, WatchedToolbox};
use export::Exporter;
use settings::read;
use tracer::Tracer;

/// How long the end of the process waits for spans that are on their way. What a collector has not taken by then is lost.
const FLUSH_TIME_MAX: Duration = Duration::from_millis(1_500);

/// The one exporter of the process, so that whatever ends it can wait for it.
static EXPORTER: OnceLock<Arc<Exporter>> = OnceLock::new();

/// Traces of this process.
pub struct Tracing(Arc<Tracer>);

impl Tracing {
    /// Begins to send, where the variables of the process say so. What is wrong with them is `notes`, and `note` says once
    /// what goes wrong later. `keyring` learns what proves us to the collector, and masks what spans say. `of_many`: the
    /// process serves many, and is no part of a trace itself.
    pub fn of_process(
        version: &str,
        of_many: bool,
        keyring: &Keyring,
        notes: &mut Vec<String>,
        note: fn(&str),
    ) -> Option<Self> {
        let (settings, said) = read(&|name| std::env::var(name).ok());
        notes.extend(said);
        let settings = settings.map(|settings| if of_many { settings.of_many() } else { settings })?;
        settings.secrets().for_each(|secret| keyring.learn(secret));
        match Exporter::start(&settings, version, note) {
            Ok(exporter) => {
                let exporter = Arc::new(exporter);
                let _ = EXPORTER.set(exporter.clone());
                Some(Self(Arc::new(Tracer::new(&settings, exporter, keyring.clone()))))
            }
            Err(why) => {
                notes.push(format!("no traces are sent: {why}"));
                None
            }
        }
    }

    /// Looks at what passes through these from now on.
    pub fn watch(&self, provider: &mut Arc<dyn Provider>, store: &mut Arc<dyn Store>, toolbox: &mut Arc<dyn Toolbox>) {
        *provider = Arc::new(WatchedProvider::new(provider.clone(), self.0.clone()));
        *store = Arc::new(WatchedStore::new(store.clone(), self.0.clone()));
        *toolbox = Arc::new(WatchedToolbox::new(toolbox.clone(), Arc::new(self.0.clone())));
    }

    /// The same for servers of tools: each call tells its own where it belongs.
    pub fn watch_servers(&self, servers: &mut Arc<dyn McpServers>) {
        *servers = Arc::new(WatchedServers::new(servers.clone(), Arc::new(self.0.clone())));
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
