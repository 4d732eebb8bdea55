//! What the system says of this process, under the names that Prometheus' own clients use. Where it says nothing there is no
//! row.

use std::fs::read_to_string;

use super::{MetricsPage, SampleKind};

pub fn process(page: &mut MetricsPage) {
    let stat = read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program stands in parentheses and may hold anything; what follows it is numbers.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
    let field = |number: usize| fields.get(number - 3).and_then(|field| field.parse::<f64>().ok());
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    if let (Some(user), Some(system)) = (field(14), field(15)) {
        let seconds = (user + system) / ticks;
        page.one("process_cpu_seconds_total", SampleKind::Counter, "Time on a processor, in seconds.", seconds);
    }
    if let (Some(booted), Some(started)) = (booted(), field(22)) {
        let at = booted + started / ticks;
        page.one("process_start_time_seconds", SampleKind::Gauge, "Start, in seconds since 1970.", at);
    }
    if let Some(bytes) = field(23) {
        page.one("process_virtual_memory_bytes", SampleKind::Gauge, "Memory that is mapped.", bytes);
    }
    if let Some(pages) = field(24) {
        let bytes = pages * rustix::param::page_size() as f64;
        page.one("process_resident_memory_bytes", SampleKind::Gauge, "Memory in use.", bytes);
    }
    if let Some(threads) = field(20) {
        page.one("process_threads", SampleKind::Gauge, "Threads.", threads);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        page.one("process_open_fds", SampleKind::Gauge, "Open descriptors.", open.count() as f64);
    }
    if let Some(most) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        page.one("process_max_fds", SampleKind::Gauge, "Descriptors that may be open.", most as f64);
    }
}

/// When the machine started, in seconds since 1970.
fn booted() -> Option<f64> {
    let stat = read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
