//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write;

use super::Histogram;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SampleKind {
    Counter,
    Gauge,
    Histogram,
}

impl SampleKind {
    fn as_str(self) -> &'static str {
        match self {
            SampleKind::Counter => "counter",
            SampleKind::Gauge => "gauge",
            SampleKind::Histogram => "histogram",
        }
    }
}

/// A page that is being written. All samples of a name stand together, below what the name means.
#[derive(Default)]
pub struct MetricsPage(String);

type Labels<'a> = &'a [(&'a str, &'a str)];

impl MetricsPage {
    pub fn family(&mut self, name: &str, kind: SampleKind, about: &str) {
        let about = about.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.0, "# HELP {name} {about}\n# TYPE {name} {}", kind.as_str());
    }

    pub fn row(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.0.push_str(name);
        self.labels(labels, None);
        let _ = writeln!(self.0, " {}", SampleValue(value));
    }

    /// A family of one.
    pub fn one(&mut self, name: &str, kind: SampleKind, about: &str, value: f64) {
        self.family(name, kind, about);
        self.row(name, &[], value);
    }

    pub fn histogram(&mut self, name: &str, labels: Labels<'_>, of: &Histogram) {
        let (rows, sum) = of.shown();
        let count = rows.last().map_or(0, |(_, count)| *count);
        for (bound, so_far) in rows {
            let _ = write!(self.0, "{name}_bucket");
            self.labels(labels, Some(bound));
            let _ = writeln!(self.0, " {so_far}");
        }
        let _ = write!(self.0, "{name}_sum");
        self.labels(labels, None);
        let _ = writeln!(self.0, " {}", SampleValue(sum));
        let _ = write!(self.0, "{name}_count");
        self.labels(labels, None);
        let _ = writeln!(self.0, " {count}");
    }

    fn labels(&mut self, labels: Labels<'_>, bound: Option<f64>) {
        if labels.is_empty() && bound.is_none() {
            return;
        }
        let mut separator = '{';
        for (name, value) in labels {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{separator}{name}=\"{value}\"");
            separator = ',';
        }
        if let Some(bound) = bound {
            let _ = write!(self.0, "{separator}le=\"{}\"", SampleValue(bound));
        }
        self.0.push('}');
    }

    pub fn finish(self) -> String {
        self.0
    }
}

/// Whole numbers without a point, as people read them; endless ones as the format writes them.
struct SampleValue(f64);

impl std::fmt::Display for SampleValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            value if value == f64::INFINITY => f.write_str("+Inf"),
            value => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_page_is_what_the_format_says() {
        let mut page = MetricsPage::default();
        page.one("a_total", SampleKind::Counter, "One\nof \\ two.", 3.0);
        page.family("b", SampleKind::Gauge, "B.");
        page.row("b", &[("x", "quote \" back \\ line\n"), ("y", "")], 0.25);
        page.family("c_seconds", SampleKind::Histogram, "C.");
        let histogram = Histogram::new(&[0.1, 1.0]);
        histogram.observe(Duration::from_millis(500));
        page.histogram("c_seconds", &[("m", "a")], &histogram);
        let expected = "# HELP a_total One\\nof \\\\ two.\n# TYPE a_total counter\na_total 3\n# HELP b B.\n# TYPE b gauge\n\
            b{x=\"quote \\\" back \\\\ line\\n\",y=\"\"} 0.25\n# HELP c_seconds C.\n# TYPE c_seconds histogram\n\
            c_seconds_bucket{m=\"a\",le=\"0.1\"} 0\nc_seconds_bucket{m=\"a\",le=\"1\"} 1\n\
            c_seconds_bucket{m=\"a\",le=\"+Inf\"} 1\nc_seconds_sum{m=\"a\"} 0.5\nc_seconds_count{m=\"a\"} 1\n";
        assert_eq!(page.finish(), expected);
    }
}
