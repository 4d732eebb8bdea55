//! How long models took, from calls that ended in the last day. A ring: nothing grows with uptime.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dialect_gateway::services::latency::*;
use telemetry::metrics::{LABELS_MAX, OTHER};
use vocab::FaultKind;

use super::{SharedServices, lock};

/// Calls that are remembered, each in less than 100 bytes; of more the oldest go.
const CALLS_MAX: usize = 50_000;
/// For so long.
const CALLS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Of a model's name; the rest of a longer one is cut off.
const MODEL_BYTES_MAX: usize = 100;
/// Kinds of failure in one answer.
const FAILURES_MAX: usize = 50;

/// A call that ended by itself. One that somebody gave up says nothing of its server and is none.
#[derive(Clone, Debug)]
pub(super) struct TimedCall {
    pub(super) model: Arc<str>,
    pub(super) ended: Instant,
    pub(super) took_ms: u32,
    pub(super) first_ms: Option<u32>,
    pub(super) failed: Option<CallFailure>,
}

/// What a call failed with: the server's answer, or else what it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum CallFailure {
    Status(u16),
    Word(&'static str),
}

impl CallFailure {
    pub(super) fn of(fault: &vocab::Fault) -> Self {
        match fault.status {
            Some(status) => CallFailure::Status(status),
            None => CallFailure::Word(match fault.kind {
                FaultKind::Auth => "auth",
                FaultKind::RateLimited => "rate_limited",
                FaultKind::ContextOverflow => "context_overflow",
                FaultKind::BadRequest => "bad_request",
                FaultKind::StreamCut => "stream_cut",
                FaultKind::Network => "network",
                FaultKind::Provider => "provider",
                _ => "other",
            }),
        }
    }

    fn show(self) -> String {
        match self {
            CallFailure::Status(status) => status.to_string(),
            CallFailure::Word(word) => word.to_owned(),
        }
    }
}

/// A length of time as a ring keeps it.
pub(super) fn in_ms(took: Duration) -> u32 {
    u32::try_from(took.as_millis()).unwrap_or(u32::MAX)
}

#[derive(Default)]
pub(super) struct CallTimes(Mutex<CallRing>);

#[derive(Default)]
struct CallRing {
    calls: VecDeque<TimedCall>,
    /// Each model's name once, however many calls it has had.
    models: BTreeSet<Arc<str>>,
}

impl CallRing {
    fn shared_name(&mut self, model: &str) -> Arc<str> {
        let model = &model[..model.floor_char_boundary(MODEL_BYTES_MAX)];
        let model = if self.models.len() < LABELS_MAX || self.models.contains(model) { model } else { OTHER };
        match self.models.get(model) {
            Some(known) => known.clone(),
            None => {
                let name: Arc<str> = model.into();
                self.models.insert(name.clone());
                name
            }
        }
    }
}

impl CallTimes {
    pub(super) fn add(&self, mut call: TimedCall) {
        let mut ring = lock(&self.0);
        call.model = ring.shared_name(&call.model);
        let is_over = |oldest: &TimedCall| call.ended.saturating_duration_since(oldest.ended) > CALLS_KEPT;
        while ring.calls.len() >= CALLS_MAX || ring.calls.front().is_some_and(is_over) {
            ring.calls.pop_front();
        }
        ring.calls.push_back(call);
    }

    /// Those that ended so shortly before `now`; and when the oldest of all did, where there was no room for more.
    fn within(&self, window: Duration, now: Instant) -> (Vec<TimedCall>, Option<Instant>) {
        let ring = lock(&self.0);
        let calls = &ring.calls;
        let is_in = |call: &&TimedCall| now.saturating_duration_since(call.ended) <= window;
        // Several calls end at once, in any order: the ring is nearly sorted, and looked through whole.
        let found = calls.iter().filter(is_in).cloned().collect();
        let is_full = calls.len() >= CALLS_MAX;
        (found, calls.front().filter(|_| is_full).map(|oldest| oldest.ended))
    }
}

/// What is added up.
#[derive(Default)]
struct Pile {
    errors: u64,
    took: Vec<u32>,
    first: Vec<u32>,
}

impl Pile {
    fn add(&mut self, call: &TimedCall) {
        self.errors += u64::from(call.failed.is_some());
        self.took.push(call.took_ms);
        self.first.extend(call.first_ms);
    }

    fn sum(mut self) -> LatencySum {
        self.took.sort_unstable();
        self.first.sort_unstable();
        let (took, first) = (|pct| at(&self.took, pct).unwrap_or(0), |pct| at(&self.first, pct));
        LatencySum {
            calls: self.took.len() as u64,
            errors: self.errors,
            p50: took(50),
            p95: took(95),
            p99: took(99),
            first_token_p50: first(50),
            first_token_p95: first(95),
            first_token_p99: first(99),
        }
    }
}

/// The smallest that so many percent are not above.
fn at(sorted: &[u32], pct: usize) -> Option<u64> {
    let rank = (sorted.len() * pct).div_ceil(100).max(1);
    sorted.get(rank - 1).map(|ms| u64::from(*ms))
}

pub(super) fn latency(services: &SharedServices, params: &LatencyParams) -> LatencyResult {
    let (now, now_ms) = (Instant::now(), services.now_ms());
    let window = Duration::from_secs(u64::try_from(params.window_minutes.0 * 60).unwrap_or(0));
    let (calls, oldest) = services.counts.0.numbers.models.times.within(window, now);
    let ms_of = |at: Instant| now_ms - i64::try_from(now.saturating_duration_since(at).as_millis()).unwrap_or(0);
    let mut cancelled = lock(&services.counts.0.counters).cancel_samples();
    let samples = cancelled.clone();
    cancelled.sort_unstable();
    let of_cancel = |pct| at(&cancelled, pct);
    LatencyResult {
        generated_at: now_ms,
        since: oldest.map_or(services.started_ms, ms_of).max(services.started_ms),
        window_minutes: params.window_minutes.0,
        bucket_seconds: params.bucket_seconds.0,
        cancel: CancelTimes {
            p50: of_cancel(50),
            p95: of_cancel(95),
            p99: of_cancel(99),
            samples: samples.into_iter().map(u64::from).collect(),
        },
        ..added_up(&calls, params.bucket_seconds.0 * 1_000, ms_of)
    }
}

/// All that comes of the calls themselves.
fn added_up(calls: &[TimedCall], bucket_ms: i64, ms_of: impl Fn(Instant) -> i64) -> LatencyResult {
    let (mut buckets, mut total) = (BTreeMap::<i64, Pile>::new(), Pile::default());
    let (mut models, mut statuses) = (HashMap::<&Arc<str>, Pile>::new(), BTreeMap::<CallFailure, u64>::new());
    for call in calls {
        let at_ms = ms_of(call.ended);
        buckets.entry(at_ms - at_ms.rem_euclid(bucket_ms)).or_default().add(call);
        models.entry(&call.model).or_default().add(call);
        total.add(call);
        call.failed.into_iter().for_each(|failed| *statuses.entry(failed).or_default() += 1);
    }
    let of_model = |(model, pile): (&Arc<str>, Pile)| ModelLatency { model: model.clone(), sum: pile.sum() };
    let mut by_model: Vec<ModelLatency> = models.into_iter().map(of_model).collect();
    by_model.sort_by(|one, two| two.sum.calls.cmp(&one.sum.calls).then_with(|| one.model.cmp(&two.model)));
    let mut statuses: Vec<(CallFailure, u64)> = statuses.into_iter().collect();
    statuses.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = |(failed, count): (CallFailure, u64)| StatusCount { status: failed.show(), count };
    LatencyResult {
        generated_at: 0,
        since: 0,
        window_minutes: 0,
        bucket_seconds: 0,
        // One more than were asked for where the window begins within a step: the oldest is not whole, and goes.
        buckets: newest(buckets.into_iter().map(|(ts, pile)| LatencyBucket { ts, sum: pile.sum() }).collect()),
        total: total.sum(),
        by_model,
        errors_by_status: statuses.into_iter().take(FAILURES_MAX).map(shown).collect(),
        cancel: CancelTimes { p50: None, p95: None, p99: None, samples: Vec::new() },
    }
}

fn newest(mut buckets: Vec<LatencyBucket>) -> Vec<LatencyBucket> {
    let most = usize::try_from(LATENCY_BUCKETS_MAX).unwrap_or(usize::MAX);
    buckets.drain(..buckets.len().saturating_sub(most));
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(model: &str, ended: Instant, took_ms: u32, failed: Option<CallFailure>) -> TimedCall {
        let first_ms = failed.is_none().then_some(took_ms / 2);
        TimedCall { model: model.into(), ended, took_ms, first_ms, failed }
    }

    #[test]
    fn calls_are_added_up_by_time_by_model_and_by_failure() {
        let began = Instant::now();
        let at_s = |seconds| began + Duration::from_secs(seconds);
        let mut calls: Vec<TimedCall> = (1..=100).map(|ms| call("a", at_s(1), ms, None)).collect();
        calls.push(call("b", at_s(61), 7, Some(CallFailure::Status(429))));
        calls.push(call("b", at_s(62), 9, Some(CallFailure::Status(429))));
        calls.push(call("b", at_s(62), 5, Some(CallFailure::Word("network"))));
        let ms_of = |at: Instant| 1_000_000_020_000 + at.duration_since(began).as_millis() as i64;
        let made = added_up(&calls, 60_000, ms_of);
        let buckets: Vec<_> =
            made.buckets.iter().map(|it| (it.ts, it.sum.calls, it.sum.errors, it.sum.p50, it.sum.p99)).collect();
        assert_eq!(buckets, [(1_000_000_020_000, 100, 0, 50, 99), (1_000_000_080_000, 3, 3, 7, 9)]);
        assert_eq!((made.buckets[0].sum.first_token_p95, made.buckets[1].sum.first_token_p95), (Some(47), None));
        assert_eq!((made.total.calls, made.total.errors, made.total.p95), (103, 3, 95));
        let models: Vec<_> = made.by_model.iter().map(|it| (&*it.model, it.sum.calls)).collect();
        assert_eq!(models, [("a", 100), ("b", 3)]);
        let failed: Vec<_> = made.errors_by_status.iter().map(|it| (it.status.as_str(), it.count)).collect();
        assert_eq!(failed, [("429", 2), ("network", 1)]);
    }

    #[test]
    fn nothing_is_a_number_too() {
        let made = added_up(&[], 60_000, |_| 0);
        assert_eq!((made.buckets.len(), made.total.calls, made.total.p99), (0, 0, 0));
        assert_eq!((at(&[5], 99), at(&[5], 1), at(&[], 50)), (Some(5), Some(5), None));
    }

    #[test]
    fn the_ring_has_a_bound_in_number_and_in_time() {
        let (times, began) = (CallTimes::default(), Instant::now());
        for number in 0..CALLS_MAX as u64 + 5 {
            times.add(call("a", began + Duration::from_millis(number), 1, None));
        }
        assert_eq!(lock(&times.0).calls.len(), CALLS_MAX);
        let (found, oldest) = times.within(Duration::from_millis(10), began + Duration::from_millis(CALLS_MAX as u64));
        assert_eq!((found.len(), oldest), (15, Some(began + Duration::from_millis(5))), "later ones count as now");
        times.add(call("a", began + CALLS_KEPT * 2, 1, None));
        assert_eq!(lock(&times.0).calls.len(), 1, "what is older than a day goes");
        (0..500).for_each(|number| times.add(call(&format!("m{number}"), began + CALLS_KEPT * 2, 1, None)));
        assert_eq!(lock(&times.0).models.len(), LABELS_MAX + 1, "nobody can make more names than there may be");
    }
}
