//! The page for Prometheus: what was counted, and how things stand now. `docs/observability.md` has the table; a test compares.

use telemetry::metrics::{MetricsPage, SampleKind, process};

use super::{SharedServices, metrics};
use crate::server::ServerLoad;

/// `load`: what the server itself knows; nothing where there is none.
pub(super) fn page(services: &SharedServices, version: &str, load: ServerLoad) -> String {
    let mut page = MetricsPage::default();
    page.family("tillerman_build_info", SampleKind::Gauge, "Always 1; the version is a label.");
    page.row("tillerman_build_info", &[("version", version)], 1.0);
    let gauge = |page: &mut MetricsPage, name: &str, about: &str, value: u64| {
        page.one(name, SampleKind::Gauge, about, value as f64);
    };
    let counter = |page: &mut MetricsPage, name: &str, about: &str, value: u64| {
        page.one(name, SampleKind::Counter, about, value as f64);
    };
    let told = metrics(services);
    gauge(&mut page, "tillerman_uptime_seconds", "Since the start.", told.uptime);
    gauge(&mut page, "tillerman_connections", "Connections, of whatever kind.", load.connections as u64);
    counter(&mut page, "tillerman_auth_failures_total", "Wrong credentials.", load.auth_failures);
    let about = "Requests that were not looked at, because too many before them had wrong credentials.";
    counter(&mut page, "tillerman_auth_limited_total", about, load.auth_limited);
    sessions(services, &mut page);
    gauge(&mut page, "tillerman_runs_active", "Runs under way.", told.active_requests);
    gauge(&mut page, "tillerman_queue_depth", "Messages that wait, over all lanes.", told.queue_depth);
    counter(&mut page, "tillerman_messages_total", "Messages of users.", told.messages_processed);
    const RUNS: &str = "tillerman_runs_total";
    page.family(RUNS, SampleKind::Counter, "Runs, by what became of them.");
    let states = &told.run_states;
    let all = [
        ("start", states.start),
        ("complete", states.complete),
        ("cancel_requested", states.cancel_requested),
        ("cancelled", states.cancelled),
        ("error", states.error),
    ];
    all.iter().for_each(|(state, count)| page.row(RUNS, &[("state", state)], *count as f64));
    services.counts.0.numbers.page(&mut page);
    let dropped = host::notes_dropped();
    counter(&mut page, "tillerman_notes_dropped_total", "Lines for people that nobody read.", dropped);
    let about = "Spans that the collector of traces was too slow for.";
    counter(&mut page, "tillerman_trace_spans_dropped_total", about, telemetry::spans_dropped());
    process(&mut page);
    page.finish()
}

fn sessions(services: &SharedServices, page: &mut MetricsPage) {
    let (mut running, mut asking, mut idle, mut lingering, mut asks) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    for (_, glance) in services.board.all() {
        asks += glance.asks as u64;
        let state = match (glance.asks, &glance.turn, glance.peers) {
            (1.., _, _) => &mut asking,
            (_, Some(_), _) => &mut running,
            (_, None, 0) => &mut lingering,
            _ => &mut idle,
        };
        *state += 1;
    }
    const SESSIONS: &str = "tillerman_sessions";
    let about =
        "Sessions in memory, by what they do; nobody is on those that linger, and of parked ones little is left.";
    page.family(SESSIONS, SampleKind::Gauge, about);
    let parked = services.parts.engine.parked() as u64;
    let all = [("running", running), ("asking", asking), ("idle", idle), ("lingering", lingering), ("parked", parked)];
    all.iter().for_each(|(state, count)| page.row(SESSIONS, &[("state", state)], *count as f64));
    page.one("tillerman_asks_open", SampleKind::Gauge, "Questions without an answer.", asks as f64);
}
