//! Runs, tools, questions and queues, from what is written to logs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dialect_gateway::EndOfRun;
use telemetry::metrics::{Counter, Histogram, Labelled, MetricsPage, SampleKind};
use vocab::{
    Answer, AskEnd, AskEntry, AskKind, Body, CallEnd, CallEntry, CallResult, CutBy, Entry, ItemId, ModelEntry,
    QueueEntry, SessionId, ShellEntry, Stop, TurnEntry,
};

use crate::services::lock;

const RUN_BOUNDS: &[f64] = &[0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0];
const TOOL_BOUNDS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0];
const WAIT_BOUNDS: &[f64] = &[0.01, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0];
/// Runs and waiting messages whose beginning is remembered; of further ones it is not told how long they took.
const OPEN_MAX: usize = 10_000;

/// How runs end.
const OUTCOMES: [&str; 4] = ["complete", "cancelled", "error", "limit"];
const CLOSED: [&str; 5] = ["allowed", "denied", "answered", "dismissed", "withdrawn"];
const KINDS: [&str; 4] = ["permission", "budget", "host_call", "dialog"];
const TOOL_ENDS: [&str; 5] = ["ok", "error", "denied", "invalid", "interrupted"];

pub(crate) struct LoggedNumbers {
    runs: [Histogram; OUTCOMES.len()],
    waited: Histogram,
    retries: Counter,
    fallbacks: Counter,
    tools: Labelled<ToolRow>,
    asked: [Counter; KINDS.len()],
    closed: [Counter; CLOSED.len()],
    open: Mutex<OpenTimes>,
}

#[derive(Default)]
struct OpenTimes {
    /// Since when they run, and what has cut them.
    runs: HashMap<SessionId, (i64, Option<CutBy>)>,
    waiting: HashMap<(SessionId, ItemId), i64>,
}

struct ToolRow {
    ends: [Counter; TOOL_ENDS.len()],
    took: Histogram,
}

impl Default for LoggedNumbers {
    fn default() -> Self {
        Self {
            runs: std::array::from_fn(|_| Histogram::new(RUN_BOUNDS)),
            waited: Histogram::new(WAIT_BOUNDS),
            retries: Counter::default(),
            fallbacks: Counter::default(),
            tools: Labelled::new(|| ToolRow {
                ends: std::array::from_fn(|_| Counter::default()),
                took: Histogram::new(TOOL_BOUNDS),
            }),
            asked: Default::default(),
            closed: Default::default(),
            open: Mutex::default(),
        }
    }
}

fn between(from_ms: i64, to_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(to_ms - from_ms).unwrap_or(0))
}

impl LoggedNumbers {
    pub(crate) fn count(&self, session: &SessionId, entry: &Entry) {
        match &entry.body {
            Body::Turn(TurnEntry::Started { .. }) => {
                let mut open = lock(&self.open);
                if open.runs.len() < OPEN_MAX {
                    open.runs.insert(session.clone(), (entry.at_ms, None));
                }
            }
            Body::Turn(TurnEntry::Cut { why, .. }) => {
                let mut open = lock(&self.open);
                open.runs.get_mut(session).into_iter().for_each(|(_, cut)| *cut = Some(*why));
            }
            Body::Turn(TurnEntry::Ended(end)) => {
                let began = lock(&self.open).runs.remove(session);
                if let Some((began, cut)) = began {
                    self.runs[outcome(end.stop, cut)].observe(between(began, entry.at_ms));
                }
            }
            Body::Queue(QueueEntry::Queued(item)) => {
                let mut open = lock(&self.open);
                if open.waiting.len() < OPEN_MAX {
                    open.waiting.insert((session.clone(), item.id.clone()), entry.at_ms);
                }
            }
            Body::Queue(QueueEntry::Settled { item, .. }) => {
                let began = lock(&self.open).waiting.remove(&(session.clone(), item.clone()));
                if let Some(began) = began {
                    self.waited.observe(between(began, entry.at_ms));
                }
            }
            Body::Model(ModelEntry::Retrying { .. }) => self.retries.one(),
            Body::Model(ModelEntry::FellBack(_)) => self.fallbacks.one(),
            Body::Call(CallEntry::Ended { result, .. }) | Body::Shell(ShellEntry::Returned(result)) => {
                self.tool(result);
            }
            Body::Ask(AskEntry::Opened(ask)) => self.asked[ask_kind(&ask.kind)].one(),
            Body::Ask(AskEntry::Closed { end, .. }) => self.closed[ask_end(end)].one(),
            _ => {}
        }
    }

    fn tool(&self, result: &CallResult) {
        // A name that resolved to nothing is the model's invention, and as many as it likes.
        let name = if result.end == CallEnd::Unknown { "unknown" } else { &*result.tool };
        let row = self.tools.of(name);
        let end = match result.end {
            CallEnd::Ran if result.is_error => 1,
            CallEnd::Ran => 0,
            CallEnd::Denied => 2,
            CallEnd::Unknown | CallEnd::Invalid => 3,
            CallEnd::Interrupted | CallEnd::Skipped | CallEnd::Lost => 4,
        };
        row.ends[end].one();
        if result.end == CallEnd::Ran {
            row.took.observe(Duration::from_millis(result.duration_ms));
        }
    }

    pub(crate) fn forget(&self, session: &SessionId) {
        let mut open = lock(&self.open);
        open.runs.remove(session);
        open.waiting.retain(|(of, _), _| of != session);
    }

    pub(super) fn page(&self, page: &mut MetricsPage) {
        const RUN: &str = "tillerman_run_seconds";
        page.family(RUN, SampleKind::Histogram, "From the start of a run to its end, by how it ended.");
        OUTCOMES.iter().zip(&self.runs).for_each(|(end, took)| page.histogram(RUN, &[("outcome", end)], took));
        const WAIT: &str = "tillerman_queue_wait_seconds";
        page.family(WAIT, SampleKind::Histogram, "How long messages waited in lanes.");
        page.histogram(WAIT, &[], &self.waited);
        let (retries, fallbacks) = (self.retries.get() as f64, self.fallbacks.get() as f64);
        page.one("tillerman_model_retries_total", SampleKind::Counter, "Model calls that were made again.", retries);
        let about = "Model calls that another model was asked instead.";
        page.one("tillerman_model_fallbacks_total", SampleKind::Counter, about, fallbacks);
        self.tools_page(page);
        const ASKED: &str = "tillerman_asks_opened_total";
        page.family(ASKED, SampleKind::Counter, "Questions to people and controllers.");
        KINDS.iter().zip(&self.asked).for_each(|(kind, it)| page.row(ASKED, &[("kind", kind)], it.get() as f64));
        const ENDED: &str = "tillerman_asks_closed_total";
        page.family(
            ENDED,
            SampleKind::Counter,
            "Questions by how they were closed; one whose time ran out is dismissed.",
        );
        CLOSED.iter().zip(&self.closed).for_each(|(end, it)| page.row(ENDED, &[("end", end)], it.get() as f64));
    }

    fn tools_page(&self, page: &mut MetricsPage) {
        let rows: Vec<(Arc<str>, Arc<ToolRow>)> = self.tools.all();
        const CALLS: &str = "tillerman_tool_calls_total";
        page.family(CALLS, SampleKind::Counter, "Calls of tools, by what came of them.");
        for (tool, row) in &rows {
            for (end, count) in TOOL_ENDS.iter().zip(&row.ends) {
                page.row(CALLS, &[("tool", tool), ("outcome", end)], count.get() as f64);
            }
        }
        const TOOK: &str = "tillerman_tool_call_seconds";
        page.family(TOOK, SampleKind::Histogram, "How long tools ran; waiting for a permission does not count.");
        rows.iter().for_each(|(tool, row)| page.histogram(TOOK, &[("tool", tool)], &row.took));
    }
}

/// An index of [`OUTCOMES`].
fn outcome(stop: Stop, cut: Option<CutBy>) -> usize {
    match EndOfRun::of(stop, cut) {
        _ if matches!(stop, Stop::MaxTokens | Stop::MaxIterations | Stop::Budget) => 3,
        EndOfRun::Complete => 0,
        EndOfRun::Cancelled(_) => 1,
        EndOfRun::Stalled | EndOfRun::Failed => 2,
    }
}

/// An index of [`KINDS`].
fn ask_kind(kind: &AskKind) -> usize {
    match kind {
        AskKind::Permission(_) => 0,
        AskKind::Budget(_) => 1,
        AskKind::HostCall { .. } => 2,
        AskKind::Select { .. } | AskKind::Confirm { .. } | AskKind::Input { .. } | AskKind::Editor { .. } => 3,
    }
}

/// An index of [`CLOSED`].
fn ask_end(end: &AskEnd) -> usize {
    match end {
        AskEnd::Withdrawn => 4,
        AskEnd::Answered { answer, .. } => match answer {
            Answer::Allow(_) => 0,
            Answer::Deny(_) => 1,
            Answer::Text(_) | Answer::Confirmed(_) | Answer::Result { .. } => 2,
            Answer::Dismissed => 3,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_apart_and_a_stall_is_an_error() {
        let cases = [
            (Stop::EndTurn, None, "complete"),
            (Stop::Interrupted, Some(CutBy::Newer), "cancelled"),
            (Stop::Interrupted, Some(CutBy::Stalled), "error"),
            (Stop::Error, None, "error"),
            (Stop::Budget, None, "limit"),
            (Stop::MaxTokens, None, "limit"),
        ];
        for (stop, cut, want) in cases {
            let numbers = LoggedNumbers::default();
            let turn = || "t".into();
            let (usage, mutations) = (vocab::Usage::default(), Vec::new());
            let end = vocab::TurnEnd { turn: turn(), stop, iterations: 0, usage, mutations, fault: None };
            let cut = cut.map(|why| TurnEntry::Cut { turn: turn(), why, item: None });
            let log = [TurnEntry::Started { turn: turn() }].into_iter().chain(cut).chain([TurnEntry::Ended(end)]);
            for turn in log {
                let entry = Entry { seq: 1, parent: 0, at_ms: 3, by: None, body: Body::Turn(turn) };
                numbers.count(&"s".into(), &entry);
            }
            let mut page = MetricsPage::default();
            numbers.page(&mut page);
            let text = page.finish();
            let counted = format!("tillerman_run_seconds_count{{outcome=\"{want}\"}} 1");
            assert!(text.contains(&counted), "{stop:?}: {text}");
        }
    }
}
