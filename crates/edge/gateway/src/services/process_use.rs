//! What this process uses: memory now, and processors since somebody last asked.

use std::time::{Duration, Instant};

/// Shorter spans say nothing: the system counts in hundredths of a second. Who asks again within one is told the same.
const SPAN_MIN: Duration = Duration::from_secs(1);

pub(super) struct ProcessUse {
    since: Instant,
    cpu_s: Option<f64>,
    /// What was told last.
    cpu_pct: Option<f64>,
}

impl Default for ProcessUse {
    fn default() -> Self {
        Self { since: Instant::now(), cpu_s: telemetry::metrics::process_use().1, cpu_pct: None }
    }
}

impl ProcessUse {
    /// Bytes in memory, and percent of one processor.
    pub(super) fn look(&mut self) -> (Option<u64>, Option<f64>) {
        let (rss_bytes, cpu_s) = telemetry::metrics::process_use();
        (rss_bytes, self.measured(cpu_s, Instant::now()))
    }

    fn measured(&mut self, cpu_s: Option<f64>, now: Instant) -> Option<f64> {
        let span = now.saturating_duration_since(self.since);
        if span >= SPAN_MIN {
            let used = cpu_s.zip(self.cpu_s).map(|(now, before)| (now - before).max(0.0));
            self.cpu_pct = used.map(|used| (used * 1_000.0 / span.as_secs_f64()).round() / 10.0);
            (self.since, self.cpu_s) = (now, cpu_s);
        }
        self.cpu_pct
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_between_two_questions() {
        let began = Instant::now();
        let mut process = ProcessUse { since: began, cpu_s: Some(10.0), cpu_pct: None };
        let at = |ms| began + Duration::from_millis(ms);
        assert_eq!(process.measured(Some(10.5), at(900)), None, "too soon to say");
        assert_eq!(process.measured(Some(11.0), at(2_000)), Some(50.0));
        assert_eq!(process.measured(Some(20.0), at(2_500)), Some(50.0), "the same again");
        assert_eq!(process.measured(Some(14.0), at(4_000)), Some(150.0));
        assert_eq!(process.measured(None, at(6_000)), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_says_what_we_use() {
        let (rss_bytes, _) = ProcessUse::default().look();
        assert!(rss_bytes.is_some_and(|bytes| bytes > 1024 * 1024), "{rss_bytes:?}");
    }
}
