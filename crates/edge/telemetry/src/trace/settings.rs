//! The variables of OpenTelemetry, as its specification names them.

use std::time::Duration;

use vocab::{Secret, TracePlace};

use super::sampler::{Sampler, SamplerChoice};

/// What is added to `OTEL_EXPORTER_OTLP_ENDPOINT`; an endpoint for traces alone is taken as it stands.
const TRACES_PATH: &str = "v1/traces";
/// Spans that wait to be sent; of more the newest are dropped and counted.
const QUEUE_SPANS: usize = 2_048;
const BATCH_SPANS: usize = 512;
/// The most that a user can have kept in memory.
const QUEUE_SPANS_MAX: usize = 65_536;
const DELAY: Duration = Duration::from_secs(5);
const EXPORT_TIME: Duration = Duration::from_secs(10);
const SERVICE: &str = "tillerman";

/// How the bytes are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TraceFormat {
    Protobuf,
    Json,
}

/// Traces are wanted, and so.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TraceSettings {
    pub(crate) url: String,
    pub(crate) format: TraceFormat,
    pub(crate) headers: Vec<(String, Secret)>,
    pub(crate) timeout: Duration,
    /// Of the resource: what all spans have in common.
    pub(crate) resource: Vec<(String, String)>,
    pub(crate) sampler: SamplerChoice,
    pub(crate) queue: usize,
    pub(crate) batch: usize,
    pub(crate) delay: Duration,
    /// What was said is told, too.
    pub(crate) content: bool,
    /// Places in traces are taken from senders and told to model servers and programs.
    pub(crate) propagates: bool,
    /// What the process itself is part of.
    pub(crate) above: Option<(TracePlace, Option<String>)>,
}

impl TraceSettings {
    /// What proves us to the collector, with and without the word before it (`Bearer`).
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let keys =
            self.headers.iter().filter(|(name, value)| net::is_key(name, value)).map(|(_, value)| value.expose());
        keys.flat_map(|key| [Some(key), key.split_once(' ').map(|(_, bare)| bare)]).flatten()
    }

    /// For a process of many: what it was started by has nothing to do with what it is asked.
    pub(super) fn of_many(self) -> Self {
        Self { above: None, ..self }
    }
}

/// Reads variables; remembers what is wrong with them.
struct Variables<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    notes: Vec<String>,
}

impl Variables<'_> {
    /// An empty variable is none.
    fn text(&self, name: &str) -> Option<String> {
        (self.lookup)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }
    /// The one for traces, else the one for everything.
    fn of_traces(&self, name: &str) -> Option<String> {
        self.text(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
            .or_else(|| self.text(&format!("OTEL_EXPORTER_OTLP_{name}")))
    }
    /// One of the words that mean yes; whatever is neither that nor `false` is said, and means no.
    fn is_yes(&mut self, name: &str, yes: &[&str], no: &[&str]) -> bool {
        let Some(value) = self.text(name).map(|value| value.to_lowercase()) else { return false };
        let is_yes = yes.contains(&&*value);
        if !is_yes && !no.contains(&&*value) {
            self.notes.push(format!("{name}: true or false is needed; false is used"));
        }
        is_yes
    }
    /// Something that is not done here, whoever asks for it.
    fn not_here(&mut self, name: &str, harmless: &str, what_is_done: &str) {
        if self.of_traces(name).is_some_and(|value| !value.eq_ignore_ascii_case(harmless)) {
            self.notes.push(format!("OTEL_EXPORTER_OTLP_{name}: not known here; {what_is_done}"));
        }
    }
    fn number(&mut self, name: &str, usual: u64, range: std::ops::RangeInclusive<u64>) -> u64 {
        let Some(text) = self.text(name) else { return usual };
        match text.parse() {
            Ok(number) if range.contains(&number) => number,
            _ => {
                self.notes.push(format!(
                    "{name}: a number from {} to {} is needed; {usual} is used",
                    range.start(),
                    range.end()
                ));
                usual
            }
        }
    }
}

pub(super) fn read(lookup: &dyn Fn(&str) -> Option<String>) -> (Option<TraceSettings>, Vec<String>) {
    let mut vars = Variables { lookup, notes: Vec::new() };
    let settings = settings(&mut vars);
    (settings, vars.notes)
}

fn settings(vars: &mut Variables<'_>) -> Option<TraceSettings> {
    if vars.is_yes("OTEL_SDK_DISABLED", &["true"], &["false"]) {
        return None;
    }
    match vars.text("OTEL_TRACES_EXPORTER").as_deref() {
        None | Some("otlp") => {}
        Some("none") => return None,
        Some(_) => {
            vars.notes.push("OTEL_TRACES_EXPORTER: only otlp and none are known here; no traces are sent".to_owned());
            return None;
        }
    }
    let url = url(vars)?;
    let format = format(vars)?;
    let timeout = vars.number("OTEL_EXPORTER_OTLP_TIMEOUT", EXPORT_TIME.as_millis() as u64, 1..=600_000);
    let timeout = vars.number("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", timeout, 1..=600_000);
    let queue = vars.number("OTEL_BSP_MAX_QUEUE_SIZE", QUEUE_SPANS as u64, 1..=QUEUE_SPANS_MAX as u64) as usize;
    // A queue that the user made small makes the usual batch small, too, and nothing is wrong with that.
    let usual = BATCH_SPANS.min(queue) as u64;
    let batch = vars.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", usual, 1..=QUEUE_SPANS_MAX as u64) as usize;
    let delay = vars.number("OTEL_BSP_SCHEDULE_DELAY", DELAY.as_millis() as u64, 1..=600_000);
    let limit = vars.number("OTEL_BSP_EXPORT_TIMEOUT", 30_000, 1..=600_000);
    let propagates = propagates(vars);
    let content = vars.is_yes(
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        &["true", "span_only", "span_and_event"],
        &["false", "no_content", "event_only"],
    );
    if batch > queue {
        vars.notes.push(format!("OTEL_BSP_MAX_EXPORT_BATCH_SIZE: more than the queue holds; {queue} is used"));
    }
    vars.not_here("COMPRESSION", "none", "spans are sent as they are");
    vars.not_here("CERTIFICATE", "", "the certificates of the system are used");
    vars.not_here("CLIENT_KEY", "", "no certificate is shown to the collector");
    vars.not_here("CLIENT_CERTIFICATE", "", "no certificate is shown to the collector");
    Some(TraceSettings {
        url,
        format,
        headers: headers(vars),
        timeout: Duration::from_millis(timeout.min(limit)),
        resource: resource(vars),
        sampler: sampler(vars),
        queue,
        batch: batch.min(queue),
        delay: Duration::from_millis(delay),
        content,
        above: propagates.then(|| above(vars)).flatten(),
        propagates,
    })
}

/// What the process was started by, where that says it.
fn above(vars: &Variables<'_>) -> Option<(TracePlace, Option<String>)> {
    let place = TracePlace::parse(&vars.text("TRACEPARENT")?)?;
    Some((place, vars.text("TRACESTATE").filter(|state| TracePlace::state(&format!(" {state}")).is_some())))
}

fn propagates(vars: &Variables<'_>) -> bool {
    let Some(list) = vars.text("OTEL_PROPAGATORS") else { return true };
    list.split(',').any(|name| name.trim() == "tracecontext")
}

fn url(vars: &mut Variables<'_>) -> Option<String> {
    let (name, url) = match vars.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        Some(url) => ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url),
        None => {
            let base = vars.text("OTEL_EXPORTER_OTLP_ENDPOINT")?;
            ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{}/{TRACES_PATH}", base.trim_end_matches('/')))
        }
    };
    match net::Url::parse(&url) {
        Ok(_) => Some(url),
        Err(why) => {
            vars.notes.push(format!("{name}: {why}; no traces are sent"));
            None
        }
    }
}

fn format(vars: &mut Variables<'_>) -> Option<TraceFormat> {
    match vars.of_traces("PROTOCOL").as_deref() {
        None | Some("http/protobuf") => Some(TraceFormat::Protobuf),
        Some("http/json") => Some(TraceFormat::Json),
        Some(other) => {
            let grpc = if other == "grpc" { " (a collector has HTTP on port 4318, as a rule)" } else { "" };
            vars.notes.push(format!(
                "OTEL_EXPORTER_OTLP_PROTOCOL: http/protobuf and http/json are spoken here, {other:?} is not{grpc}; no traces are sent"
            ));
            None
        }
    }
}

/// `name=value,name=value`, with what is special written as `%XX`. A broken pair is named by its name alone.
fn headers(vars: &mut Variables<'_>) -> Vec<(String, Secret)> {
    let Some(text) = vars.of_traces("HEADERS") else { return Vec::new() };
    let mut found = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let read = pair.split_once('=').and_then(|(name, value)| {
            Some((percent_decoded(name.trim())?.to_lowercase(), Secret::new(&percent_decoded(value.trim())?)?))
        });
        match read {
            Some(header) => found.push(header),
            None => vars.notes.push("OTEL_EXPORTER_OTLP_HEADERS: a pair is not NAME=VALUE and is left out".to_owned()),
        }
    }
    found
}

fn resource(vars: &mut Variables<'_>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let text = vars.text("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let read = pair.split_once('=').and_then(|(name, value)| {
            Some((percent_decoded(name.trim()).filter(|name| !name.is_empty())?, percent_decoded(value.trim())?))
        });
        match read {
            Some((name, value)) => {
                found.retain(|(before, _)| *before != name);
                found.push((name, value));
            }
            // All or nothing, as the specification says.
            None => {
                vars.notes.push("OTEL_RESOURCE_ATTRIBUTES: not NAME=VALUE,NAME=VALUE; it is left out".to_owned());
                found.clear();
                break;
            }
        }
    }
    let named = vars.text("OTEL_SERVICE_NAME");
    if let Some(name) = named.or_else(|| found.iter().all(|(key, _)| key != "service.name").then(|| SERVICE.to_owned()))
    {
        found.retain(|(key, _)| key != "service.name");
        found.insert(0, ("service.name".to_owned(), name));
    }
    found
}

fn sampler(vars: &mut Variables<'_>) -> SamplerChoice {
    let usual = SamplerChoice { root: Sampler::On, follows_parent: true };
    let Some(name) = vars.text("OTEL_TRACES_SAMPLER") else { return usual };
    let (follows_parent, root) = match name.strip_prefix("parentbased_") {
        Some(root) => (true, root),
        None => (false, &*name),
    };
    let root = match root {
        "always_on" => Sampler::On,
        "always_off" => Sampler::Off,
        "traceidratio" => {
            let share = vars.text("OTEL_TRACES_SAMPLER_ARG").map_or(Some(1.0), |text| text.parse().ok());
            match share.filter(|share| (0.0..=1.0).contains(share)) {
                Some(share) => Sampler::Ratio(share),
                None => {
                    vars.notes.push(
                        "OTEL_TRACES_SAMPLER_ARG: a number from 0 to 1 is needed; all traces are sent".to_owned(),
                    );
                    Sampler::On
                }
            }
        }
        _ => {
            vars.notes.push(format!("OTEL_TRACES_SAMPLER: {name:?} is not known here; all traces are sent"));
            return usual;
        }
    };
    SamplerChoice { root, follows_parent }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = more;
            continue;
        }
        let digits = more.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = &more[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
