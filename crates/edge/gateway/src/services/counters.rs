//! Runs and model calls, counted from what is written to the log. Rings have bounds; nothing grows with uptime.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use dialect_gateway::EndOfRun;
use dialect_gateway::services::system::*;
use dialect_gateway::shape::ObjectJson;
use vocab::{Body, CallEntry, CutBy, Entry, MessageEnd, ModelEntry, SessionId, Stop, TurnEntry, Usage, UserFrom};

/// Answers of models that the average is made of.
const RECENT_CALLS: usize = 200;
/// Those that are told one by one.
const SHOWN_CALLS: usize = 50;
const CANCEL_SAMPLES: usize = 100;
/// Requests without an answer that are remembered: more than run at once.
const OPEN_CALLS_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct Counters {
    messages: u64,
    started: u64,
    complete: u64,
    cancel_requested: u64,
    cancelled: u64,
    failed: u64,
    calls: u64,
    recent: VecDeque<RecentCall>,
    cancel_ms: VecDeque<u64>,
    /// Since when a model has the word, and which one where that is known.
    open: HashMap<SessionId, (Option<Arc<str>>, i64)>,
    /// Turns that were told to end.
    cut: HashMap<SessionId, (CutBy, i64)>,
}

impl Counters {
    pub(super) fn count(&mut self, session: &SessionId, entry: &Entry) {
        match &entry.body {
            Body::User { from: UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp, .. } => self.messages += 1,
            Body::Turn(TurnEntry::Started { .. }) => {
                self.started += 1;
                self.asked(session, None, entry.at_ms);
            }
            // Then the model has the word again.
            Body::Call(CallEntry::Ended { .. }) => self.asked(session, None, entry.at_ms),
            Body::Turn(TurnEntry::Cut { why, .. }) => {
                if matches!(why, CutBy::Asked | CutBy::Newer | CutBy::Deleted | CutBy::Ending | CutBy::TimedOut) {
                    self.cancel_requested += 1;
                }
                if self.cut.len() < OPEN_CALLS_MAX {
                    self.cut.insert(session.clone(), (*why, entry.at_ms));
                }
            }
            Body::Turn(TurnEntry::Ended(end)) => self.ended(session, end.stop, entry.at_ms),
            Body::Model(ModelEntry::Requested(asked)) => self.asked(session, Some(asked.model.clone()), entry.at_ms),
            Body::Model(ModelEntry::Retrying { .. }) => {
                self.answered(session, entry.at_ms, None, &Usage::default(), "retried");
                self.asked(session, None, entry.at_ms);
            }
            Body::Assistant { message, .. } => {
                let status = match message.end {
                    MessageEnd::Failed(_) => "failed",
                    MessageEnd::Finished(_) | MessageEnd::Interrupted => "ok",
                };
                self.answered(session, entry.at_ms, Some(&message.model), &message.usage, status);
            }
            _ => {}
        }
    }

    fn ended(&mut self, session: &SessionId, stop: Stop, at_ms: i64) {
        // Hardly any turn is.
        let cut = if self.cut.is_empty() { None } else { self.cut.remove(session) };
        match EndOfRun::of(stop, cut.map(|(why, _)| why)) {
            EndOfRun::Complete => self.complete += 1,
            EndOfRun::Cancelled(_) => {
                self.cancelled += 1;
                if let Some((_, cut_ms)) = cut {
                    ring(&mut self.cancel_ms, u64::try_from(at_ms - cut_ms).unwrap_or(0), CANCEL_SAMPLES);
                }
            }
            EndOfRun::Stalled | EndOfRun::Failed => self.failed += 1,
        }
        // Behind a budget no model was asked.
        if stop == Stop::Error {
            self.answered(session, at_ms, None, &Usage::default(), "failed");
        }
        self.open.remove(session);
    }

    fn asked(&mut self, session: &SessionId, model: Option<Arc<str>>, at_ms: i64) {
        if self.open.len() < OPEN_CALLS_MAX {
            self.open.insert(session.clone(), (model, at_ms));
        }
    }

    fn answered(
        &mut self,
        session: &SessionId,
        at_ms: i64,
        model: Option<&Arc<str>>,
        usage: &Usage,
        status: &'static str,
    ) {
        let Some((asked, asked_ms)) = self.open.remove(session) else { return };
        let model = model.cloned().or(asked).unwrap_or_else(|| "unknown".into());
        self.calls += 1;
        let call = RecentCall {
            ts: at_ms,
            model,
            latency_ms: u64::try_from(at_ms - asked_ms).unwrap_or(0),
            ok: status == "ok",
            input_tokens: usage.prompt(),
            output_tokens: usage.output,
            session_id: session.as_str().to_owned(),
            status,
        };
        ring(&mut self.recent, call, RECENT_CALLS);
    }

    /// How long runs took to end that were told to, in the order in which they did.
    pub(super) fn cancel_samples(&self) -> Vec<u32> {
        self.cancel_ms.iter().map(|ms| u32::try_from(*ms).unwrap_or(u32::MAX)).collect()
    }

    pub(super) fn forget(&mut self, session: &SessionId) {
        self.open.remove(session);
        self.cut.remove(session);
    }

    pub(super) fn shown(&self, uptime: u64, running: u64, waiting: u64) -> MetricsResult {
        let (count, failed) = (self.recent.len() as u64, self.recent.iter().filter(|call| !call.ok).count() as f64);
        let latency: u64 = self.recent.iter().map(|call| call.latency_ms).sum();
        let error_rate = if count == 0 { 0.0 } else { (failed / count as f64 * 100.0).round() / 100.0 };
        MetricsResult {
            messages_processed: self.messages,
            errors: self.failed,
            active_requests: running,
            uptime,
            model_calls: ModelCalls {
                total: self.calls,
                avg_latency: latency.checked_div(count).unwrap_or(0),
                error_rate,
                recent_calls: self.recent.iter().rev().take(SHOWN_CALLS).cloned().collect(),
            },
            run_states: RunStates {
                start: self.started,
                complete: self.complete,
                cancel_requested: self.cancel_requested,
                cancelled: self.cancelled,
                error: self.failed,
            },
            cancel_latency_ms: CancelLatency {
                sample_count: self.cancel_ms.len() as u64,
                samples: self.cancel_ms.iter().copied().collect(),
            },
            reactions: Reactions { matched: 0, skipped: 0, skip_reasons: ObjectJson(vocab::Json::empty_object()) },
            queue_depth: waiting,
        }
    }
}

fn ring<T>(of: &mut VecDeque<T>, item: T, max: usize) {
    if of.len() == max {
        of.pop_front();
    }
    of.push_back(item);
}
