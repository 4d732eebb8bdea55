//! What the system says of this process, under the names that Prometheus' own clients use. Where it says nothing there is no
//! row.

use std::fs::read_to_string;

use super::{MetricsPage, SampleKind};

/// What the system says of us, as it numbers it.
struct ProcessStat(Vec<f64>);

impl ProcessStat {
    fn read() -> Self {
        let stat = read_to_string("/proc/self/stat").unwrap_or_default();
        // The name of the program stands in parentheses and may hold anything; what follows it is numbers.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        Self(fields.map(|field| field.parse().unwrap_or(f64::NAN)).collect())
    }
    fn field(&self, number: usize) -> Option<f64> {
        self.0.get(number - 3).copied().filter(|it| !it.is_nan())
    }
    fn cpu_seconds(&self) -> Option<f64> {
        Some((self.field(14)? + self.field(15)?) / rustix::param::clock_ticks_per_second() as f64)
    }
    fn resident_bytes(&self) -> Option<f64> {
        Some(self.field(24)? * rustix::param::page_size() as f64)
    }
}

/// Memory in use, and seconds on a processor since the start. `None`: the system does not say it.
pub fn process_use() -> (Option<u64>, Option<f64>) {
    let stat = ProcessStat::read();
    (stat.resident_bytes().map(|bytes| bytes as u64), stat.cpu_seconds())
}

pub fn process(page: &mut MetricsPage) {
    let stat = ProcessStat::read();
    let field = |number: usize| stat.field(number);
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    if let Some(seconds) = stat.cpu_seconds() {
        page.one("process_cpu_seconds_total", SampleKind::Counter, "Time on a processor, in seconds.", seconds);
    }
    if let (Some(booted), Some(started)) = (booted(), field(22)) {
        let at = booted + started / ticks;
        page.one("process_start_time_seconds", SampleKind::Gauge, "Start, in seconds since 1970.", at);
    }
    if let Some(bytes) = field(23) {
        page.one("process_virtual_memory_bytes", SampleKind::Gauge, "Memory that is mapped.", bytes);
    }
    if let Some(bytes) = stat.resident_bytes() {
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
