//! The counters in the text form of Prometheus. Labels come from closed sets, so that no client can make more series.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use super::{SharedServices, metrics};

/// A page is shorter.
const PAGE_BYTES: usize = 4096;

pub(super) fn page(services: &SharedServices, version: &str) -> String {
    let told = metrics(services);
    let mut page = Page(String::with_capacity(PAGE_BYTES));
    page.of("tillerman_build_info", "gauge", "Always 1; the version is a label.");
    page.row("tillerman_build_info", &format!("{{version=\"{version}\"}}"), 1);
    page.one("tillerman_uptime_seconds", "gauge", "Since the start.", told.uptime);
    let connections = services.connections.load(Ordering::Relaxed);
    page.one("tillerman_connections", "gauge", "Connections of the gateway's dialect.", connections);
    page.one("tillerman_sessions_live", "gauge", "Sessions in memory.", services.parts.engine.live().len() as u64);
    page.one("tillerman_sessions_parked", "gauge", "Sessions that are parked.", services.parts.engine.parked() as u64);
    page.one("tillerman_runs_active", "gauge", "Runs under way.", told.active_requests);
    page.one("tillerman_queue_depth", "gauge", "Messages that wait, over all lanes.", told.queue_depth);
    page.one("tillerman_messages_total", "counter", "Messages of users.", told.messages_processed);
    page.of("tillerman_runs_total", "counter", "Runs, by what became of them.");
    let states = &told.run_states;
    let all = [
        ("start", states.start),
        ("complete", states.complete),
        ("cancel_requested", states.cancel_requested),
        ("cancelled", states.cancelled),
        ("error", states.error),
    ];
    for (state, count) in all {
        page.row("tillerman_runs_total", &format!("{{state=\"{state}\"}}"), count);
    }
    page.one("tillerman_model_calls_total", "counter", "Calls of models.", told.model_calls.total);
    page.one("tillerman_notes_dropped_total", "counter", "Lines for people that nobody read.", host::notes_dropped());
    process(&mut page);
    page.0
}

struct Page(String);

impl Page {
    fn of(&mut self, name: &str, kind: &str, about: &str) {
        let _ = writeln!(self.0, "# HELP {name} {about}\n# TYPE {name} {kind}");
    }
    fn row(&mut self, name: &str, labels: &str, value: u64) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
    fn one(&mut self, name: &str, kind: &str, about: &str, value: u64) {
        self.of(name, kind, about);
        self.row(name, "", value);
    }
}

/// What the system says of this process; where it says nothing there is no row.
fn process(page: &mut Page) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    if let Some(kib) = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()) {
        page.one("process_resident_memory_bytes", "gauge", "Memory in use.", kib * 1024);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        page.one("process_open_fds", "gauge", "Open descriptors.", open.count() as u64);
    }
}
